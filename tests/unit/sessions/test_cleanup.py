"""Removal of old sessions: what is removed, and what is kept whatever its age."""

import os
import threading
import time
from pathlib import Path

import pytest

from bobstay.model.event import SessionStarted
from bobstay.model.session_events import SessionChanged
from bobstay.server.db.log_archive import Archive
from bobstay.server.sessions.session_trash import Trash
from bobstay.sessions.expiry import remove_older_than
from bobstay.sessions.log_store import LogStore

DAY = 86_400


class Home:
    """A home folder with sessions of any age."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = LogStore(str(folder / "sessions"))

    def session(self, session_id: str, days: float, *changes: SessionChanged) -> None:
        log = self.store.create(session_id, SessionStarted("/w", "1", "m"))
        for change in changes:
            log.append(change)
        log.close()
        self.output(session_id, days)
        self.plan(session_id, days)
        age(Path(log.path), days)

    def output(self, session_id: str, days: float) -> None:
        folder = self.folder / "output" / session_id
        folder.mkdir(parents=True)
        (folder / "1.txt").write_text("much")
        age(folder / "1.txt", days)
        age(folder, days)

    def plan(self, session_id: str, days: float) -> None:
        path = self.folder / "plans" / f"{session_id}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text("# Plan")
        age(path, days)

    def remove(self, days: int = 30, keep: frozenset[str] = frozenset()) -> list[str]:
        return remove_older_than(str(self.folder), days, keep)

    def left(self) -> tuple[list[str], list[str], list[str]]:
        kinds = ("sessions", "output", "plans")
        found = [sorted(path.name for path in (self.folder / kind).iterdir()) for kind in kinds]
        return found[0], found[1], found[2]


def age(path: Path, days: float) -> None:
    then = time.time() - days * DAY
    os.utime(path, (then, then))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_a_session_older_than_the_period_goes_with_its_output_and_its_plan(home: Home) -> None:
    home.session("old", 31)
    home.session("young", 29)
    (home.folder / "sessions" / "old.lease").write_text("{}")
    assert home.remove() == ["old"]
    assert home.left() == (["young.jsonl"], ["young"], ["young.md"])


def test_a_session_that_somebody_writes_is_kept_with_all_it_has(home: Home) -> None:
    home.session("old", 31)
    log, _, _ = home.store.open("old")
    try:
        assert home.remove() == []
        assert home.left() == (["old.jsonl", "old.lease"], ["old"], ["old.md"])
    finally:
        log.close()


def test_a_session_that_is_spared_or_pinned_is_kept(home: Home) -> None:
    home.session("spared", 31)
    home.session("pinned", 31, SessionChanged(pinned=True))
    home.session("loose", 31, SessionChanged(pinned=True), SessionChanged(pinned=False))
    assert home.remove(keep=frozenset({"spared"})) == ["loose"]
    assert home.left()[1] == ["pinned", "spared"]


def test_old_output_and_plans_of_no_session_go_and_young_ones_stay(home: Home) -> None:
    home.session("young", 1)
    age(home.folder / "output" / "young", 90)
    home.output("orphan", 31)
    home.output("fresh", 29)
    home.plan("orphan", 31)
    home.plan("fresh", 29)
    grows = home.folder / "output" / "grows"
    home.output("grows", 31)
    (grows / "2.txt").write_text("a command that still runs")
    age(grows, 31)
    home.plan("grows", 31)
    assert home.remove() == []
    assert home.left() == (["young.jsonl"], ["fresh", "grows", "young"], ["fresh.md", "young.md"])


def test_what_the_console_archived_or_put_into_the_trash_keeps_its_output_and_plan(home: Home) -> None:
    """Both can be restored, and then nothing of them may be missing."""
    for session_id in ("archived", "deleted"):
        home.session(session_id, 31)
    Archive(str(home.folder / "server" / "archive")).pack(home.store.path("archived"))
    Trash(str(home.folder / "server" / "trash"), home.store).put("deleted")
    assert home.remove() == []
    assert home.left() == ([], ["archived", "deleted"], ["archived.md", "deleted.md"])


def test_nothing_that_is_no_session_is_touched_and_no_link_is_followed(home: Home, tmp_path: Path) -> None:
    home.session("young", 1)
    outside = tmp_path / "elsewhere"
    outside.mkdir()
    (outside / "precious.txt").write_text("mine")
    (home.folder / "output" / "linked").symlink_to(outside)
    (home.folder / "sessions" / "notes.txt").write_text("mine")
    (home.folder / "sessions" / "linked.jsonl").symlink_to(outside / "precious.txt")
    for path in (outside / "precious.txt", outside, home.folder / "sessions" / "notes.txt"):
        age(path, 400)
    assert home.remove() == []
    assert (outside / "precious.txt").read_text() == "mine"
    assert home.left()[0] == ["linked.jsonl", "notes.txt", "young.jsonl"]


def test_it_stops_between_two_sessions_when_told_to(home: Home) -> None:
    for number in range(3):
        home.session(f"old-{number}", 31)
    stop = threading.Event()
    stop.set()
    assert remove_older_than(str(home.folder), 30, frozenset(), stop.is_set) == []
    assert len(home.left()[0]) == 3


def test_a_home_without_sessions_is_no_fault(home: Home) -> None:
    assert home.remove() == []
