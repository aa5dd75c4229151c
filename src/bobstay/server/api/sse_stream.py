"""Server-sent events: the frames of the streams for scripts, `curl` and other clients without WebSocket."""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from bobstay.server.api.endpoint import ApiCall, Endpoint
from bobstay.server.auth.principal import Principal
from bobstay.server.errors import ApiError
from bobstay.server.streams import heartbeat
from bobstay.server.streams.heartbeat import HeartbeatLoop
from bobstay.server.streams.hub import HubClient
from bobstay.server.streams.session_changes import APP
from bobstay.server.streams.stream_frames import SESSION, Head, head_of
from bobstay.server.streams.subscription import NOW, Streams, Subscriptions, is_number

HEADERS = {
    "Cache-Control": "no-cache, no-transform",
    "X-Accel-Buffering": "no",
    "X-Content-Type-Options": "nosniff",
}
RETRY = b"retry: 1000\n\n"
MOST_SESSIONS = 50
ALWAYS = ("stream.", "server.", "error")
"""Types that no filter removes, because clients need them to keep their position."""
MARKS = ("stream.synchronized", "stream.reset")
"""Types that contain the client's position as `seq`."""
CLOSE_TIMEOUT = 2.0
"""Seconds the final event may take."""


class StreamQuery(Struct, frozen=True):
    after: str = ""
    """A cursor: the `id` of the last event. The header `Last-Event-ID` takes precedence."""
    session_id: str = ""
    """Sessions, separated by commas; empty for all."""
    types: str = ""
    """Types of events, separated by commas; `tool.*` matches all that begin with `tool.`; empty for all."""


class SessionStreamQuery(Struct, frozen=True):
    after: str = ""
    """A cursor: the `id` of the last event. The header `Last-Event-ID` takes precedence."""
    types: str = ""
    """Types of events, separated by commas; `tool.*` matches all that begin with `tool.`; empty for all."""


async def stream_events(call: ApiCall) -> Response:
    """Stream the events of some sessions, or of all."""
    query: StreamQuery = call.query
    ids = tuple(dict.fromkeys(name for name in query.session_id.split(",") if name))
    return event_stream(call.services.streams, call.request, call.principal, ids, query.after, query.types)


async def stream_session_events(call: ApiCall) -> Response:
    """Stream the events of a session."""
    query: SessionStreamQuery = call.query
    ids = (call.path["id"],)
    return event_stream(call.services.streams, call.request, call.principal, ids, query.after, query.types)


ENDPOINTS = (
    Endpoint("GET", "/stream", stream_events, query=StreamQuery, returns=Response, media="text/event-stream"),
    Endpoint(
        "GET",
        "/sessions/{id}/stream",
        stream_session_events,
        query=SessionStreamQuery,
        returns=Response,
        errors=("not_found",),
        media="text/event-stream",
    ),
)


def event_stream(
    streams: Streams, request: Request, principal: Principal, ids: tuple[str, ...], after: str = "", types: str = ""
) -> "EventStream":
    """The response that streams the events of the sessions `ids`, or of all if empty.

    Raises:
        SessionMissing: one of them does not exist.
        ApiError: there are too many.
    """
    if len(ids) > MOST_SESSIONS:
        raise ApiError("too_many", f"A stream has at most {MOST_SESSIONS} sessions. Leave out `session_id` for all.")
    for id in ids:
        streams.registry.view(id)
    cursor = request.headers.get("last-event-id") or after
    client = HubClient(principal.name, principal=principal)
    if ids:
        return EventStream(streams, client, _Sessions(ids, cursor), type_filter(types))
    return EventStream(streams, client, _Everything(cursor), type_filter(types))


def type_filter(types: str) -> Callable[[str], bool]:
    """A predicate for types of events, from a list separated by commas."""
    patterns = [pattern.strip() for pattern in types.split(",") if pattern.strip()]
    names = {pattern for pattern in patterns if not pattern.endswith("*")}
    beginnings = tuple(pattern[:-1] for pattern in patterns if pattern.endswith("*"))
    if not patterns:
        return lambda _: True
    return lambda name: name in names or name.startswith((*beginnings, *ALWAYS))


class _Sessions:
    """Position in some sessions. The cursor of one is its `seq`; of several, `id:seq` separated by commas."""

    def __init__(self, ids: tuple[str, ...], cursor: str) -> None:
        self._given = dict.fromkeys(ids, cursor if len(ids) == 1 or cursor == NOW else "")
        if len(ids) > 1:
            for word in cursor.split(","):
                id, _, seq = word.rpartition(":")
                if id in self._given:
                    self._given[id] = seq
        self._seen = {id: int(seq) for id, seq in self._given.items() if is_number(seq)}

    def begin(self, streams: Streams, client: HubClient, subscriptions: Subscriptions) -> None:
        for id, after in self._given.items():
            subscriptions.add(SESSION + id, after)

    def advance(self, head: Head, frame: bytes) -> None:
        """Move the cursor past a frame, sent or filtered."""
        if head.seq:
            self._seen[head.session_id] = head.seq
        elif head.type in MARKS:
            self._seen[head.session_id] = _seq_in(frame)

    @property
    def cursor(self) -> str:
        """Numbers only, in the requested order: other text from a client is never sent back."""
        if len(self._given) == 1:
            return str(next(iter(self._seen.values()), ""))
        return ",".join(f"{id}:{self._seen[id]}" for id in self._given if id in self._seen)


class _Everything:
    """Position in the stream of all sessions. The cursor is valid for this run of the server and its ring buffer."""

    def __init__(self, cursor: str) -> None:
        self._given = cursor
        self._number = 0
        self._server = ""

    def begin(self, streams: Streams, client: HubClient, subscriptions: Subscriptions) -> None:
        subscriptions.add(APP)
        self._server = streams.server_id
        self._number = streams.subscribe_all(client, self._given)

    def advance(self, head: Head, frame: bytes) -> None:
        if head.seq:
            self._number += 1

    @property
    def cursor(self) -> str:
        return f"{self._server}-{self._number}"


class EventStream(Response):
    """Runs until the client disconnects or is closed, and cleans up after itself."""

    media_type = "text/event-stream"

    def __init__(
        self, streams: Streams, client: HubClient, position: _Sessions | _Everything, shown: Callable[[str], bool]
    ) -> None:
        super().__init__(headers=HEADERS)
        del self.headers["content-length"]
        self._streams = streams
        self._client = client
        self._position = position
        self._shown = shown

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        client = self._client
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": RETRY, "more_body": True})
        subscriptions = Subscriptions(self._streams, client)
        self._streams.hub.add_client(client)
        self._position.begin(self._streams, client, subscriptions)
        heartbeats = HeartbeatLoop(client, self._streams.timing.heartbeat)
        ended = asyncio.create_task(client.ended.wait())
        gone = asyncio.create_task(_wait_disconnect(receive))
        tasks: set[asyncio.Task[Any]] = {ended, gone, asyncio.create_task(self._write(send))}
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
        if not gone.done() or gone.cancelled():
            await self._send_closed(send, why)

    async def _write(self, send: Send) -> None:
        while frames := await self._client.next_batch():
            body = b"".join(event for frame in frames if (event := self._event(frame)))
            if body:
                await send({"type": "http.response.body", "body": body, "more_body": True})

    def _event(self, frame: bytes) -> bytes:
        head = head_of(frame)
        self._position.advance(head, frame)
        if not self._shown(head.type):
            return b""
        name = b"event: heartbeat\n" if head.type == heartbeat.NAME else b""
        if head.seq or name or head.type in MARKS:
            cursor = self._position.cursor
            name += b"id: %b\n" % cursor.encode() if cursor else b""
        return b"%bdata: %b\n\n" % (name, frame)

    async def _send_closed(self, send: Send, why: str) -> None:
        body = b'event: closed\ndata: {"reason":"%b"}\n\n' % why.encode()
        try:
            await asyncio.wait_for(
                send({"type": "http.response.body", "body": body, "more_body": False}), CLOSE_TIMEOUT
            )
        except TimeoutError:
            return  # the client does not read; the server closes the connection


async def _wait_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


class _Mark(Struct):
    seq: int = 0


class _MarkFrame(Struct):
    data: _Mark


def _seq_in(frame: bytes) -> int:
    return msgspec.json.decode(frame, type=_MarkFrame).data.seq
