"""A database that is locked, full, read-only, missing or damaged: nothing blocks, errors are clear, nothing is lost."""

import asyncio
import os
import shutil
import sqlite3
import tempfile
from pathlib import Path

import pytest
from sqlalchemy import text

from bobstay.model.event import Noted, Prompted
from bobstay.model.message import Text
from bobstay.server.db import database_engines, task_table
from bobstay.server.db import projection_writer as writing
from bobstay.server.db.database import Database
from bobstay.server.db.database_errors import DatabaseProblem
from bobstay.server.db.full_text_search import search
from bobstay.server.db.projected_tables import messages, sessions
from bobstay.server.db.transcript_pages import read_page
from bobstay.sessions.log_store import LogStore
from tests.kit.processor_work import calls
from tests.kit.waiting import DEADLINE, until
from tests.server.db.postgres import NOBODY, Cluster
from tests.server.db.projected_sessions import OpenProjected, ProjectedSessions


@pytest.fixture(autouse=True)
def impatience(monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite itself need not wait long for another process here."""
    monkeypatch.setattr(database_engines, "BUSY_SECONDS", 0.2)


def locked(path: Path) -> sqlite3.Connection:
    """Another program holds the database for itself."""
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    return other


async def test_while_the_database_is_locked_nobody_waits_and_nothing_is_lost(
    open_projected: OpenProjected, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S003-42: bounded memory; what does not fit is read from the log afterwards."""
    monkeypatch.setattr(writing, "MOST_WAITING", 100)
    monkeypatch.setattr(writing, "BATCH", 50)
    projected = await open_projected()
    projected.begin()
    await projected.settled()
    other = locked(tmp_path / "state" / "index.sqlite")
    with calls() as made:
        for number in range(1_000):
            projected.write(Noted(f"note {number}"))
    assert made.count("put") == 2_000, "of the database and of its writer"
    assert not {"connect", "execute", "sleep", "wait"} & set(made), "the database is not asked meanwhile"
    await until(lambda: projected.database.health().problem != "")
    health = projected.database.health()
    assert (health.ok, health.behind) == (False, 1)
    assert health.waiting <= 100
    assert "locked" in health.problem
    assert await projected.database.wait_until_indexed("one", 1_001, 0.01) is False
    other.execute("ROLLBACK")
    other.close()
    assert await projected.database.wait_until_indexed("one", 1_001, DEADLINE) is True
    await projected.settled()
    assert projected.database.health().ok
    assert len(await projected.table(messages)) == 1_000


async def test_a_locked_database_is_said_to_be_so_at_the_start(open_projected: OpenProjected, tmp_path: Path) -> None:
    path = tmp_path / "state" / "index.sqlite"
    path.parent.mkdir()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("PRAGMA locking_mode=EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(DatabaseProblem) as caught:
        await Database.open("", str(tmp_path / "state"), LogStore(str(tmp_path / "sessions")))
    assert caught.value.kind == "locked"
    other.close()
    assert (await open_projected()).database.health().ok


async def test_a_full_disk_stops_the_index_only(open_projected: OpenProjected) -> None:
    """Reading goes on, the log goes on; with room again the rest follows."""
    projected = await open_projected()
    projected.write(Prompted("p", (Text("the first words"),)))
    await projected.settled()

    async def most_pages(number: int) -> None:
        async with projected.database.engines.write.connect() as connection:
            await connection.execute(text(f"PRAGMA max_page_count={number}"))

    await most_pages(1)
    for number in range(200):
        projected.write(Noted(f"{number} " + "many words " * 100))
    await until(lambda: "room" in projected.database.health().problem)
    assert len((await search(projected.database, "first")).hits) == 2
    assert len(list(projected.store.read_branch("one")[0])) == 202
    await most_pages(2**30)
    assert await projected.database.wait_until_indexed("one", 202, DEADLINE)
    assert projected.database.health().ok


async def test_a_read_only_database_is_said_to_be_so() -> None:
    folder = Path(tempfile.mkdtemp())
    path = folder / "index.sqlite"
    path.write_bytes(b"")
    path.chmod(0o400)
    if os.getuid() == 0:  # who may do everything; nobody may not
        os.chown(folder, NOBODY, NOBODY)
        os.chown(path, NOBODY, NOBODY)
        os.seteuid(NOBODY)
    try:
        with pytest.raises(DatabaseProblem) as caught:
            await Database.open("", str(folder), LogStore(str(folder)))
    finally:
        os.seteuid(os.getuid())
        shutil.rmtree(folder)
    assert caught.value.kind == "read_only"
    assert "writable" in str(caught.value)


async def test_a_write_to_a_read_only_database_is_an_error_with_words(open_projected: OpenProjected) -> None:
    projected = await open_projected()
    projected.begin()
    await projected.settled()
    for _ in range(2):
        async with projected.database.engines.own.connect() as connection:
            await connection.execute(text("PRAGMA query_only=ON"))
    with pytest.raises(DatabaseProblem) as caught:
        await task_table.add_task(projected.database, "one", "a task", by="ann")
    assert (caught.value.kind, caught.value.status) == ("read_only", 507)


async def test_postgresql_that_allows_only_reading_is_said_to_be_so(
    cluster: Cluster, open_projected: OpenProjected, tmp_path: Path
) -> None:
    url = await cluster.new_database()
    projected = await open_projected(url)
    projected.begin()
    await projected.settled()
    name = url.partition("?")[0].rpartition("/")[2]
    async with projected.database.engines.own.begin() as connection:
        await connection.execute(text(f"ALTER DATABASE {name} SET default_transaction_read_only = on"))
    await projected.database.engines.write.dispose()
    projected.write(Noted("kept"))
    await until(lambda: "not written" in projected.database.health().problem)
    with pytest.raises(DatabaseProblem) as caught:
        await task_table.add_task(projected.database, "one", "a task", by="ann")
    assert caught.value.kind == "read_only"
    assert len((await read_page(projected.database, "one")).rows) == 0
    async with projected.database.engines.own.begin() as connection:
        await connection.execute(text("SET TRANSACTION READ WRITE"))
        await connection.execute(text(f"ALTER DATABASE {name} RESET default_transaction_read_only"))
    await projected.database.engines.write.dispose()
    assert await projected.database.wait_until_indexed("one", 2, DEADLINE)


# asyncpg drops a connection whose server is gone without closing its transport.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_postgresql_that_goes_away_and_comes_back_gets_all(
    open_projected: OpenProjected, own_cluster: Cluster
) -> None:
    """Even what it had taken and lost in its crash: it need not keep every commit, for the logs do."""
    projected = await open_projected(await own_cluster.new_database())
    async with projected.database.engines.own.begin() as connection:
        await connection.execute(text("CHECKPOINT"))
    projected.write(Noted("before"))
    await projected.settled()
    own_cluster.stop()
    projected.write(Noted("meanwhile"))
    await until(lambda: projected.database.health().problem != "")
    assert "does not answer" in projected.database.health().problem
    with pytest.raises(DatabaseProblem) as caught:
        await read_page(projected.database, "one")
    assert (caught.value.kind, caught.value.status) == ("unreachable", 503)
    own_cluster.start()
    projected.write(Noted("after"))
    assert await projected.database.wait_until_indexed("one", 4, DEADLINE)
    assert [row.data["text"] for row in (await read_page(projected.database, "one")).rows] == [
        "after",
        "meanwhile",
        "before",
    ]
    await projected.close()


async def test_a_server_that_ends_while_the_database_is_away_does_not_hang(
    open_projected: OpenProjected, tmp_path: Path
) -> None:
    projected = await open_projected()
    projected.begin()
    await projected.settled()
    other = locked(tmp_path / "state" / "index.sqlite")
    projected.write(Noted("late"))
    projected.database.audit.record("ann", "late.deed")
    async with asyncio.timeout(DEADLINE):
        await projected.database.close(0.2)
    other.close()
    again = await open_projected()
    counts = await again.database.catch_up()
    assert (counts.read, counts.entries) == (1, 1)


async def opened_and_rebuilt(state: str, store: LogStore) -> None:
    broken = await Database.open("", state, store)
    try:
        await broken.rebuild()
    finally:
        await broken.close()


@pytest.mark.parametrize("damage", ["header", "middle", "cut"])
async def test_a_damaged_file_is_said_to_be_so_and_can_be_made_anew(
    damage: str,
    open_projected: OpenProjected,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The logs are the truth: whatever happens to the file, `bobstay reindex --set-aside` brings the index back."""
    from bobstay.cli import reindex_command

    state = tmp_path / "server"
    store = LogStore(str(tmp_path / "sessions"))
    first = ProjectedSessions(await Database.open("", str(state), store), store, tmp_path)
    for number in range(40):
        first.write(Prompted(f"p{number}", (Text(f"words of {number} " * 50),)), session=f"s{number % 4}")
    await first.settled()
    await task_table.add_task(first.database, "s1", "mine", by="ann")
    await first.close()
    path = state / "index.sqlite"
    content = path.read_bytes()
    if damage == "header":
        path.write_bytes(b"no database at all" * 100)
    elif damage == "middle":
        path.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))
    else:
        path.write_bytes(content[: len(content) // 3 // 4096 * 4096 + 100])
    with pytest.raises(DatabaseProblem) as caught:
        await opened_and_rebuilt(str(state), store)
    assert caught.value.kind == "corrupt"
    assert "bobstay reindex --set-aside" in str(caught.value)
    monkeypatch.setenv("BOBSTAY_HOME", str(tmp_path))
    assert await asyncio.to_thread(reindex_command.run, ["--set-aside"]) == 0
    output = capsys.readouterr().out
    assert "4 sessions, 44 entries" in output
    assert len(list(state.glob("index.sqlite.broken-*"))) >= 1
    second = ProjectedSessions(await Database.open("", str(state), store), store, tmp_path)
    assert len(await second.table(sessions)) == 4
    await second.close()


async def test_what_no_log_holds_is_saved_from_a_damaged_file(tmp_path: Path) -> None:
    from bobstay.server.db.salvage import quarantine_database, salvage

    state = tmp_path / "state"
    first = await Database.open("", str(state), LogStore(str(tmp_path / "sessions")))
    task = await task_table.add_task(first, "one", "mine", by="ann")
    first.audit.record("ann", "did.it", {"n": 1}, "one")
    await first.close()
    moved = quarantine_database(str(state / "index.sqlite"), str(state))
    damaged = sqlite3.connect(moved)
    damaged.execute("DROP TABLE recent_dirs")
    damaged.commit()
    damaged.close()
    second = await Database.open("", str(state), LogStore(str(tmp_path / "sessions")))
    try:
        saved = await salvage(second, moved)
        assert (saved.saved, saved.lost) == ({"tasks": 1, "audit": 1}, ("recent_dirs",))
        assert await task_table.list_tasks(second) == [task]
    finally:
        await second.close()


async def test_setting_aside_is_refused_while_a_server_runs(open_projected: OpenProjected, tmp_path: Path) -> None:
    from bobstay.server.db.salvage import quarantine_database

    await open_projected()
    with pytest.raises(DatabaseProblem) as caught:
        quarantine_database(str(tmp_path / "state" / "index.sqlite"), str(tmp_path / "state"))
    assert caught.value.kind == "in_use"


async def test_put_is_cheap(projected: ProjectedSessions) -> None:
    """It stands between an event and those who wait for it."""
    projected.begin()
    view = projected.views["one"]
    envelopes = [projected.write(Noted(f"{number}"), put=False) for number in range(2_000)]
    work: list[int] = []
    for envelope in envelopes:
        with calls() as made:
            projected.database.put("one", envelope, view)
        work.append(len(made))
    # Most of them: what the interpreter collects in between runs code of its own.
    assert sorted(work[-500:])[450] < 30, "a handful of steps, however many wait"


async def test_tables_that_are_missing_are_said_to_be(projected: ProjectedSessions) -> None:
    projected.begin()
    await projected.settled()
    async with projected.database.engines.write.begin() as connection:
        await connection.execute(text("DROP TABLE usage"))
        await connection.execute(text("DROP TABLE sessions"))
    with pytest.raises(DatabaseProblem) as caught:
        await read_page(projected.database, "one")
    assert caught.value.kind == "incomplete"


async def test_a_start_on_a_database_that_cannot_be_written_ends_with_words(
    open_projected: OpenProjected, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "MAX_PROBLEM_SECONDS", 0.5)
    first = await open_projected()
    first.write(Noted("nobody is told"), put=False)
    other = locked(tmp_path / "state" / "index.sqlite")
    with pytest.raises(DatabaseProblem) as caught:
        await first.database.catch_up()
    assert caught.value.kind == "locked"
    other.close()
    assert await first.database.wait_until_indexed("one", 2, DEADLINE)
