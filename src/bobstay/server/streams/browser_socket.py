"""The WebSocket of a browser tab: all topics over one connection, every message of the server an array of frames."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from msgspec import Struct
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from bobstay.server.api.dispatch import failure
from bobstay.server.auth.principal import Principal
from bobstay.server.errors import ApiError
from bobstay.server.streams.heartbeat import HeartbeatLoop
from bobstay.server.streams.hub import Closing, HubClient
from bobstay.server.streams.socket_protocol import EXTENSION, SHUTDOWN, Packer, StreamProtocol, array_of
from bobstay.server.streams.stream_frames import VERSION, live
from bobstay.server.streams.subscription import Cursor, Streams, Subscriptions, error_frame
from bobstay.server.streams.text_cutting import LEAST

log = logging.getLogger(__name__)

Admit = Callable[[WebSocket], Awaitable[Principal]]

PATH = "/api/v1/ws"
LARGEST_FRAME = 64 * 1024
"""Characters of a frame a client may send."""
CODES: dict[Closing, int] = {"revoked": 4001, "slow_consumer": 4008, "shutdown": SHUTDOWN}
"""With which code a connection is closed; the reason says the same in a word."""
POLITE = 5.0
"""Seconds a close may take over a protocol that is not ours."""


class Hello(Struct, frozen=True, tag="hello"):
    """The first frame of a client. A ticket, where one is needed, comes with the request that opens the connection."""

    protocol: int = VERSION
    ticket: str = ""
    cut: int = 0
    """Texts longer than this many characters come without their middle from now on; 0 is whole."""
    id: str = ""


class Subscribe(Struct, frozen=True, tag="subscribe"):
    topic: str
    after: Cursor = 0
    """The last `seq` the client has, the id of that entry, or `now`."""
    epoch: str = ""
    """As it came with `stream.synchronized`, if the client has been here before."""
    id: str = ""


class Unsubscribe(Struct, frozen=True, tag="unsubscribe"):
    topic: str
    id: str = ""


class Ping(Struct, frozen=True, tag="ping"):
    id: str = ""


_decoder = msgspec.json.Decoder(Hello | Subscribe | Unsubscribe | Ping)


def websocket_route(streams: Streams, admit: Admit, path: str = PATH, **facts: Any) -> WebSocketRoute:
    """The route of the one WebSocket of a tab. `facts` are told to clients in `server.hello`.

    `admit` says whose connection it is, or raises `ApiError`: then the request is answered with that error.
    """
    sockets = BrowserSockets(streams, facts)

    async def serve(websocket: WebSocket) -> None:
        try:
            principal = _may_watch(await admit(websocket))
        except ApiError as error:
            await websocket.send_denial_response(failure(error))
            return
        await websocket.accept()
        await sockets.serve(websocket, principal)

    return WebSocketRoute(path, serve, name="websocket")


def _may_watch(principal: Principal) -> Principal:
    if not principal.may("read"):
        raise ApiError("forbidden", "Watching needs the scope `read`.")
    return principal


class BrowserSockets:
    """All WebSockets of this server."""

    def __init__(self, streams: Streams, facts: dict[str, Any]) -> None:
        self._streams = streams
        self._timing = streams.timing
        self._facts = facts
        self._packer = Packer()

    async def serve(self, websocket: WebSocket, principal: Principal) -> None:
        """Serve an accepted connection until either side ends it. What runs in a session is not touched by that."""
        client = HubClient(principal.name, principal=principal)
        link = _link(websocket, self._packer)
        subscriptions = Subscriptions(self._streams, client)
        self._streams.hub.join(client)
        client.offer(self._hello())
        reading = asyncio.create_task(_Reading(websocket, client, subscriptions, self._hello).run())
        writing = asyncio.create_task(_write(client, link))
        beating = HeartbeatLoop(client, self._timing.heartbeat)
        ended = asyncio.create_task(client.ended.wait())
        tasks: set[asyncio.Task[Any]] = {reading, writing, ended}
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            beating.cancel()
            subscriptions.close()
            why = client.closed
            client.close("gone")
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            if why:
                await link.end(CODES.get(why, 1011), why)

    def _hello(self) -> bytes:
        said = {"server_id": self._streams.server_id, "protocol": VERSION, "now": time.time(), **self._facts}
        return live("server.hello", {**said, **msgspec.structs.asdict(self._timing)})


class _Reading:
    """What a client says. Nothing it says ends the connection."""

    def __init__(
        self, websocket: WebSocket, client: HubClient, subscriptions: Subscriptions, hello: Callable[[], bytes]
    ) -> None:
        self._websocket = websocket
        self._client = client
        self._subscriptions = subscriptions
        self._hello = hello

    async def run(self) -> None:
        while True:
            message = await self._websocket.receive()
            if message["type"] == "websocket.disconnect":
                return
            said: str | bytes = message.get("text") or message.get("bytes") or ""
            try:
                self._take(_decoded(said))
            except ApiError as error:
                self._client.offer(error_frame(error.problem, answers=_id_of(said)))

    def _take(self, frame: Hello | Subscribe | Unsubscribe | Ping) -> None:
        match frame:
            case Subscribe(topic=topic, after=after, epoch=epoch):
                self._subscriptions.add(topic, after, epoch)
            case Unsubscribe(topic=topic, id=id):
                self._subscriptions.drop(topic)
                self._client.offer(live("stream.left", {"topic": topic[:200], "id": id}, topic=topic[:200]))
            case Ping(id=id):
                self._client.offer(live("pong", {"id": id[:200]}))
            case Hello(protocol=protocol) if protocol != VERSION:
                text = f"This server speaks version {VERSION} of the stream, not {protocol}. Load the page again."
                raise ApiError("not_supported", text, protocol=VERSION)
            case Hello(cut=cut):
                self._client.cut = max(cut, LEAST) if cut > 0 else 0
                self._client.offer(self._hello())


def _decoded(said: str | bytes) -> Hello | Subscribe | Unsubscribe | Ping:
    if len(said) > LARGEST_FRAME:
        raise ApiError("too_large", f"A frame may have at most {LARGEST_FRAME} characters.", limit=LARGEST_FRAME)
    try:
        frame: Hello | Subscribe | Unsubscribe | Ping = _decoder.decode(said)
    except msgspec.ValidationError as error:
        raise ApiError("invalid", f"The frame is not as it should be: {error}") from None
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise ApiError("invalid_json", "Invalid JSON") from None
    return frame


class _Identified(Struct):
    id: str = ""


def _id_of(said: str | bytes) -> str:
    """By which a client knows what an error is about, if it gave its frame an id."""
    if len(said) > LARGEST_FRAME:
        return ""
    try:
        return msgspec.json.decode(said, type=_Identified).id[:200]
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return ""


async def _write(client: HubClient, link: "_Direct | _Plain") -> None:
    while frames := await client.take():
        if not await link.send(frames):
            return


class _Direct:
    """Writes to our own protocol: a message is packed once for all who get it."""

    def __init__(self, protocol: StreamProtocol, packer: Packer) -> None:
        self._protocol = protocol
        self._packer = packer

    async def send(self, frames: list[bytes]) -> bool:
        protocol = self._protocol
        if not protocol.writable.is_set():
            await protocol.writable.wait()
        return protocol.put(self._packer.pack(frames))

    async def end(self, code: int, reason: str) -> None:
        self._protocol.end(code, reason)


class _Plain:
    """Writes by way of ASGI: for servers whose protocol is not ours."""

    def __init__(self, websocket: WebSocket) -> None:
        self._websocket = websocket

    async def send(self, frames: list[bytes]) -> bool:
        try:
            await self._websocket.send_text(array_of(frames).decode())
        except (WebSocketDisconnect, RuntimeError):
            return False
        return True

    async def end(self, code: int, reason: str) -> None:
        with contextlib.suppress(WebSocketDisconnect, RuntimeError, TimeoutError):
            await asyncio.wait_for(self._websocket.close(code, reason), POLITE)


def _link(websocket: WebSocket, packer: Packer) -> _Direct | _Plain:
    protocol = websocket.scope.get("extensions", {}).get(EXTENSION)
    return _Direct(protocol, packer) if isinstance(protocol, StreamProtocol) else _Plain(websocket)
