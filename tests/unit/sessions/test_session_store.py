"""The log store: listing, resuming and forking sessions."""

import os
from pathlib import Path

import pytest

from bobstay.model.event import BlockDone, MessageDone, ModelChanged, Noted, Prompted, RunDone, SessionStarted
from bobstay.model.message import Image, Text, Usage
from bobstay.sessions.log import BadSessionId, EntryMissing, SessionExists, SessionMissing
from bobstay.sessions.log_store import LogStore


def add_session(
    store: LogStore, session_id: str, cwd: str = "/w", prompt: str = "hello", at: float = 1000.0
) -> list[str]:
    """Make a session of one exchange and return the ids of its entries."""
    log = store.create(session_id, SessionStarted(cwd, "1", "first-model"))
    stored = [
        log.append(Prompted(f"{session_id}-p", (Text(prompt),), client_id=f"{session_id}-host"), at=at),
        log.append(BlockDone("m1", 0, Text("hi")), at=at + 1),
        log.append(MessageDone("m1", "second-model", "end_turn", Usage(1, 1)), at=at + 2),
        log.append(RunDone("completed", "hi"), at=at + 3),
    ]
    ids = [next(iter(log.read())).id, *(envelope.id for envelope in stored)]
    log.close()
    os.utime(log.path, (at + 3, at + 3))
    return ids


def test_sessions_are_listed_from_their_files_newest_first(tmp_path: Path) -> None:
    """H6-2, F2"""
    store = LogStore(str(tmp_path))
    add_session(store, "old", at=1000)
    add_session(store, "new", "/elsewhere", "fix\n  the   bug", at=3000)
    add_session(store, "middle", at=2000)
    newest = store.list()[0]
    assert [summary.id for summary in store.list()] == ["new", "middle", "old"]
    assert (newest.cwd, newest.first_prompt, newest.model) == ("/elsewhere", "fix the bug", "second-model")
    assert newest.last_activity == 3003
    assert newest.messages() == 2
    assert [summary.id for summary in store.list("/w")] == ["middle", "old"]
    assert [summary.id for summary in store.list(limit=2)] == ["new", "middle"]
    assert store.list(limit=0) == []


def test_the_log_decides_the_order_and_not_the_date_of_the_file(tmp_path: Path) -> None:
    """F2: a copied folder has files of today."""
    store = LogStore(str(tmp_path))
    for number in range(6):
        add_session(store, f"s{number}", at=1000.0 * number)
        os.utime(store.path(f"s{number}"), (90_000 - number, 90_000 - number))
    assert [summary.id for summary in store.list(limit=2)] == ["s5", "s4"]


def test_a_folder_that_is_not_there_has_no_sessions(tmp_path: Path) -> None:
    store = LogStore(str(tmp_path / "none"))
    assert store.list() == []
    assert store.latest("/w") is None


def test_a_session_is_listed_whatever_its_file_holds(tmp_path: Path) -> None:
    """F2, H6-2: an unknown first record, garbage, emptiness, a torn end; other files are left alone."""
    store = LogStore(str(tmp_path))
    add_session(store, "good")
    lines = Path(store.path("good")).read_bytes().splitlines(keepends=True)
    future = b'{"seq":1,"id":"x","parent":"","at":1.0,"event":{"type":"session_started_v2","where":"/w"}}\n'
    Path(store.path("future")).write_bytes(future + b"".join(lines[1:]))
    Path(store.path("headless")).write_bytes(b"\xff\xfe\n" + b"".join(lines[1:]) + b'{"seq":9,"id')
    Path(store.path("garbage")).write_bytes(os.urandom(200_000))
    Path(store.path("empty")).write_bytes(b"")
    Path(tmp_path, "notes.txt").write_text("not a session")
    Path(tmp_path, ".hidden.jsonl").write_text("")
    Path(tmp_path, "folder.jsonl").mkdir()
    Path(tmp_path, "dangling.jsonl").symlink_to(tmp_path / "nowhere")
    listed = {summary.id: summary for summary in store.list()}
    assert set(listed) == {"good", "future", "headless", "garbage", "empty"}
    assert listed["future"].first_prompt == listed["headless"].first_prompt == "hello"
    for name in listed:
        log, _, _ = store.open(name)
        log.append(Noted("goes on"))
        log.close()


def test_a_directory_is_known_by_all_its_spellings(tmp_path: Path) -> None:
    """F2: through a link, by its real path, with a slash too many."""
    real = tmp_path / "real"
    real.mkdir()
    link = tmp_path / "link"
    link.symlink_to(real)
    store = LogStore(str(tmp_path / "sessions"))
    add_session(store, "by-link", str(link), at=1000)
    add_session(store, "by-path", str(real), at=2000)
    add_session(store, "other", str(tmp_path), at=3000)
    for spelling in (str(real), str(link), f"{real}/", f"{tmp_path}/./real"):
        assert [summary.id for summary in store.list(spelling)] == ["by-path", "by-link"]


def test_a_directory_that_is_gone_is_known_through_links_above_it(tmp_path: Path) -> None:
    """F2"""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    store = LogStore(str(tmp_path / "sessions"))
    add_session(store, "gone", str(tmp_path / "link" / "gone"))
    assert [summary.id for summary in store.list(str(tmp_path / "real" / "gone"))] == ["gone"]


def test_a_link_that_is_gone_is_still_known_by_its_spelling(tmp_path: Path) -> None:
    """F2"""
    store = LogStore(str(tmp_path / "sessions"))
    add_session(store, "gone", str(tmp_path / "gone"))
    assert [summary.id for summary in store.list(str(tmp_path / "gone"))] == ["gone"]


def test_a_session_moved_with_its_directory_is_found_at_both_places(tmp_path: Path) -> None:
    """F2: once it was resumed in the new directory. Until then it is in the list of all sessions."""
    store = LogStore(str(tmp_path / "sessions"))
    before, after = tmp_path / "before", tmp_path / "after"
    before.mkdir()
    add_session(store, "moved", str(before))
    before.rename(after)
    assert [summary.id for summary in store.list()] == ["moved"]
    log, _, _ = store.open("moved")
    log.append(SessionStarted(str(after), "1"))
    log.close()
    assert [summary.id for summary in store.list(str(after))] == ["moved"]
    assert store.list()[0].cwd == str(after)


def test_long_sessions_are_summarised_from_their_two_ends(tmp_path: Path) -> None:
    store = LogStore(str(tmp_path))
    log = store.create("long", SessionStarted("/w", "1", "first"))
    log.append(Prompted("p", (Text('say "hi"\nplease'), Image("image/png", "A" * 300_000))))
    for number in range(300):
        log.append(Noted("x" * 1000), at=float(number))
    log.append(ModelChanged("last"), at=5000.0)
    log.close()
    (summary,) = store.list()
    assert summary.first_prompt == 'say "hi" please'
    assert (summary.model, summary.last_activity, summary.messages()) == ("last", 5000.0, 1)


@pytest.mark.parametrize("size", [100, 60_000, 500_000, 3_000_000])
def test_instruction_files_before_the_first_prompt_are_not_taken_for_it(tmp_path: Path, size: int) -> None:
    store = LogStore(str(tmp_path))
    log = store.create("s", SessionStarted("/w", "1"))
    log.append(Prompted("i", (Text("<system-reminder>\n" + "x" * size),), "harness", why="instructions"))
    log.append(Prompted("p", (Text("hello"), Image("image/png", "A" * 300_000))))
    log.close()
    (summary,) = store.list()
    assert summary.first_prompt == ("hello" if size < 2_000_000 else "")
    assert summary.messages() == 1


def test_a_long_prompt_is_shortened(tmp_path: Path) -> None:
    store = LogStore(str(tmp_path))
    add_session(store, "s", prompt="word " * 1000)
    assert len(store.list()[0].first_prompt) <= 200
    assert store.list()[0].first_prompt.endswith("…")


def test_continuing_takes_the_session_last_active_here(tmp_path: Path) -> None:
    """H6-3: one without a prompt is skipped."""
    store = LogStore(str(tmp_path))
    assert store.latest("/w") is None
    store.create("silent", SessionStarted("/w", "1")).close()
    assert (latest := store.latest("/w")) is not None
    assert latest.id == "silent"
    add_session(store, "older", at=1000)
    add_session(store, "newer", at=2000)
    add_session(store, "elsewhere", "/x", at=3000)
    assert (latest := store.latest("/w")) is not None
    assert latest.id == "newer"


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../x", "a/b", "/etc/passwd", ".x", "a\0b", "a\nb", "x" * 200, "é", "-x"]
)
def test_a_name_cannot_lead_out_of_the_folder(name: str, tmp_path: Path) -> None:
    store = LogStore(str(tmp_path))
    with pytest.raises(BadSessionId, match="cannot name a session"):
        store.create(name, SessionStarted("/w", "1"))
    with pytest.raises(BadSessionId):
        store.open(name)
    with pytest.raises(BadSessionId):
        store.fork(name, "fine")


def test_an_id_is_used_once(tmp_path: Path) -> None:
    """H6-3"""
    store = LogStore(str(tmp_path))
    add_session(store, "taken")
    add_session(store, "source")
    before = Path(store.path("taken")).read_bytes()
    with pytest.raises(SessionExists, match="Session ID taken is already in use"):
        store.create("taken", SessionStarted("/w", "1"))
    with pytest.raises(SessionExists, match="Session ID taken is already in use"):
        store.fork("source", "taken")
    assert Path(store.path("taken")).read_bytes() == before
    with pytest.raises(SessionMissing, match="No conversation found with session ID: none"):
        store.open("none")
    with pytest.raises(SessionMissing):
        store.fork("none", "new")
    assert sorted(os.listdir(tmp_path)) == ["source.jsonl", "taken.jsonl"]


def test_resuming_at_an_entry_grows_a_new_branch_and_keeps_the_old(tmp_path: Path) -> None:
    """H6-1, H6-3"""
    store = LogStore(str(tmp_path))
    ids = add_session(store, "s")
    log, branch, _ = store.open("s", at="s-host")
    assert [envelope.id for envelope in branch] == ids[:2]
    added = log.append(Noted("instead"))
    assert (added.parent, added.seq) == (ids[1], 6)
    log.close()
    assert [envelope.id for envelope in store.read_branch("s")[0]] == [*ids[:2], added.id]
    assert [envelope.id for envelope in store.read_branch("s", at="m1")[0]] == ids
    with pytest.raises(EntryMissing):
        store.open("s", at="nowhere")
    store.open("s")[0].close()


def test_a_fork_is_a_session_of_its_own_with_the_same_past(tmp_path: Path) -> None:
    """H6-3: ids stay, numbers begin anew without holes, and the source is untouched even while it is written."""
    store = LogStore(str(tmp_path))
    ids = add_session(store, "source")
    source, _, _ = store.open("source", at="source-host")
    source.append(Noted("the other way"))
    before = Path(source.path).read_bytes()
    fork = store.fork("source", "fork")
    entries = list(fork.read())
    assert entries[0].event == SessionStarted("/w", "1", "first-model", forked_from="source")
    assert [envelope.id for envelope in entries] == [*ids[:2], source.head]
    assert [envelope.seq for envelope in entries] == [1, 2, 3]
    assert [envelope.parent for envelope in entries] == ["", *ids[:2]]
    assert (fork.seq, fork.head, fork.session_id) == (3, source.head, "fork")
    fork.append(Noted("mine"))
    fork.close()
    source.close()
    assert Path(source.path).read_bytes() == before
    assert {summary.id for summary in store.list()} == {"source", "fork"}


def test_a_fork_can_begin_at_a_message_and_in_another_directory(tmp_path: Path) -> None:
    """H6-3"""
    store = LogStore(str(tmp_path))
    ids = add_session(store, "source")
    fork = store.fork("source", "fork", at="source-p", started=SessionStarted("/new", "2"))
    assert [envelope.id for envelope in fork.read()] == ids[:2]
    fork.close()
    assert store.list("/new")[0].id == "fork"
    with pytest.raises(EntryMissing):
        store.fork("source", "fork2", at="nowhere")
    assert not store.exists("fork2")


def test_a_fork_keeps_what_newer_versions_wrote_byte_for_byte(tmp_path: Path) -> None:
    store = LogStore(str(tmp_path))
    event = b'{"type":"teleported","to":{"x":1,  "y":[2]}}'
    Path(store.path("source")).write_bytes(
        b'{"seq":4,"id":"a","parent":"lost","at":1.0,"event":' + event + b',"colour":"red"}\nbad line\n'
    )
    fork = store.fork("source", "fork")
    fork.close()
    header, line = Path(fork.path).read_bytes().splitlines()
    assert b'"forked_from":"source"' in header
    assert line.startswith(b'{"seq":2,"id":"a","parent":"')
    assert line.endswith(b'"event":' + event + b',"colour":"red"}')
