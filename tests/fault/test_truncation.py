"""Logs truncated by a crash: the session can be resumed whatever bytes the log ends with."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bobstay.model.event import Noted, Prompted, SessionStarted, ToolDone
from bobstay.model.message import Text, ToolReply
from bobstay.sessions.log_codec import decode
from bobstay.sessions.log_store import LogStore

SESSION = "0b0c5a4e-0000-4000-8000-000000000001"
SOURCE = str(Path(__file__).parents[2] / "src")


def a_log(directory: Path) -> tuple[LogStore, Path]:
    store = LogStore(str(directory))
    log = store.create(SESSION, SessionStarted("/w", "1"))
    log.append(Prompted("p", (Text("äöü 😀 do it"),)))
    log.append(Noted("plain"))
    log.append(ToolDone(ToolReply("c", (Text('line\n"quoted"'),)), display={"deep": [{"er": "\0"}]}))
    log.append(Noted("last"))
    log.close()
    return store, Path(log.path)


def test_a_log_cut_at_any_byte_keeps_all_whole_entries(tmp_path: Path) -> None:
    """F1, H6-1: the last three entries are cut at every byte."""
    store, path = a_log(tmp_path)
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    first = sum(map(len, lines[:-3]))
    for size in range(first, len(whole) + 1):
        path.write_bytes(whole[:size])
        kept = [line for place, line in enumerate(lines) if sum(map(len, lines[: place + 1])) - 1 <= size]
        torn = size - sum(map(len, kept))
        log, branch, warnings = store.open(SESSION)
        assert [envelope.seq for envelope in branch] == list(range(1, len(kept) + 1))
        assert [bool(warnings), torn > 0] in ([True, True], [False, False]), (size, warnings)
        assert all("never finished" in warning and f"{torn} bytes" in warning for warning in warnings)
        added = log.append(Noted("after"))
        assert (added.seq, added.parent) == (len(kept) + 1, branch[-1].id)
        log.close()
        data = path.read_bytes()
        assert data.startswith(b"".join(kept))
        assert [decode(line).seq for line in data.splitlines()] == list(range(1, len(kept) + 2))


def test_a_log_cut_inside_its_header_is_an_empty_session_and_not_an_error(tmp_path: Path) -> None:
    """F1, F2"""
    store, path = a_log(tmp_path)
    header = path.read_bytes().splitlines(keepends=True)[0]
    for size in range(len(header) - 1):
        path.write_bytes(header[:size])
        assert [summary.id for summary in store.list()] == [SESSION]
        log, branch, warnings = store.open(SESSION)
        assert branch == []
        assert bool(warnings) == (size > 0)
        assert log.append(Noted("x")).seq == 1
        log.close()


def test_zeros_left_by_a_power_cut_are_cut_off(tmp_path: Path) -> None:
    """F1"""
    store, path = a_log(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole + b"\0" * 5000)
    log, branch, warnings = store.open(SESSION)
    log.close()
    assert len(branch) == 5
    assert "5000 bytes were cut off" in warnings[0]
    assert path.read_bytes() == whole


def test_an_end_that_is_none_of_ours_is_kept(tmp_path: Path) -> None:
    """H6-2: nothing is deleted that might be somebody's."""
    store, path = a_log(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole + b"my notes")
    log, branch, warnings = store.open(SESSION)
    log.append(Noted("after"))
    log.close()
    assert len(branch) == 5
    assert warnings == ["line 6 was skipped: it is not a log entry"]
    assert path.read_bytes().startswith(whole + b"my notes\n{")
    assert [envelope.seq for envelope in store.read_branch(SESSION)[0]] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("damage", [b"garbage", b'{"seq":3,"id":', b"\xff\xfe\0", b'{"type":"something else"}'])
def test_a_bad_line_in_the_middle_is_skipped_and_reported(damage: bytes, tmp_path: Path) -> None:
    """F1, H6-1"""
    store, path = a_log(tmp_path)
    lines = path.read_bytes().splitlines()
    lines[2] = damage
    path.write_bytes(b"\n".join(lines) + b"\n")
    log, branch, warnings = store.open(SESSION)
    assert [envelope.seq for envelope in branch] == [1, 2, 4, 5]
    assert warnings[0].startswith("line 3 was skipped: ")
    assert log.append(Noted("after")).seq == 6
    log.close()
    assert path.read_bytes().splitlines()[2] == damage


APPEND_FOREVER = """
import sys
from bobstay.model.event import Noted
from bobstay.sessions.log_store import LogStore
log, _, _ = LogStore(sys.argv[1]).open(sys.argv[2])
text = "x" * 3000
while True:
    print(log.append(Noted(text)).seq, flush=True)
"""


def run_python(code: str, *arguments: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)


def test_what_was_acknowledged_survives_kill_9(tmp_path: Path) -> None:
    """F1, F3, H3-8: a real process is killed while it appends; its successor finds all it had acknowledged."""
    store, _ = a_log(tmp_path)
    for _ in range(3):
        with run_python(APPEND_FOREVER, str(tmp_path), SESSION) as process:
            assert process.stdout is not None
            acknowledged = [process.stdout.readline() for _ in range(100)]
            process.send_signal(signal.SIGKILL)
            acknowledged += process.stdout.read().splitlines(keepends=True)
        last = max(int(number) for number in acknowledged if number.endswith("\n"))
        log, branch, _ = store.open(SESSION)
        log.close()
        assert len(branch) >= last > 100
        assert [envelope.seq for envelope in branch] == list(range(1, len(branch) + 1))


SUBMIT_AND_HANG = """
import sys
from bobstay.model.event import Prompted, SessionStarted, ToolDone
from bobstay.model.message import Text, ToolReply
from bobstay.sessions.log_store import LogStore
log = LogStore(sys.argv[1]).create(sys.argv[2], SessionStarted("/w", "1"))
log.append(Prompted("p", (Text("the prompt"),)), sync=True)
for number in range(int(sys.argv[3])):
    log.append(ToolDone(ToolReply(f"c{number}", (Text("done"),))), sync=True)
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("results", [0, 1, 2])
def test_prompt_and_results_are_on_disk_at_once(results: int, tmp_path: Path) -> None:
    """F3, H3-8: nothing waits for a clean exit."""
    with run_python(SUBMIT_AND_HANG, str(tmp_path), SESSION, str(results)) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.kill()
    branch, warnings = LogStore(str(tmp_path)).read_branch(SESSION)
    assert warnings == []
    kinds = [type(envelope.event) for envelope in branch]
    assert kinds == [SessionStarted, Prompted, *[ToolDone] * results]


FILL_THE_DISK = """
import resource, sys
from bobstay.model.event import Noted, SessionStarted
from bobstay.sessions.log import LogFull
from bobstay.sessions.log_store import LogStore
log = LogStore(sys.argv[1]).create(sys.argv[2], SessionStarted("/w", "1"))
_, most = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, most))
stored = 1
try:
    while True:
        log.append(Noted("x" * 700))
        stored += 1
except LogFull as error:
    print(stored, error, flush=True)
whole = open(log.path, "rb").read()
assert whole.endswith(b"\\n") and whole.count(b"\\n") == stored == log.seq, (whole[-50:], stored, log.seq)
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
log.append(Noted("room again"))
"""


def test_a_full_disk_is_told_and_leaves_a_whole_log(tmp_path: Path) -> None:
    """F1: the entry that found no room is taken back, and storing works again once there is some."""
    with run_python(FILL_THE_DISK, str(tmp_path), SESSION) as process:
        output, _ = process.communicate(timeout=200)
    assert process.returncode == 0, output
    stored, message = output.split(" ", 1)
    assert message.startswith("no space to store the session in ")
    assert "Free some space" in message
    branch, warnings = LogStore(str(tmp_path)).read_branch(SESSION)
    assert warnings == []
    assert [envelope.seq for envelope in branch] == list(range(1, int(stored) + 2))
    assert branch[-1].event == Noted("room again")
