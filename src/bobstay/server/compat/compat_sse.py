"""Compatibility event stream of a session, in the format of the first console: `data: <json>` and an empty line.

The cursor is sent in a separate block (`id: 12` and an empty line), which browsers store without an event.
"""

import asyncio
from typing import Any

from msgspec import Struct
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from bobstay.server.api.endpoint import ApiCall, Endpoint
from bobstay.server.api.services import Services
from bobstay.server.auth.principal import Principal
from bobstay.server.compat.compat_feed import HEARTBEAT, SYNCHRONIZED, CompatFeed, open_feed, subscribe_session
from bobstay.server.compat.frame_entry import Message
from bobstay.server.compat.legacy_events import LegacyEventEncoder
from bobstay.server.errors import ApiError
from bobstay.server.sessions.session_status import BUSY
from bobstay.server.streams.subscription import Streams
from bobstay.sessions.log import SessionMissing
from bobstay.sessions.log_codec import to_json

HEADERS = {"Cache-Control": "no-cache", "Connection": "keep-alive", "X-Accel-Buffering": "no"}
KEEPALIVE = b': keepalive\n\nevent: heartbeat\ndata: {"type":"heartbeat"}\n\n'
"""A comment, as the first console sent it, and an event, which a page can receive."""


class CompatStreamQuery(Struct, frozen=True):
    after: str = ""
    """A cursor; the header `Last-Event-ID` takes precedence. `now` skips the replay."""
    types: str = ""
    """Only events of these types, separated by commas."""
    until: str = ""
    """End the stream after a new event of this type, such as `done`; immediately if nothing runs."""


class GlobalQuery(CompatStreamQuery, frozen=True):
    session_id: str = ""


async def stream(call: ApiCall) -> Response:
    """Stream the events of a session."""
    return _answer(call, call.path["id"])


async def stream_events(call: ApiCall) -> Response:
    """Stream the events of the session `session_id`."""
    if not call.query.session_id:
        raise ApiError("invalid", "Name a session with session_id, or stream all of them from /api/v1/stream.")
    return _answer(call, call.query.session_id)


ENDPOINTS = (
    Endpoint(
        "GET", "/sessions/{id}/stream", stream, query=CompatStreamQuery, returns=Response, media="text/event-stream"
    ),
    Endpoint("GET", "/stream/events", stream_events, query=GlobalQuery, returns=Response, media="text/event-stream"),
)


def _answer(call: ApiCall, session_id: str) -> Response:
    try:
        call.services.registry.view(session_id)
    except SessionMissing:
        raise ApiError("not_found", "Session not found") from None
    after = call.request.headers.get("last-event-id") or call.query.after
    query = CompatStreamQuery(after, call.query.types, call.query.until)
    return CompatEventStream(call.services, call.services.streams, call.principal, session_id, query)


class CompatEventStream(Response):
    media_type = "text/event-stream"

    def __init__(
        self, services: Services, streams: Streams, principal: Principal, session_id: str, query: CompatStreamQuery
    ) -> None:
        super().__init__(headers=HEADERS)
        del self.headers["content-length"]
        self.headers["content-type"] = "text/event-stream"
        self._services = services
        self._streams = streams
        self._principal = principal
        self._session_id = session_id
        self._after = query.after
        self._types = frozenset(word.strip() for word in query.types.split(",") if word.strip())
        self._until = query.until

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": b"", "more_body": True})
        translator = LegacyEventEncoder(self._session_id, self._services.registry)
        async with open_feed(self._streams, self._principal, translator) as feed:
            await subscribe_session(self._streams, feed, self._session_id, self._after)
            gone = asyncio.create_task(_wait_disconnect(receive))
            ended = asyncio.create_task(feed.client.ended.wait())
            writing = asyncio.create_task(self._write(feed, send))
            tasks: set[asyncio.Task[Any]] = {gone, ended, writing}
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.wait(tasks)
        if gone.cancelled():
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _write(self, feed: CompatFeed, send: Send) -> None:
        runs = self._services.registry.view(self._session_id).status in BUSY
        happening = over = False
        while batch := await feed.next_batch():
            chunks: list[bytes] = []
            last = 0
            for seq, message in batch:
                last = seq or last
                happening = happening or message is SYNCHRONIZED
                chunks.append(self._encode(message))
                over = bool(self._until) and happening and (not runs or message["type"] == self._until)
                if over:
                    break
            if last:
                chunks.append(b"id: %d\n\n" % last)
            body = b"".join(chunks)
            if body:
                await send({"type": "http.response.body", "body": body, "more_body": True})
            if over:
                return

    def _encode(self, message: Message) -> bytes:
        if message is HEARTBEAT:
            return KEEPALIVE
        if message is SYNCHRONIZED or (self._types and message["type"] not in self._types):
            return b""
        return b"data: %b\n\n" % to_json(message)


async def _wait_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
