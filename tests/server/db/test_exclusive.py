"""One server at a time writes a database, and it holds the sessions of one home only."""

from pathlib import Path

import pytest
from sqlalchemy import text

from bobstay.model.event import Noted
from bobstay.server.db.database import Database
from bobstay.server.db.database_errors import DatabaseProblem
from bobstay.sessions.log_store import LogStore
from tests.kit.waiting import DEADLINE, until
from tests.server.db.postgres import Cluster
from tests.server.db.projected_sessions import OpenProjected


async def test_the_lock_is_taken_again_after_a_restart_of_postgresql(
    open_projected: OpenProjected, own_cluster: Cluster, tmp_path: Path
) -> None:
    url = await own_cluster.new_database()
    projected = await open_projected(url, tmp_path / "first")
    projected.write(Noted("before"))
    await projected.settled()
    own_cluster.stop(crash=False)
    own_cluster.start()
    projected.write(Noted("after"))
    assert await projected.database.wait_until_indexed("one", 3, DEADLINE)
    with pytest.raises(DatabaseProblem) as caught:
        await Database.open(url, str(tmp_path / "second"), LogStore(str(tmp_path / "sessions")))
    assert caught.value.kind == "in_use"


async def test_a_server_that_lost_its_lock_to_another_writes_nothing_until_it_is_free(
    open_projected: OpenProjected, own_cluster: Cluster, tmp_path: Path
) -> None:
    url = await own_cluster.new_database()
    first = await open_projected(url, tmp_path / "first")
    first.write(Noted("before"))
    await first.settled()
    own_cluster.stop(crash=False)
    own_cluster.start()
    second = await Database.open(url, str(tmp_path / "second"), LogStore(str(tmp_path / "sessions")), adopt=True)
    first.write(Noted("after"))
    await until(lambda: not first.database.health().ok)
    assert "Another bobstay process uses this database" in first.database.health().problem
    await second.close()
    assert await first.database.wait_until_indexed("one", 3, DEADLINE)


async def test_the_sessions_of_another_home_are_neither_dropped_nor_shared(
    open_projected: OpenProjected, cluster: Cluster, tmp_path: Path
) -> None:
    url = await cluster.new_database()
    first = await open_projected(url, tmp_path / "first")
    first.write(Noted("words"))
    await first.settled()
    await first.close()
    with pytest.raises(DatabaseProblem) as caught:
        await open_projected(url, tmp_path / "second")
    assert caught.value.kind == "other_home"
    assert "reindex --adopt" in str(caught.value)
    again = await open_projected(url, tmp_path / "first")
    async with again.database.read_transaction() as connection:
        assert await connection.scalar(text("SELECT count(*) FROM sessions")) == 1


async def test_a_database_can_be_made_this_homes(
    open_projected: OpenProjected, cluster: Cluster, tmp_path: Path
) -> None:
    url = await cluster.new_database()
    await (await open_projected(url, tmp_path / "first")).close()
    adopted = await Database.open(
        url, str(tmp_path / "second" / "state"), LogStore(str(tmp_path / "sessions")), adopt=True
    )
    await adopted.close()
    await (await open_projected(url, tmp_path / "second")).close()


async def test_a_home_that_moves_takes_its_sqlite_index_along(open_projected: OpenProjected, tmp_path: Path) -> None:
    await (await open_projected("", tmp_path / "here")).close()
    (tmp_path / "here").rename(tmp_path / "there")
    (tmp_path / "there" / "state" / "home-id").unlink()
    await (await open_projected("", tmp_path / "there")).close()
