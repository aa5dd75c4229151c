"""`cleanupPeriodDays`: a run removes sessions unused for that long, reports it, and removes nothing else (H6-2)."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bobstay.model.event import Prompted, SessionStarted
from bobstay.model.message import Text
from bobstay.sessions.log_store import LogStore

OLD = "00000000-0000-4000-8000-00000000000"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Three sessions that were not used for 40 days, each with output."""
    store = LogStore(str(tmp_path / "bobstay" / "sessions"))
    then = time.time() - 40 * 86_400
    for number in range(3):
        log = store.create(f"{OLD}{number}", SessionStarted(str(tmp_path), "1", "demo"))
        log.append(Prompted("p", (Text("long ago"),)))
        log.close()
        os.utime(log.path, (then, then))
        output = tmp_path / "bobstay" / "output" / f"{OLD}{number}"
        output.mkdir(parents=True)
        os.utime(output, (then, then))
    return tmp_path


def run(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    variables = {"HOME": str(home), "BOBSTAY_HOME": str(home / "bobstay"), "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-m", "bobstay", "-p", "hello", "--model", "demo", *arguments]
    return subprocess.run(command, cwd=home, env=variables, capture_output=True, text=True, timeout=200, check=False)


def left(home: Path) -> list[str]:
    """The old sessions that are still there, by their last digit; their output is there as well."""
    found = sorted(path.stem[-1] for path in (home / "bobstay" / "sessions").glob(f"{OLD}*.jsonl"))
    assert sorted(path.name[-1] for path in (home / "bobstay" / "output").glob(f"{OLD}*")) == found
    return found


def test_without_the_setting_nothing_is_removed(home: Path) -> None:
    done = run(home)
    assert (done.returncode, done.stderr) == (0, "")
    assert left(home) == ["0", "1", "2"]


def test_old_sessions_are_removed_and_their_number_is_told_in_one_line(home: Path) -> None:
    done = run(home, "--settings", json.dumps({"cleanupPeriodDays": 30}))
    assert done.returncode == 0
    assert done.stderr == (
        "Warning: 3 sessions were removed: not used for 30 days (cleanupPeriodDays in the settings).\n"
    )
    assert left(home) == []
    again = run(home, "--settings", json.dumps({"cleanupPeriodDays": 30}))
    assert (again.returncode, again.stderr) == (0, "")


@pytest.mark.parametrize("fork", [(), ("--fork-session",)])
def test_the_session_that_is_resumed_is_kept(home: Path, fork: tuple[str, ...]) -> None:
    done = run(home, "--settings", json.dumps({"cleanupPeriodDays": 30}), "--resume", f"{OLD}1", *fork)
    assert done.returncode == 0
    assert "2 sessions were removed" in done.stderr
    assert left(home) == ["1"]


def test_zero_days_are_refused_and_nothing_is_removed(home: Path) -> None:
    done = run(home, "--settings", json.dumps({"cleanupPeriodDays": 0}))
    assert done.returncode == 1
    assert "cleanupPeriodDays: expected `int` >= 1" in done.stderr
    assert left(home) == ["0", "1", "2"]
