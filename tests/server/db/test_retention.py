"""Old logs are archived and restored; nothing is deleted, and everything stays listed and found."""

import gzip
import time
from pathlib import Path

import pytest

from bobstay.model.event import Noted, Prompted
from bobstay.model.message import Text
from bobstay.model.session_events import SessionChanged
from bobstay.server.db.audit_reader import read_audit_log
from bobstay.server.db.full_text_search import search
from bobstay.server.db.projected_tables import sessions
from bobstay.server.db.retention import archive_older_than
from bobstay.sessions.log import LogError, SessionExists, SessionMissing
from tests.server.db.projected_sessions import OpenProjected, ProjectedSessions

OLD = time.time() - 100 * 86_400


async def with_sessions(projected: ProjectedSessions) -> None:
    """One old and archived, one old, one archived just now; none of them is written any more."""
    projected.write(Prompted("p", (Text("an old ostrich"),)), SessionChanged(archived=True), session="old", at=OLD)
    projected.write(Prompted("p", (Text("still shown"),)), session="shown", at=OLD)
    projected.write(SessionChanged(archived=True), session="young")
    projected.release()
    await projected.settled()


async def test_old_archived_sessions_are_put_away_and_stay_found(projected: ProjectedSessions, tmp_path: Path) -> None:
    """S003-40."""
    await with_sessions(projected)
    log = tmp_path / "sessions" / "old.jsonl"
    content = log.read_bytes()
    done = await archive_older_than(projected.database, 30, by="ann")
    assert (done.sessions, done.busy, done.failed) == (("old",), (), {})
    kept = tmp_path / "state" / "archive" / "old.jsonl.gz"
    assert not log.exists()
    assert gzip.decompress(kept.read_bytes()) == content
    assert kept.stat().st_mode & 0o777 == 0o600
    listed = {row["id"]: row["stored"] for row in await projected.table(sessions) if row["archived"]}
    assert listed == {"old": True, "young": False}
    assert [hit.stored for hit in (await search(projected.database, "ostrich")).hits] == [True, True]
    await projected.database.audit.wait_until_written()
    entries = (await read_audit_log(projected.database)).entries
    assert [(entry.who, entry.what, entry.session_id) for entry in entries] == [("ann", "session.stored", "old")]
    assert (await archive_older_than(projected.database, 30)).sessions == ()


async def test_what_is_stored_survives_restarts_and_rebuilds(url: str, open_projected: OpenProjected) -> None:
    first = await open_projected(url)
    await with_sessions(first)
    await archive_older_than(first.database, 30)
    before = await first.everything()
    await first.close()
    second = await open_projected(url)
    counts = await second.database.catch_up()
    assert (counts.sessions, counts.read, counts.removed) == (3, 0, 0)
    await second.database.rebuild()
    assert await second.everything() == before


async def test_a_stored_session_can_be_brought_back_and_gone_on_with(
    projected: ProjectedSessions, tmp_path: Path
) -> None:
    await with_sessions(projected)
    content = (tmp_path / "sessions" / "old.jsonl").read_bytes()
    await archive_older_than(projected.database, 30)
    await projected.database.unpack("old", "ann")
    assert (tmp_path / "sessions" / "old.jsonl").read_bytes() == content
    assert not (tmp_path / "state" / "archive" / "old.jsonl.gz").exists()
    log, _, _ = projected.store.open("old")
    log.append(Noted("ostrich again"))
    log.close()
    projected.database.refresh("old")
    await projected.settled()
    hits = (await search(projected.database, "ostrich")).hits
    assert {(hit.kind, hit.stored) for hit in hits} == {("text", False), ("title", False)}
    assert not any(row["stored"] for row in await projected.table(sessions))
    with pytest.raises(SessionMissing):
        await projected.database.unpack("old", "ann")


async def test_a_session_somebody_writes_is_left_alone(projected: ProjectedSessions, tmp_path: Path) -> None:
    projected.write(SessionChanged(archived=True), session="old", at=OLD)
    await projected.settled()
    done = await archive_older_than(projected.database, 30)
    assert (done.sessions, done.busy) == ((), ("old",))
    assert (tmp_path / "sessions" / "old.jsonl").exists()


async def test_where_there_is_no_room_for_the_archive_the_log_stays(
    projected: ProjectedSessions, tmp_path: Path
) -> None:
    await with_sessions(projected)
    (tmp_path / "state" / "archive").write_text("in the way")
    done = await archive_older_than(projected.database, 30)
    assert (done.sessions, list(done.failed)) == ((), ["old"])
    assert (tmp_path / "sessions" / "old.jsonl").exists()
    assert not any(row["stored"] for row in await projected.table(sessions))


async def test_a_damaged_archive_is_not_taken_for_a_log(projected: ProjectedSessions, tmp_path: Path) -> None:
    await with_sessions(projected)
    await archive_older_than(projected.database, 30)
    kept = tmp_path / "state" / "archive" / "old.jsonl.gz"
    kept.write_bytes(kept.read_bytes()[:-20])
    with pytest.raises(LogError):
        await projected.database.unpack("old", "ann")
    assert kept.exists()
    assert sorted(path.name for path in (tmp_path / "sessions").iterdir()) == ["shown.jsonl", "young.jsonl"]


async def test_bringing_back_does_not_overwrite(projected: ProjectedSessions) -> None:
    await with_sessions(projected)
    await archive_older_than(projected.database, 30)
    projected.begin("old")
    with pytest.raises(SessionExists):
        await projected.database.unpack("old", "ann")
