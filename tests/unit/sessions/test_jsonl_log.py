"""The JSON lines log: lease, file modes, and the cost of an append."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bobstay.model.event import Noted, SessionStarted, ToolDone
from bobstay.model.message import Text, ToolReply
from bobstay.sessions.jsonl_log import JsonlLog
from bobstay.sessions.log import LogError, SessionBusy, SessionExists, SessionMissing
from bobstay.sessions.log_store import LogStore

SOURCE = str(Path(__file__).parents[3] / "src")

HOLD = """
import sys
from bobstay.sessions.log_store import LogStore
log, _, _ = LogStore(sys.argv[1]).open("one")
print("held", flush=True)
sys.stdin.read()
"""


def a_store(tmp_path: Path) -> LogStore:
    store = LogStore(str(tmp_path / "home" / "sessions"))
    store.create("one", SessionStarted("/w", "1")).close()
    return store


def test_a_second_process_is_told_who_writes_the_session(tmp_path: Path) -> None:
    """H6-1: one writer; the lease ends with the process, however that ends."""
    store = a_store(tmp_path)
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, store.directory],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": SOURCE},
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        with pytest.raises(SessionBusy) as busy:
            store.open("one")
        assert f"pid {process.pid} on {os.uname().nodename}, since 20" in str(busy.value)
        assert "fork" in str(busy.value)
        assert len(store.read_branch("one")[0]) == 1
        process.kill()
    log, _, warnings = store.open("one")
    log.close()
    assert warnings == []


def test_a_note_left_by_a_crash_holds_nobody_up(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    note = Path(store.directory, "one.lease")
    note.write_text("garbage")
    log, _, _ = store.open("one")
    assert str(os.getpid()) in note.read_text()
    with pytest.raises(SessionBusy):
        store.open("one")
    log.close()
    assert not note.exists()


def test_an_unreadable_note_only_costs_the_name(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    log, _, _ = store.open("one")
    Path(store.directory, "one.lease").write_bytes(b"\xff")
    with pytest.raises(SessionBusy, match=r"another process\. End that process first"):
        store.open("one")
    log.close()


def test_a_child_process_does_not_inherit_the_lease(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    log, _, _ = store.open("one")
    with subprocess.Popen(["sleep", "30"]) as child:
        log.close()
        store.open("one")[0].close()
        child.kill()


def test_only_the_owner_can_read_a_session(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    assert os.stat(store.directory).st_mode & 0o777 == 0o700
    assert os.stat(os.path.dirname(store.directory)).st_mode & 0o777 == 0o700
    assert os.stat(store.path("one")).st_mode & 0o777 == 0o600


def test_numbers_go_on_after_the_highest_whatever_the_file_says(tmp_path: Path) -> None:
    """H6-1: skipped lines leave a hole behind, never ahead; numbers used twice are read as they are."""
    path = tmp_path / "odd.jsonl"
    lines = [
        f'{{"seq":{seq},"id":"{name}","parent":"{parent}","at":1.0,"event":{{"type":"noted","text":""}}}}\n'
        for seq, name, parent in ((1, "a", ""), (7, "b", "a"), (7, "c", "b"), (2, "d", "c"))
    ]
    path.write_text("".join(lines))
    log, tree = JsonlLog.reopen(str(path))
    assert [envelope.seq for envelope in tree.path_to()] == [1, 7, 7, 2]
    assert log.append(Noted("next")).seq == 8
    log.close()


def test_a_log_that_went_away_says_so(tmp_path: Path) -> None:
    with pytest.raises(SessionMissing, match="No conversation found with session ID: gone"):
        JsonlLog.reopen(str(tmp_path / "gone.jsonl"))
    with pytest.raises(LogError, match="cannot create the session file"):
        JsonlLog.create(str(tmp_path / "no" / "folder.jsonl"))
    (tmp_path / "there.jsonl").write_text("")
    with pytest.raises(SessionExists, match="Session ID there is already in use"):
        JsonlLog.create(str(tmp_path / "there.jsonl"))


def test_an_event_that_cannot_be_stored_leaves_no_trace(tmp_path: Path) -> None:
    log = JsonlLog.create(str(tmp_path / "deep.jsonl"))
    before = log.append(Noted("before"))
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(LogError, match="ToolDone"):
        log.append(ToolDone(ToolReply("c", ()), display=endless))
    after = log.append(Noted("after"))
    assert (after.seq, after.parent) == (2, before.id)
    assert list(log.read()) == [before, after]
    log.close()


def test_a_long_log_opens_whole(tmp_path: Path) -> None:
    """H6-1"""
    log = JsonlLog.create(str(tmp_path / "long.jsonl"))
    event = ToolDone(ToolReply("call", (Text("x" * 1000),)), name="Read")
    for _ in range(8000):
        log.append(event)
    log.close()
    assert os.path.getsize(log.path) > 9_000_000
    log, tree = JsonlLog.reopen(log.path)
    log.close()
    assert len(tree.path_to()) == 8000
