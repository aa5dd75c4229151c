"""The doors on a real PostgreSQL: what the tables promise, they promise there too."""

import asyncio
from pathlib import Path

from bobstay.server.db.database_engines import connect, resolve
from bobstay.server.db.migration import migrate
from tests.server.auth.house import House
from tests.server.db.postgres import Cluster


async def test_the_doors_keep_their_word_on_postgresql(cluster: Cluster, tmp_path: Path) -> None:
    """FM-46 and the codes that are good once, with the other database."""
    engines = connect(resolve(await cluster.new_database(), str(tmp_path)))
    await migrate(engines)
    async with House(tmp_path, engines.own) as house:
        exchanges = [
            house.ask("POST", "/api/v1/auth/exchange", {"Origin": house.origin}, {"code": house.code}) for _ in range(6)
        ]
        replies = await asyncio.gather(*exchanges)
        assert sorted(reply.status for reply in replies) == [200] + [401] * 5
        page = await house.enter(await house.doors.start_code())
        id, bearer = await house.token("read", lifetime=60)
        assert (await house.ask("GET", "/api/v1/things", bearer)).status == 200
        await house.doors.clients.note_seen()
        listed = (await house.ask("GET", "/api/v1/auth/clients", page)).json["clients"]
        assert {client["id"]: client["last_seen"] for client in listed}[id] == house.clock.now
        told: list[str] = []
        house.doors.attend(lambda: [id], told.append)
        await house.doors.look_after()
        assert told == []
        assert (await house.ask("DELETE", f"/api/v1/auth/clients/{id}", page)).status == 204
        assert told[:1] == [id]
        assert (await house.ask("GET", "/api/v1/things", bearer)).status == 401
        user = {"scopes": ["read"], "password": "correct horse battery"}
        puts = [house.ask("PUT", "/api/v1/auth/users/ada", page, user) for _ in range(4)]
        assert {reply.status for reply in await asyncio.gather(*puts)} == {200}
        odd = {"name": "ada", "password": "correct\u0000horse"}
        assert (await house.ask("POST", "/api/v1/auth/login", {"Origin": house.origin}, odd)).status == 401
        nul = {"name": "a\u0000", "password": "correct horse battery"}
        assert (await house.ask("POST", "/api/v1/auth/login", {"Origin": house.origin}, nul)).status == 401
        assert (await house.ask("DELETE", "/api/v1/auth/clients/%00", page)).status == 404
        assert (await house.ask("DELETE", "/api/v1/auth/users/%00", page)).status == 404
        code = {"label": "a\u0000b"}
        assert (await house.ask("POST", "/api/v1/auth/codes", page, code)).status == 422
