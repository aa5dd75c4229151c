"""A real web server on the loopback interface that says exactly what a test tells it to."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from msgspec import Struct


class ReceivedRequest(Struct):
    """A request as it came in."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class WebServer:
    """Answers by path. `None` for an answer means: say nothing and keep the connection open."""

    def __init__(self) -> None:
        self.answers: dict[str, bytes | None] = {}
        self.received: list[ReceivedRequest] = []
        self.port = 0
        self.open: set[asyncio.StreamWriter] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def page(self, path: str, body: str | bytes, kind: str = "text/html; charset=utf-8", extra: str = "") -> None:
        """Answer `path` with status 200 and this body."""
        raw = body.encode() if isinstance(body, str) else body
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(raw)}\r\n{extra}\r\n"
        self.answers[path] = head.encode() + raw

    def moved(self, path: str, target: str, status: int = 302) -> None:
        self.answers[path] = f"HTTP/1.1 {status} Moved\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n".encode()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open.add(writer)
        try:
            request = await self._request(reader)
            self.received.append(request)
            missing = b"HTTP/1.1 404 Not Found\r\nContent-Length: 7\r\n\r\nno page"
            answer = self.answers.get(request.path.partition("?")[0], missing)
            if answer is None:
                await reader.read()
            else:
                writer.write(answer)
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass  # the client went away, as it may
        finally:
            self.open.discard(writer)
            writer.close()

    async def _request(self, reader: asyncio.StreamReader) -> ReceivedRequest:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.rstrip("\r\n").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        method, path, _ = first.split(" ")
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        return ReceivedRequest(method, path, headers, body)


@asynccontextmanager
async def serving(context: ssl.SSLContext | None = None) -> AsyncIterator[WebServer]:
    """A `WebServer` that listens while the block runs."""
    site = WebServer()
    server = await asyncio.start_server(site.serve, "127.0.0.1", 0, ssl=context)
    site.port = server.sockets[0].getsockname()[1]
    async with server:
        yield site
        for writer in list(site.open):
            writer.transport.abort()
