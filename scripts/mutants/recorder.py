"""A plugin of pytest that writes down, test by test, how long it took and which lines of the project it reached."""

import json
import os
from collections.abc import Generator
from typing import Any

import coverage
import pytest

_SOURCES = os.environ["MUTANTS_SOURCES"]
_OUTPUT = os.environ["MUTANTS_RECORDING"]

# Database drivers switch greenlets, which would end the tracing of a thread that is not told.
_coverage = coverage.Coverage(
    data_file=None, config_file=False, include=[f"{_SOURCES}/*"], concurrency=["thread", "greenlet"], messages=False
)
_reports: dict[str, list[pytest.TestReport]] = {}


def pytest_sessionstart() -> None:
    _coverage.start()


def pytest_sessionfinish() -> None:
    _coverage.stop()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    _coverage.switch_context(item.nodeid)
    answer = yield
    _write(item.nodeid, _reports.pop(item.nodeid, []))
    return answer


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _reports.setdefault(report.nodeid, []).append(report)


def _write(name: str, reports: list[pytest.TestReport]) -> None:
    _coverage.switch_context("")
    data = _coverage.get_data()
    data.set_query_context(name)
    lines: dict[str, Any] = {}
    for path in data.measured_files():
        reached = data.lines(path)
        if reached:
            lines[os.path.relpath(path, os.path.dirname(_SOURCES))] = sorted(reached)
    passed = bool(reports) and all(report.passed for report in reports)
    seconds = sum(report.duration for report in reports)
    record = {"test": name, "passed": passed, "seconds": round(seconds, 3), "lines": lines}
    with open(_OUTPUT, "a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")
