"""A request on a connection of its own, with exactly the given headers, and its reply."""

import asyncio
import json
from typing import Any

from msgspec import Struct

from tests.kit.waiting import DEADLINE


class HttpReply(Struct):
    status: int
    headers: dict[str, str]
    """By name in lower case; the first one of each name."""
    body: bytes

    def header(self, name: str) -> str:
        return self.headers.get(name, "")

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def code(self) -> str:
        """Of an error of the API."""
        return str(self.json["error"]["code"])


async def ask(port: int, method: str, path: str, headers: dict[str, str], body: Any = None) -> HttpReply:
    """Send these headers and no others, but for those of the body and the connection."""
    given = dict(headers)
    raw = b""
    if body is not None:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        given.setdefault("Content-Type", "application/json")
        given["Content-Length"] = str(len(raw))
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items())]
    return await exchange(port, "\r\n".join([*lines, "Connection: close", "", ""]).encode("latin-1") + raw)


async def exchange(port: int, request: bytes) -> HttpReply:
    """Send these bytes, and read until the server closes the connection."""
    async with asyncio.timeout(DEADLINE):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request)
        answer = await reader.read()
        writer.close()
        await writer.wait_closed()
    head, _, rest = answer.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers: dict[str, str] = {}
    for name, _, value in (line.partition(": ") for line in lines):
        headers.setdefault(name.lower(), value)
    if headers.get("transfer-encoding") == "chunked":
        rest = _unchunked(rest)
    return HttpReply(int(first.split()[1]), headers, rest)


def _unchunked(raw: bytes) -> bytes:
    pieces: list[bytes] = []
    while raw:
        size, _, raw = raw.partition(b"\r\n")
        length = int(size, 16)
        pieces.append(raw[:length])
        raw = raw[length + 2 :]
    return b"".join(pieces)
