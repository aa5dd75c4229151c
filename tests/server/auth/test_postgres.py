"""Authentication on a real PostgreSQL: the tables give the same guarantees there."""

import asyncio
from pathlib import Path

from bobstay.server.db.database_engines import connect, resolve
from bobstay.server.db.migration import migrate
from tests.server.auth.auth_server import AuthServer
from tests.server.db.postgres import Cluster


async def test_the_doors_keep_their_word_on_postgresql(cluster: Cluster, tmp_path: Path) -> None:
    """FM-46 and the codes that are good once, with the other database."""
    engines = connect(resolve(await cluster.new_database(), str(tmp_path)))
    await migrate(engines)
    async with AuthServer(tmp_path, engines.own) as auth_server:
        exchanges = [
            auth_server.ask("POST", "/api/v1/auth/exchange", {"Origin": auth_server.origin}, {"code": auth_server.code})
            for _ in range(6)
        ]
        replies = await asyncio.gather(*exchanges)
        assert sorted(reply.status for reply in replies) == [200] + [401] * 5
        page = await auth_server.enter(await auth_server.auth.start_code())
        id, bearer = await auth_server.token("read", lifetime=60)
        assert (await auth_server.ask("GET", "/api/v1/things", bearer)).status == 200
        await auth_server.auth.clients.store_last_seen()
        listed = (await auth_server.ask("GET", "/api/v1/auth/clients", page)).json["clients"]
        assert {client["id"]: client["last_seen"] for client in listed}[id] == auth_server.clock.now
        closed: list[str] = []
        auth_server.auth.track_connections(lambda: [id], closed.append)
        await auth_server.auth.close_revoked()
        assert closed == []
        assert (await auth_server.ask("DELETE", f"/api/v1/auth/clients/{id}", page)).status == 204
        assert closed[:1] == [id]
        assert (await auth_server.ask("GET", "/api/v1/things", bearer)).status == 401
        user = {"scopes": ["read"], "password": "correct horse battery"}
        puts = [auth_server.ask("PUT", "/api/v1/auth/users/ada", page, user) for _ in range(4)]
        assert {reply.status for reply in await asyncio.gather(*puts)} == {200}
        odd = {"name": "ada", "password": "correct\u0000horse"}
        assert (await auth_server.ask("POST", "/api/v1/auth/login", {"Origin": auth_server.origin}, odd)).status == 401
        nul = {"name": "a\u0000", "password": "correct horse battery"}
        assert (await auth_server.ask("POST", "/api/v1/auth/login", {"Origin": auth_server.origin}, nul)).status == 401
        assert (await auth_server.ask("DELETE", "/api/v1/auth/clients/%00", page)).status == 404
        assert (await auth_server.ask("DELETE", "/api/v1/auth/users/%00", page)).status == 404
        code = {"label": "a\u0000b"}
        assert (await auth_server.ask("POST", "/api/v1/auth/codes", page, code)).status == 422
