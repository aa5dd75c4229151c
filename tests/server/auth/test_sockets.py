"""Sockets and streams: who may open one, tickets, and that revoking closes them."""

import asyncio
import logging
from itertools import product
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Origin

from bobstay.server.auth import authorization
from bobstay.server.auth.principal import OWNER
from tests.kit.waiting import DEADLINE, until
from tests.server.auth.auth_server import AuthServer


async def status_of(auth_server: AuthServer, path: str, **options: Any) -> int:
    """101 if the socket opens, else the status it was refused with."""
    try:
        async with connect(auth_server.ws(path), proxy=None, **options):
            return 101
    except InvalidStatus as refused:
        return refused.response.status_code


async def closing_of(socket: ClientConnection) -> int:
    """The code a socket is closed with."""
    async with asyncio.timeout(DEADLINE):
        try:
            while True:
                await socket.recv()
        except ConnectionClosed as closed:
            return closed.rcvd.code if closed.rcvd else 0


async def test_fm_42_another_page_cannot_open_a_socket(auth_server: AuthServer) -> None:
    """FM-42: cross-site WebSocket hijacking; the browser adds the cookie, the Origin gives it away."""
    page = await auth_server.enter()
    _, bearer = await auth_server.token("admin")
    origins = ("https://evil.example", "null", "http://localhost:5173", "http://localhost.evil.com")
    for origin, shown in product(origins, ({"Cookie": page["Cookie"]}, bearer, {})):
        assert await status_of(auth_server, "/api/v1/ws", origin=origin, additional_headers=shown) == 403
    assert not auth_server.open_sockets


async def test_fm_42_a_cookie_without_an_origin_opens_no_socket(auth_server: AuthServer) -> None:
    """FM-42: a missing Origin is refused too, whatever else the client says about itself."""
    cookie = {"Cookie": (await auth_server.enter())["Cookie"]}
    for more in ({}, {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}):
        assert await status_of(auth_server, "/api/v1/ws", additional_headers={**cookie, **more}) == 401
    cross = {**cookie, "Sec-Fetch-Site": "cross-site"}
    assert await status_of(auth_server, "/api/v1/ws", origin=auth_server.origin, additional_headers=cross) == 403


async def test_our_own_page_and_a_token_open_sockets(auth_server: AuthServer) -> None:
    page = await auth_server.enter()
    _, bearer = await auth_server.token("read")
    cookie = {"Cookie": page["Cookie"]}
    assert await status_of(auth_server, "/api/v1/ws", origin=auth_server.origin, additional_headers=cookie) == 101
    assert await status_of(auth_server, "/api/v1/ws", additional_headers=bearer) == 101
    assert await status_of(auth_server, "/api/v1/ws", origin=auth_server.origin) == 401


async def test_a_socket_needs_its_scope_too(auth_server: AuthServer) -> None:
    _, bearer = await auth_server.token("read", "operate", "approve")
    assert await status_of(auth_server, "/api/v1/pty", additional_headers=bearer) == 403
    _, bearer = await auth_server.token("terminal")
    assert await status_of(auth_server, "/api/v1/pty", additional_headers=bearer) == 101


async def ticket(auth_server: AuthServer, shown: dict[str, str], path: str = "/api/v1/ws") -> str:
    reply = await auth_server.ask("POST", "/api/v1/auth/tickets", shown, {"path": path})
    assert reply.status == 201, reply.body
    assert reply.json["expires_at"] <= auth_server.clock.now + 30
    return str(reply.json["ticket"])


async def test_fm_45_a_ticket_is_good_once(auth_server: AuthServer) -> None:
    """FM-45: a one-time ticket instead of a token in the URL; single use."""
    _, bearer = await auth_server.token("read")
    secret = await ticket(auth_server, bearer)
    assert await status_of(auth_server, f"/api/v1/ws?ticket={secret}") == 101
    assert await status_of(auth_server, f"/api/v1/ws?ticket={secret}") == 401


async def test_fm_45_a_ticket_is_good_for_its_path_only(auth_server: AuthServer) -> None:
    """FM-45: bound to its path; shown elsewhere it is spent."""
    _, bearer = await auth_server.token("read", "terminal")
    secret = await ticket(auth_server, bearer)
    assert await status_of(auth_server, f"/api/v1/pty?ticket={secret}") == 401
    assert await status_of(auth_server, f"/api/v1/ws?ticket={secret}") == 401


async def test_fm_45_a_ticket_expires_within_thirty_seconds(auth_server: AuthServer) -> None:
    """FM-45: at most 30 s."""
    _, bearer = await auth_server.token("read")
    early, late = await ticket(auth_server, bearer), await ticket(auth_server, bearer)
    auth_server.clock.now += 29
    assert await status_of(auth_server, f"/api/v1/ws?ticket={early}") == 101
    auth_server.clock.now += 1
    assert await status_of(auth_server, f"/api/v1/ws?ticket={late}") == 401


async def test_fm_45_of_many_with_the_same_ticket_one_gets_in(auth_server: AuthServer) -> None:
    """FM-45: single use under a race."""
    _, bearer = await auth_server.token("read")
    secret = await ticket(auth_server, bearer)
    tries = await asyncio.gather(*(status_of(auth_server, f"/api/v1/ws?ticket={secret}") for _ in range(8)))
    assert sorted(tries) == [101] + [401] * 7


async def test_fm_45_a_ticket_brings_no_more_than_its_owner_may(auth_server: AuthServer) -> None:
    """FM-45, FM-44: scopes are those the server gave the owner, and end with them."""
    id, bearer = await auth_server.token("read")
    secret = await ticket(auth_server, bearer, "/api/v1/pty")
    assert await status_of(auth_server, f"/api/v1/pty?ticket={secret}") == 403
    secret = await ticket(auth_server, bearer)
    await auth_server.auth.revoke(id, "test")
    assert await status_of(auth_server, f"/api/v1/ws?ticket={secret}") == 401


async def test_fm_45_a_ticket_does_not_show_in_the_log(
    auth_server: AuthServer, caplog: pytest.LogCaptureFixture
) -> None:
    """FM-45: taken out of the address before anybody writes it down; the rest of the query stays."""
    caplog.set_level(logging.DEBUG, "uvicorn.access")
    caplog.set_level(logging.INFO, "uvicorn.error")
    _, bearer = await auth_server.token("read")
    for path in ("/api/v1/ws", "/api/v1/stream"):
        secret = await ticket(auth_server, bearer, path)
        address = f"{path}?after=7&ticket={secret}&x=%20y"
        if path.endswith("ws"):
            assert await status_of(auth_server, address) == 101
        else:
            assert (await auth_server.ask("GET", address)).body == b"data: token:test\n\n"
        assert f"{path}?after=7&x=+y" in caplog.text
        assert secret not in caplog.text


async def test_a_ticket_changes_nothing(auth_server: AuthServer) -> None:
    _, bearer = await auth_server.token("operate")
    secret = await ticket(auth_server, bearer, "/api/v1/act")
    assert (await auth_server.ask("POST", f"/api/v1/act?ticket={secret}", body={})).status == 401
    assert auth_server.app.state.acts == []


async def test_tickets_are_limited(auth_server: AuthServer) -> None:
    _, bearer = await auth_server.token("read")
    replies = [await auth_server.ask("POST", "/api/v1/auth/tickets", bearer, {"path": "/x"}) for _ in range(51)]
    assert [reply.status for reply in replies[49:]] == [201, 429]
    auth_server.clock.now += 31
    assert (await auth_server.ask("POST", "/api/v1/auth/tickets", bearer, {"path": "/x"})).status == 201
    for path in ("x", "", "/" * 2000):
        assert (await auth_server.ask("POST", "/api/v1/auth/tickets", bearer, {"path": path})).status == 422


async def test_fm_46_revoking_a_client_closes_its_sockets_and_no_others(auth_server: AuthServer) -> None:
    """FM-46: a revoked token is worth nothing at once: neither for requests nor for what it has open."""
    page = await auth_server.enter()
    id, bearer = await auth_server.token("read")
    _, other = await auth_server.token("read")
    async with (
        connect(auth_server.ws("/api/v1/ws"), additional_headers=bearer, proxy=None) as one,
        connect(auth_server.ws("/api/v1/ws"), additional_headers=bearer, proxy=None) as two,
        connect(auth_server.ws("/api/v1/ws"), additional_headers=other, proxy=None) as third,
    ):
        for socket in (one, two, third):
            assert await socket.recv() == "token:test"
        assert (await auth_server.ask("DELETE", f"/api/v1/auth/clients/{id}", page)).status == 204
        for socket in (one, two):
            assert await closing_of(socket) == 4001
        assert (await auth_server.ask("GET", "/api/v1/things", bearer)).status == 401
        await (await third.ping())
        assert (await auth_server.ask("GET", "/api/v1/things", other)).status == 200
    assert ("owner", "auth.revoked", {"client": id}) in auth_server.audit.entries


def test_fm_46_another_process_is_looked_for_twice_a_second() -> None:
    """FM-46: what it revoked is closed within a second."""
    assert authorization.REVOCATION_INTERVAL <= 0.5


async def test_fm_46_whoever_has_connections_open_is_told_at_once(auth_server: AuthServer) -> None:
    """FM-46: by the revocation itself, before anybody looks."""
    await auth_server.auth.close()
    id, _ = await auth_server.token("read")
    revoked: list[str] = []
    auth_server.auth.track_connections(lambda: [id], revoked.append)
    await auth_server.auth.close_revoked()
    assert revoked == []
    await auth_server.auth.revoke(id, "test")
    assert revoked == [id]


async def test_fm_46_many_connections_of_one_keeper_are_looked_after_too(auth_server: AuthServer) -> None:
    """FM-46: revoked by another process, and kept by a hub."""
    await auth_server.auth.close()
    id, _ = await auth_server.token("read")
    revoked: list[str] = []
    auth_server.auth.track_connections(lambda: [id, OWNER.client, ""], revoked.append)
    await auth_server.auth.clients.revoke(id)
    await auth_server.auth.close_revoked()
    assert revoked == [id]


async def test_fm_46_a_ticket_s_socket_ends_with_the_token_behind_it(auth_server: AuthServer) -> None:
    """FM-46: whatever way it was opened."""
    id, bearer = await auth_server.token("read")
    secret = await ticket(auth_server, bearer)
    async with connect(auth_server.ws(f"/api/v1/ws?ticket={secret}"), proxy=None) as socket:
        assert await socket.recv() == "token:test"
        await auth_server.auth.revoke(id, "test")
        assert await closing_of(socket) == 4001


async def test_fm_46_signing_out_closes_what_the_browser_has_open(auth_server: AuthServer) -> None:
    """FM-46: logout is a revocation of oneself."""
    page = await auth_server.enter()
    cookie = {"Cookie": page["Cookie"]}
    address, origin = auth_server.ws("/api/v1/ws"), Origin(auth_server.origin)
    async with connect(address, origin=origin, additional_headers=cookie, proxy=None) as socket:
        assert await socket.recv() == "owner"
        reply = await auth_server.ask("POST", "/api/v1/auth/logout", page)
        assert reply.status == 200
        assert "Max-Age=0" in reply.header("set-cookie")
        assert await closing_of(socket) == 4001
    assert (await auth_server.ask("GET", "/api/v1/auth/me", page)).status == 401


async def test_fm_46_what_expires_is_closed_too(auth_server: AuthServer) -> None:
    """FM-46: a token that ends by itself takes its sockets with it."""
    _, bearer = await auth_server.token("read", lifetime=60)
    async with connect(auth_server.ws("/api/v1/ws"), additional_headers=bearer, proxy=None) as socket:
        assert await socket.recv() == "token:test"
        auth_server.clock.now += 61
        assert await closing_of(socket) == 4001
    assert (await auth_server.ask("GET", "/api/v1/things", bearer)).status == 401


async def test_nobody_is_thrown_out_because_the_tables_could_not_be_asked(auth_server: AuthServer) -> None:
    """FM-32's rule for authentication: an unreachable database does not mean that a client was revoked."""
    _, bearer = await auth_server.token("read")
    async with connect(auth_server.ws("/api/v1/ws"), additional_headers=bearer, proxy=None) as socket:
        assert await socket.recv() == "token:test"
        async with auth_server.engine.begin() as connection:
            await connection.exec_driver_sql("ALTER TABLE auth_clients RENAME TO elsewhere")
        with pytest.raises(Exception, match="database"):
            await auth_server.auth.close_revoked()
        await (await socket.ping())
        async with auth_server.engine.begin() as connection:
            await connection.exec_driver_sql("ALTER TABLE elsewhere RENAME TO auth_clients")
        await auth_server.auth.close_revoked()
        await (await socket.ping())


async def test_nothing_is_left_behind_by_sockets_that_come_and_go(auth_server: AuthServer) -> None:
    _, bearer = await auth_server.token("read")
    for _ in range(20):
        async with connect(auth_server.ws("/api/v1/ws"), additional_headers=bearer, proxy=None) as socket:
            await socket.recv()
    await until(lambda: not auth_server.open_sockets)
