"""One server at a time writes a database, and it holds the sessions of one home only."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from sqlalchemy import text

from bobstay.model.event import Noted
from bobstay.server.db.database import Database
from bobstay.server.db.database_errors import DatabaseProblem
from tests.server.db.desk import PATIENCE, Desk
from tests.server.db.postgres import Cluster

Desks = Callable[..., Awaitable[Desk]]


async def test_the_lock_is_taken_again_after_a_restart_of_postgresql(
    desks: Desks, own_cluster: Cluster, tmp_path: Path
) -> None:
    url = await own_cluster.new_database()
    desk = await desks(url, tmp_path / "first")
    desk.write(Noted("before"))
    await desk.settled()
    own_cluster.stop(crash=False)
    own_cluster.start()
    desk.write(Noted("after"))
    assert await desk.database.wait_until_indexed("one", 3, PATIENCE)
    with pytest.raises(DatabaseProblem) as caught:
        await Database.open(url, str(tmp_path / "second"))
    assert caught.value.kind == "in_use"


async def test_a_server_that_lost_its_lock_to_another_writes_nothing_until_it_is_free(
    desks: Desks, own_cluster: Cluster, tmp_path: Path
) -> None:
    url = await own_cluster.new_database()
    first = await desks(url, tmp_path / "first")
    first.write(Noted("before"))
    await first.settled()
    own_cluster.stop(crash=False)
    own_cluster.start()
    second = await Database.open(url, str(tmp_path / "second"), adopt=True)
    first.write(Noted("after"))
    async with asyncio.timeout(PATIENCE):
        while first.database.health().ok:
            await asyncio.sleep(0.01)
    assert "Another bobstay process uses this database" in first.database.health().problem
    await second.close()
    assert await first.database.wait_until_indexed("one", 3, PATIENCE)


async def test_the_sessions_of_another_home_are_neither_dropped_nor_shared(
    desks: Desks, cluster: Cluster, tmp_path: Path
) -> None:
    url = await cluster.new_database()
    first = await desks(url, tmp_path / "first")
    first.write(Noted("words"))
    await first.settled()
    await first.close()
    with pytest.raises(DatabaseProblem) as caught:
        await desks(url, tmp_path / "second")
    assert caught.value.kind == "other_home"
    assert "reindex --adopt" in str(caught.value)
    again = await desks(url, tmp_path / "first")
    async with again.database.read_transaction() as connection:
        assert await connection.scalar(text("SELECT count(*) FROM sessions")) == 1


async def test_a_database_can_be_made_this_homes(desks: Desks, cluster: Cluster, tmp_path: Path) -> None:
    url = await cluster.new_database()
    await (await desks(url, tmp_path / "first")).close()
    adopted = await Database.open(url, str(tmp_path / "second" / "state"), adopt=True)
    await adopted.close()
    await (await desks(url, tmp_path / "second")).close()


async def test_a_home_that_moves_takes_its_sqlite_index_along(desks: Desks, tmp_path: Path) -> None:
    await (await desks("", tmp_path / "here")).close()
    (tmp_path / "here").rename(tmp_path / "there")
    (tmp_path / "there" / "state" / "home-id").unlink()
    await (await desks("", tmp_path / "there")).close()
