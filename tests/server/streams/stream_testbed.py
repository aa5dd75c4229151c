"""A small server around the streams with real sockets and logs, and events to fill them with."""

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.requests import HTTPConnection
from starlette.routing import BaseRoute
from websockets.exceptions import ConnectionClosed

from bobstay.model.event import BlockDone, Durable, MessageDone, Noted, Prompted, RunDone, TurnStarted
from bobstay.model.message import Text, Usage
from bobstay.model.session_events import SessionConfig
from bobstay.server.api import sse_stream
from bobstay.server.api.browser_socket import websocket_route
from bobstay.server.api.dispatch import make_route
from bobstay.server.api.session_owner import LocalOwner
from bobstay.server.auth.audit_port import NoAuditLog, Refusals
from bobstay.server.auth.principal import OWNER, Principal, Scope
from bobstay.server.errors import ApiError
from bobstay.server.sessions.open_session import OpenSession
from bobstay.server.sessions.session_registry import SessionRegistry
from bobstay.server.streams.hub import Hub
from bobstay.server.streams.socket_protocol import StreamProtocol, listening_socket
from bobstay.server.streams.stream_publisher import StreamPublisher
from bobstay.server.streams.stream_server import StreamServer, server_options
from bobstay.server.streams.stream_timing import StreamTiming
from bobstay.server.streams.subscription import Streams
from bobstay.sessions.log_store import LogStore
from tests.kit.stream_client import stream_client
from tests.kit.waiting import DEADLINE, until
from tests.kit.watched_sessions import WatchedSessions, new_registry


class ShortGraceProtocol(StreamProtocol):
    """Gives a close half a second to complete."""

    grace = 0.5


class StubAuthorizer:
    """Authorizes everybody as `principal`, unless `error` is set."""

    def __init__(self) -> None:
        self.principal = OWNER
        self.error: ApiError | None = None

    async def admit(self, connection: HTTPConnection, scope: Scope | None = "read") -> Principal:
        if self.error is not None:
            raise self.error
        return self.principal


class _Services(msgspec.Struct):
    """What the endpoints of streams use."""

    auth: StubAuthorizer
    streams: Streams
    registry: SessionRegistry
    owners: LocalOwner = msgspec.field(default_factory=LocalOwner)
    audit: NoAuditLog = msgspec.field(default_factory=NoAuditLog)
    refusals: Refusals = msgspec.field(default_factory=lambda: Refusals(NoAuditLog()))


class StreamTestbed(WatchedSessions):
    """The server, at `url` and `port`."""

    def __init__(self, folder: Path, heartbeat: float = 15.0, more: tuple[BaseRoute, ...] = ()) -> None:
        self.folder = folder
        self.authorizer = StubAuthorizer()
        self.hub = Hub()
        publisher = StreamPublisher(self.hub)
        store = LogStore(str(folder / "sessions"))
        self.watch(new_registry(store, publisher), store)
        self.timing = StreamTiming.of(heartbeat)
        self.streams = Streams(self.registry, self.hub, publisher, "server-1", self.timing)
        services: Any = _Services(self.authorizer, self.streams, self.registry)
        routes = [
            websocket_route(self.streams, self.authorizer.admit),
            *(make_route(each, services) for each in sse_stream.ENDPOINTS),
            *more,
        ]
        self.app = Starlette(routes=routes)
        options = {**server_options(self.timing), "ws": ShortGraceProtocol, "log_level": "critical", "lifespan": "off"}
        self.server = StreamServer(uvicorn.Config(self.app, **options), self.hub)
        self.port = 0
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        listening = listening_socket("127.0.0.1", self.port)
        self.port = listening.getsockname()[1]
        self._task = asyncio.create_task(self.server.serve(sockets=[listening]))
        await until(lambda: self.server.started)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._end()
        self.streams.close()
        self.release_all()

    async def stop(self) -> None:
        self.server.should_exit = True
        if self._task is not None:
            await asyncio.wait_for(self._task, DEADLINE)

    async def _end(self) -> None:
        """At once: the way a server ends by itself has tests of its own."""
        if self._task is None or self._task.done():
            return
        for listening in self.server.servers:
            listening.close()
        self.hub.close_all()
        state = self.server.server_state
        for connection in tuple(state.connections):
            connection.transport.abort()
        await until(lambda: not state.connections and not state.tasks)
        self._task.cancel()
        await asyncio.wait([self._task])

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/api/v1/ws"

    def begin(self, id: str = "") -> OpenSession:
        return self.registry.create(str(self.folder), SessionConfig(), id=id)


def turn(number: int, block_count: int = 5) -> list[Durable]:
    """The events of a short turn."""
    message = f"message-{number}"
    blocks: list[Durable] = [
        BlockDone(message, index, Text(f"word {index} ü {number}")) for index in range(block_count)
    ]
    return [
        Prompted(f"prompt-{number}", (Text(f"do {number}"),)),
        TurnStarted(number, "demo", "default"),
        *blocks,
        MessageDone(message, "demo", "end_turn", Usage(input=100 * number, output=10)),
        RunDone("completed", "done"),
    ]


def fill(session: OpenSession, count: int) -> None:
    """Append entries until the log has `count`."""
    number = 0
    while session.seq < count:
        number += 1
        for event in turn(number):
            if session.seq < count:
                session.append(event)


async def publish(session: OpenSession, count: int, every: int = 1) -> None:
    """Append entries as fast as others let us."""
    for number in range(count):
        session.append(Noted(f"entry {number}"))
        if number % every == 0:
            await asyncio.sleep(0)


async def all_of(url: str, topic: str, count: int, drop_at: int = 0) -> list[bytes]:
    """The first `count` durable frames of a session, by a client that comes back with its cursor whenever it is closed.

    With `drop_at` it loses the connection after so many frames each time.
    """
    found: list[bytes] = []
    while len(found) < count:
        async with stream_client(url) as watcher:
            await watcher.say("subscribe", topic=topic, after=len(found))
            new = 0
            with suppress(ConnectionClosed):
                while len(found) < count and not (drop_at and new >= drop_at):
                    start = len(watcher.raw)
                    await asyncio.wait_for(watcher.receive(), DEADLINE)
                    for raw, frame in zip(watcher.raw[start:], watcher.frames[start:], strict=True):
                        if "seq" in frame and not (drop_at and new >= drop_at):
                            assert frame["seq"] == len(found) + 1, (frame["seq"], len(found))
                            found.append(raw)
                            new += 1
            watcher.cut()
    return found[:count]
