"""Requests that never end: headers without an end, connections that say nothing, bodies that do not come."""

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from bobstay.server.streams.http_protocol import ConnectionLimits, bounded_protocol
from tests.kit.consoles import RunningConsole
from tests.kit.waiting import DEADLINE


async def answer(reader: asyncio.StreamReader) -> bytes:
    """All that comes until the other side closes."""
    async with asyncio.timeout(DEADLINE):
        try:
            return await reader.read()
        except ConnectionError:
            return b""


async def poured(server: RunningConsole, head: bytes, most: int = 8 * 1024 * 1024) -> tuple[bytes, int]:
    """Send `head` and then letters without end; what was answered, and how many letters were taken."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    sent = 0
    writer.write(head)
    try:
        while sent < most and not reader.at_eof():
            writer.write(b"x" * 65536)
            sent += 65536
            await asyncio.wait_for(writer.drain(), DEADLINE)
    except ConnectionError:
        pass
    data = await answer(reader)
    writer.close()
    return data, sent


@pytest.mark.parametrize(
    "head",
    [
        b"GET /api/v1/health HTTP/1.1\r\nHost: x\r\nX-Long: ",
        b"GET /api/v1/health?",
        b"GET /api/v1/health HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: upgrade\r\nX-Long: ",
        b"POST /api/v1/sessions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Trailer: ",
        b"POST /api/v1/sessions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1;extension=",
    ],
    ids=["header", "request-line", "upgrade", "trailer", "chunk-extension"],
)
async def test_headers_without_an_end_are_cut_off(server: RunningConsole, head: bytes) -> None:
    data, sent = await poured(server, head)
    assert sent < 8 * 1024 * 1024, "the connection was closed long before"
    assert data == b"" or data.startswith(b"HTTP/1.1 4"), data[:100]
    assert (await server.get("/api/v1/sessions")).status == 200


async def test_headers_that_are_a_little_too_long_are_answered_with_431(server: RunningConsole) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(b"GET /api/v1/health HTTP/1.1\r\nHost: x\r\nX-Long: " + b"x" * 66_000)
    data = await answer(reader)
    assert data.startswith(b"HTTP/1.1 431 "), data[:100]
    writer.close()


async def test_long_headers_and_large_bodies_within_the_limits_are_taken(server: RunningConsole) -> None:
    assert (await server.get("/api/v1/sessions", headers={**server.headers, "X-Long": "x" * 40_000})).status == 200
    prompt = "x" * 900_000
    made = await server.post("/api/v1/sessions", {"cwd": str(server.work), "append_system_prompt": prompt})
    assert made.status == 201


async def echo(_: Scope, receive: Receive, send: Send) -> None:
    """Answers each request once its body is there."""
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        more = message.get("more_body", False)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


@asynccontextmanager
async def small(limits: ConnectionLimits) -> AsyncGenerator[int]:
    """The port of a server with these limits."""
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(echo, interface="asgi3", http=bounded_protocol(limits), lifespan="off", log_config=None)
    http_server = uvicorn.Server(config)
    serving = asyncio.create_task(http_server.serve(sockets=[listener]))
    try:
        yield listener.getsockname()[1]
    finally:
        http_server.should_exit = True
        await serving


@pytest.mark.parametrize("data", [b"", b"GET / HTTP/1.1\r\nHost"])
async def test_a_connection_without_complete_headers_is_closed(data: bytes) -> None:
    async with small(ConnectionLimits(header_seconds=0.2)) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(data)
        assert (await answer(reader)).startswith(b"HTTP/1.1 408 ")
        writer.close()


async def test_a_second_request_that_does_not_end_is_closed_too() -> None:
    async with small(ConnectionLimits(header_seconds=0.2)) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b"ok" in await reader.readuntil(b"ok")
        writer.write(b"GET / HTTP/1.1\r\nHost")
        assert (await answer(reader)).startswith(b"HTTP/1.1 408 ")
        writer.close()


async def test_a_body_that_stops_coming_is_given_up() -> None:
    async with small(ConnectionLimits(body_pause=0.2)) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc")
        assert (await answer(reader)).startswith(b"HTTP/1.1 408 ")
        writer.close()


async def test_too_many_silent_connections_do_not_keep_others_out() -> None:
    async with small(ConnectionLimits(header_seconds=60, most=3)) as port:
        silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b"ok" in await reader.readuntil(b"ok")
        assert (await answer(silent[0][0])).startswith(b"HTTP/1.1 503 ")
        for _, other in (*silent, (reader, writer)):
            other.close()
