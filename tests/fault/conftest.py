"""The scripted model, and a summary of where runs were killed."""

from collections import Counter
from pathlib import Path

import pytest

from tests.fault.killing import Killing
from tests.fault.points import SEED
from tests.modelserver import ModelServer


@pytest.fixture
def killing(model: ModelServer, tmp_path: Path) -> Killing:
    return Killing(model, tmp_path)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    killed: Counter[str] = Counter()
    for report in (*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed")):
        killed.update(
            str(value) for name, value in report.user_properties if name == "killed" and report.when == "call"
        )
    if killed:
        places = ", ".join(f"{count} {kind}" for kind, count in sorted(killed.items()))
        terminalreporter.write_line(f"killed at {killed.total()} points ({places}); BOBSTAY_FAULT_SEED={SEED}")
