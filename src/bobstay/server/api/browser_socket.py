"""WebSocket of a browser tab: all topics over one connection; every message of the server is an array of frames."""

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

from bobstay.server.api.dispatch import error_response
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
"""Maximum characters of a frame from a client."""
CODES: dict[Closing, int] = {"revoked": 4001, "slow_consumer": 4008, "shutdown": SHUTDOWN}
"""Close codes by reason."""
CLOSE_TIMEOUT = 5.0
"""Seconds a close may take over a foreign protocol."""


class Hello(Struct, frozen=True, tag="hello"):
    """The first frame of a client. A ticket, if one is needed, comes with the request that opens the connection."""

    protocol: int = VERSION
    ticket: str = ""
    cut: int = 0
    """From now on the middle of texts with more characters is cut out; 0 disables it."""
    id: str = ""


class Subscribe(Struct, frozen=True, tag="subscribe"):
    topic: str
    after: Cursor = 0
    """The last `seq` the client has, the id of that entry, or `now`."""
    epoch: str = ""
    """The epoch from the last `stream.synchronized`, if the client was subscribed before."""
    id: str = ""


class Unsubscribe(Struct, frozen=True, tag="unsubscribe"):
    topic: str
    id: str = ""


class Ping(Struct, frozen=True, tag="ping"):
    id: str = ""


_decoder = msgspec.json.Decoder(Hello | Subscribe | Unsubscribe | Ping)


def websocket_route(streams: Streams, admit: Admit, path: str = PATH, **facts: Any) -> WebSocketRoute:
    """The route of the WebSocket. `facts` are sent to clients in `server.hello`.

    `admit` returns the principal of a connection, or raises the `ApiError` with which it is refused.
    """
    sockets = BrowserSockets(streams, facts)

    async def serve(websocket: WebSocket) -> None:
        try:
            principal = _require_read(await admit(websocket))
        except ApiError as error:
            await websocket.send_denial_response(error_response(error))
            return
        await websocket.accept()
        await sockets.serve(websocket, principal)

    return WebSocketRoute(path, serve, name="websocket")


def _require_read(principal: Principal) -> Principal:
    if not principal.may("read"):
        raise ApiError("forbidden", "Subscribing needs the scope `read`.")
    return principal


class BrowserSockets:
    """Serves all browser WebSockets of this server."""

    def __init__(self, streams: Streams, facts: dict[str, Any]) -> None:
        self._streams = streams
        self._timing = streams.timing
        self._facts = facts
        self._packer = Packer()

    async def serve(self, websocket: WebSocket, principal: Principal) -> None:
        """Serve an accepted connection until either side ends it. Sessions keep running."""
        client = HubClient(principal.name, principal=principal)
        link = _link(websocket, self._packer)
        subscriptions = Subscriptions(self._streams, client)
        self._streams.hub.add_client(client)
        client.offer(self._hello())
        reading = asyncio.create_task(_FrameReader(websocket, client, subscriptions, self._hello).run())
        writing = asyncio.create_task(_write(client, link))
        heartbeats = HeartbeatLoop(client, self._timing.heartbeat)
        ended = asyncio.create_task(client.ended.wait())
        tasks: set[asyncio.Task[Any]] = {reading, writing, ended}
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            heartbeats.cancel()
            subscriptions.close()
            why = client.closed
            client.close("gone")
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            if why:
                await link.end(CODES.get(why, 1011), why)

    def _hello(self) -> bytes:
        data = {"server_id": self._streams.server_id, "protocol": VERSION, "now": time.time(), **self._facts}
        return live("server.hello", {**data, **msgspec.structs.asdict(self._timing)})


class _FrameReader:
    """Reads a client's frames. Invalid ones get an error and do not end the connection."""

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
            raw: str | bytes = message.get("text") or message.get("bytes") or ""
            try:
                self._execute(_decode(raw))
            except ApiError as error:
                self._client.offer(error_frame(error.problem, answers=_id_of(raw)))

    def _execute(self, frame: Hello | Subscribe | Unsubscribe | Ping) -> None:
        match frame:
            case Subscribe(topic=topic, after=after, epoch=epoch):
                self._subscriptions.add(topic, after, epoch)
            case Unsubscribe(topic=topic, id=id):
                self._subscriptions.remove(topic)
                self._client.offer(live("stream.left", {"topic": topic[:200], "id": id}, topic=topic[:200]))
            case Ping(id=id):
                self._client.offer(live("pong", {"id": id[:200]}))
            case Hello(protocol=protocol) if protocol != VERSION:
                text = f"This server supports version {VERSION} of the stream, not {protocol}. Reload the page."
                raise ApiError("not_supported", text, protocol=VERSION)
            case Hello(cut=cut):
                self._client.cut = max(cut, LEAST) if cut > 0 else 0
                self._client.offer(self._hello())


def _decode(raw: str | bytes) -> Hello | Subscribe | Unsubscribe | Ping:
    if len(raw) > LARGEST_FRAME:
        raise ApiError("too_large", f"A frame may have at most {LARGEST_FRAME} characters.", limit=LARGEST_FRAME)
    try:
        frame: Hello | Subscribe | Unsubscribe | Ping = _decoder.decode(raw)
    except msgspec.ValidationError as error:
        raise ApiError("invalid", f"Invalid frame: {error}") from None
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise ApiError("invalid_json", "Invalid JSON") from None
    return frame


class _WithId(Struct):
    id: str = ""


def _id_of(raw: str | bytes) -> str:
    """The id of a client's frame, which its error repeats; empty if it has none."""
    if len(raw) > LARGEST_FRAME:
        return ""
    try:
        return msgspec.json.decode(raw, type=_WithId).id[:200]
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return ""


async def _write(client: HubClient, link: "_ProtocolLink | _AsgiLink") -> None:
    while frames := await client.next_batch():
        if not await link.send(frames):
            return


class _ProtocolLink:
    """Writes to `StreamProtocol`: a message is packed once for all its recipients."""

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


class _AsgiLink:
    """Writes through ASGI, for servers with another protocol."""

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
            await asyncio.wait_for(self._websocket.close(code, reason), CLOSE_TIMEOUT)


def _link(websocket: WebSocket, packer: Packer) -> _ProtocolLink | _AsgiLink:
    protocol = websocket.scope.get("extensions", {}).get(EXTENSION)
    return _ProtocolLink(protocol, packer) if isinstance(protocol, StreamProtocol) else _AsgiLink(websocket)
