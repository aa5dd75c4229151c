"""A client of the console's WebSocket that follows the protocol."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from websockets.asyncio.client import ClientConnection, connect

from tests.kit.waiting import DEADLINE


class StreamClient:
    """One connection, and all frames that came over it."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self.frames: list[dict[str, Any]] = []
        self.raw: list[bytes] = []
        """The same frames as they came."""
        self.messages = 0
        self._position = 0

    async def say(self, kind: str, **fields: Any) -> None:
        await self.connection.send(msgspec.json.encode({"type": kind, **fields}).decode())

    async def follow(self, topic: str, after: int | str = 0, **fields: Any) -> dict[str, Any]:
        """Follow a topic; returns its `stream.synchronized`."""
        await self.say("subscribe", topic=topic, after=after, **fields)
        return await self.wait("stream.synchronized", topic=topic)

    async def wait(self, kind: str, **wanted: Any) -> dict[str, Any]:
        """The next frame of this type, after those waited for before."""
        return await self.wait_for(
            lambda frame: frame["type"] == kind and all(frame.get(name) == value for name, value in wanted.items())
        )

    async def wait_for(self, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        async with asyncio.timeout(DEADLINE):
            while True:
                while self._position < len(self.frames):
                    self._position += 1
                    if condition(self.frames[self._position - 1]):
                        return self.frames[self._position - 1]
                await self.receive()

    def rewind(self) -> None:
        """Wait for frames from the first one again."""
        self._position = 0

    async def receive(self) -> None:
        """Take in one message."""
        message = await self.connection.recv(decode=False)
        self.messages += 1
        raw = [bytes(part) for part in msgspec.json.decode(message, type=list[msgspec.Raw])]
        self.raw += raw
        self.frames += [msgspec.json.decode(part) for part in raw]

    def cut(self) -> None:
        """End the connection as a cable does that is pulled out."""
        self.connection.transport.abort()

    def durable(self) -> list[dict[str, Any]]:
        return [frame for frame in self.frames if "seq" in frame]

    def seqs(self) -> list[int]:
        return [frame["seq"] for frame in self.durable()]


@asynccontextmanager
async def stream_client(url: str, **options: Any) -> AsyncIterator[StreamClient]:
    """A connection that has been greeted."""
    options = {"compression": None, "max_size": None, "ping_interval": None, "proxy": None, **options}
    async with connect(url, **options) as connection:
        made = StreamClient(connection)
        await made.wait("server.hello")
        yield made
