"""Clients of the compatibility routes that read exactly what is on the wire."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

from tests.kit.consoles import RunningConsole
from tests.kit.waiting import DEADLINE

Message = dict[str, Any]


class Sse:
    """A stream of server-sent events, read as bytes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.status = 0
        self.headers: dict[str, str] = {}
        self.blocks: list[str] = []
        """Everything between empty lines."""
        self._waiting: list[str] = []

    async def begin(self) -> None:
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        self.status = int(head[0].split()[1])
        self.headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:])}

    async def block(self) -> str | None:
        """The next block; None at the end. Each is one or more whole chunks of HTTP."""
        while not self._waiting:
            size = int((await self._reader.readline()).strip() or b"0", 16)
            data = await self._reader.readexactly(size)
            await self._reader.readline()
            if not size:
                return None
            assert data.endswith(b"\n\n")
            self._waiting += data.decode()[:-2].split("\n\n")
        block = self._waiting.pop(0)
        self.blocks.append(block)
        return block

    async def until(self, wanted: Callable[[Message], bool]) -> list[Message]:
        """The events up to the first that is wanted."""
        found: list[Message] = []
        async with asyncio.timeout(DEADLINE):
            while (block := await self.block()) is not None:
                if block.startswith("data: "):
                    found.append(json.loads(block.removeprefix("data: ")))
                    if wanted(found[-1]):
                        return found
        raise AssertionError(f"the stream ended: {found}")

    async def rest(self) -> list[Message]:
        """All events up to the end of the stream."""
        found: list[Message] = []
        async with asyncio.timeout(DEADLINE):
            while (block := await self.block()) is not None:
                if block.startswith("data: "):
                    found.append(json.loads(block.removeprefix("data: ")))
        return found

    @property
    def cursor(self) -> str:
        """What a browser would send as Last-Event-ID."""
        return [block for block in self.blocks if block.startswith("id: ")][-1].removeprefix("id: ")


@asynccontextmanager
async def sse(server: RunningConsole, path: str, headers: dict[str, str] | None = None) -> AsyncIterator[Sse]:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=16 * 1024 * 1024)
    given = {"Host": server.host, **server.headers, **(headers or {})}
    lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items()), "", ""]
    writer.write("\r\n".join(lines).encode())
    stream = Sse(reader, writer)
    async with asyncio.timeout(DEADLINE):
        await stream.begin()
    try:
        yield stream
    finally:
        writer.close()
        await writer.wait_closed()


class Socket:
    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self.received: list[Message] = []

    async def send(self, message: Message | str) -> None:
        await self.connection.send(message if isinstance(message, str) else json.dumps(message))

    async def until(self, wanted: Callable[[Message], bool]) -> list[Message]:
        """The messages up to the first that is wanted."""
        found: list[Message] = []
        async with asyncio.timeout(DEADLINE):
            while True:
                found.append(json.loads(await self.connection.recv()))
                self.received.append(found[-1])
                if wanted(found[-1]):
                    return found


@asynccontextmanager
async def socket(server: RunningConsole, path: str, headers: dict[str, str] | None = None) -> AsyncIterator[Socket]:
    given = server.headers if headers is None else headers
    async with connect(f"ws://{server.host}{path}", additional_headers=given, proxy=None) as connection:
        yield Socket(connection)


def of_type(name: str, **fields: Any) -> Callable[[Message], bool]:
    return lambda message: message["type"] == name and all(message.get(key) == value for key, value in fields.items())
