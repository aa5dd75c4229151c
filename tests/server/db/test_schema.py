"""The schema created by migrations equals the one in the code, on both databases."""

import os
import stat
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, inspect, text

from bobstay.server.db import own_tables as doors
from bobstay.server.db.database import Database
from bobstay.server.db.database_errors import DatabaseProblem
from bobstay.server.db.projected_tables import METADATA, PROJECTIONS, tasks
from bobstay.sessions.log_store import LogStore
from tests.server.db.projected_sessions import OpenProjected, ProjectedSessions


def ours(thing: Any, name: str | None, kind: str, reflected: bool, other: Any) -> bool:
    """The search keeps tables and an index of its own, which are not described in the metadata."""
    return not (reflected and str(name).startswith("documents_fts"))


def differences(connection: Connection) -> list[Any]:
    options = {"compare_type": True, "compare_server_default": False, "include_object": ours}
    return list(compare_metadata(MigrationContext.configure(connection, opts=options), METADATA))


async def test_the_migrated_schema_is_the_one_the_code_describes(projected: ProjectedSessions) -> None:
    async with projected.database.engines.read.connect() as connection:
        assert await connection.run_sync(differences) == []
        names = set(await connection.run_sync(lambda found: inspect(found).get_table_names()))
    assert {doors.CLIENTS.name, doors.CODES.name, doors.USERS.name} <= names


async def test_a_difference_would_be_seen(projected: ProjectedSessions) -> None:
    async with projected.database.engines.write.begin() as connection:
        await connection.execute(text("ALTER TABLE tasks ADD COLUMN extra INTEGER"))
        await connection.execute(text("DROP INDEX ix_tasks_session"))
    async with projected.database.engines.read.connect() as connection:
        assert len(await connection.run_sync(differences)) == 2


async def test_opening_again_changes_nothing(url: str, open_projected: OpenProjected) -> None:
    first = await open_projected(url)
    await first.close()
    second = await open_projected(url)
    async with second.database.read_transaction() as connection:
        rows = (await connection.execute(text("SELECT version_num FROM alembic_version"))).all()
    assert [tuple(row) for row in rows] == [("0003",)]


async def test_a_database_of_the_first_version_is_brought_up_to_date(
    url: str, open_projected: OpenProjected, tmp_path: Path
) -> None:
    from alembic import command

    from bobstay.server.db.database_engines import connect, resolve
    from bobstay.server.db.migration import configuration

    def first(connection: Connection) -> None:
        config = configuration()
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")

    engines = connect(resolve(url, str(tmp_path / "state")))
    async with engines.write.begin() as connection:
        await connection.run_sync(first)
        await connection.execute(text("INSERT INTO push_subscriptions (id, endpoint) VALUES ('x', 'of nobody')"))
    await engines.dispose()
    projected = await open_projected(url)
    async with projected.database.engines.read.connect() as connection:
        assert await connection.run_sync(differences) == []
        assert (await connection.execute(text("SELECT count(*) FROM push_subscriptions"))).scalar() == 0


async def test_a_database_of_a_newer_version_is_refused_and_left_alone(
    url: str, open_projected: OpenProjected, tmp_path: Path
) -> None:
    first = await open_projected(url)
    async with first.database.engines.write.begin() as connection:
        await connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    await first.close()
    with pytest.raises(DatabaseProblem) as caught:
        await Database.open(url, str(tmp_path / "state"), LogStore(str(tmp_path / "sessions")))
    assert caught.value.kind == "newer"
    assert "newer version" in str(caught.value)
    assert "--db" in str(caught.value)


async def test_a_migration_that_fails_leaves_nothing_behind(
    url: str, open_projected: OpenProjected, tmp_path: Path
) -> None:
    from bobstay.server.db.database_engines import connect, resolve

    engines = connect(resolve(url, str(tmp_path / "state")))
    async with engines.write.begin() as connection:
        await connection.execute(text("CREATE TABLE usage (mine INTEGER)"))
    with pytest.raises(DatabaseProblem) as caught:
        await Database.open(url, str(tmp_path / "state"), LogStore(str(tmp_path / "sessions")))
    assert caught.value.kind == "refused"
    async with engines.write.begin() as connection:
        assert await connection.run_sync(lambda found: inspect(found).get_table_names()) == ["usage"]
        await connection.execute(text("DROP TABLE usage"))
    await engines.dispose()
    assert (await open_projected(url)).database.health().ok


async def test_only_its_owner_can_read_the_database(open_projected: OpenProjected, tmp_path: Path) -> None:
    """FM-55."""
    before = os.umask(0)
    try:
        projected = await open_projected()
        projected.begin()
        await projected.settled()
    finally:
        os.umask(before)
    state = tmp_path / "state"
    assert stat.S_IMODE(state.stat().st_mode) == 0o700
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in state.iterdir() if path.is_file()}
    assert set(modes) >= {"index.sqlite", "index.sqlite-wal", "index.lock"}
    assert set(modes.values()) == {0o600}


async def test_a_second_server_is_refused(url: str, open_projected: OpenProjected, tmp_path: Path) -> None:
    first = await open_projected(url)
    with pytest.raises(DatabaseProblem) as caught:
        await Database.open(url, str(tmp_path / "state"), LogStore(str(tmp_path / "sessions")))
    assert caught.value.kind == "in_use"
    assert str(os.getpid()) in str(caught.value)
    await first.close()
    assert (await open_projected(url)).database.health().ok


async def test_a_second_server_with_another_folder_is_refused_by_postgresql(
    cluster: Any, open_projected: OpenProjected, tmp_path: Path
) -> None:
    url = await cluster.new_database()
    await open_projected(url)
    with pytest.raises(DatabaseProblem) as caught:
        await Database.open(url, str(tmp_path / "elsewhere"), LogStore(str(tmp_path / "sessions")))
    assert caught.value.kind == "in_use"


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("mysql://somewhere/x", "bad_url"),
        ("not a url", "bad_url"),
        ("sqlite://", "bad_url"),
        ("sqlite:///:memory:", "bad_url"),
        ("postgresql://u:secret@127.0.0.1:1/x", "unreachable"),
        ("postgresql://u:secret@/x?host=/nowhere/at/all", "unreachable"),
        ("sqlite:////proc/nobody/may/write.sqlite", "no_access"),
    ],
)
async def test_an_address_that_leads_nowhere_says_so(url: str, kind: str, tmp_path: Path) -> None:
    with pytest.raises(DatabaseProblem) as caught:
        await Database.open(url, str(tmp_path / "state"), LogStore(str(tmp_path / "sessions")))
    assert caught.value.kind == kind
    assert "secret" not in str(caught.value)
    assert caught.value.status in (503, 507)


async def test_a_postgresql_database_that_is_missing_says_so(cluster: Any, tmp_path: Path) -> None:
    with pytest.raises(DatabaseProblem) as caught:
        await Database.open(cluster.address("nowhere"), str(tmp_path / "state"), LogStore(str(tmp_path / "sessions")))
    assert caught.value.kind == "no_access"


def test_every_table_is_known_as_a_projection_or_as_our_own() -> None:
    """A table in neither list would be lost when a damaged database is set aside."""
    assert {table.name for table in METADATA.tables.values()} == {
        table.name for table in (*PROJECTIONS, *doors.OWN, tasks)
    }
