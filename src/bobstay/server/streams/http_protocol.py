"""The HTTP server's protocol with limits: how long a request's headers may be, and how long it may take to arrive.

The parser underneath has none, and joins the pieces of a header anew with each: a long one costs quadratic time.
"""

import asyncio
from asyncio.transports import BaseTransport
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST_HEADER_BYTES = 64 * 1024
"""Of the request line and all headers together; also of what stands between the pieces of a body."""
HEADER_SECONDS = 10.0
"""From the first moment of a connection, or the first byte of a later request, until its headers are complete."""
BODY_PAUSE = 30.0
"""Seconds without a byte of a body that is not complete."""
BODY_SECONDS = 600.0
"""Seconds a whole body may take."""
MOST_INCOMPLETE = 512
"""Connections whose headers are not complete; for one more, the oldest of them is closed."""

TOO_LARGE = (b"431 Request Header Fields Too Large", b"The headers of a request may have at most 65536 bytes.")
TOO_SLOW = (b"408 Request Timeout", b"The request did not arrive in time.")
CROWDED = (b"503 Service Unavailable", b"Too many connections wait for their first request. Try again.")


class ConnectionLimits:
    """What the connections of one server share."""

    def __init__(
        self, header_seconds: float = HEADER_SECONDS, body_pause: float = BODY_PAUSE, most: int = MOST_INCOMPLETE
    ) -> None:
        self.header_seconds = header_seconds
        self.body_pause = body_pause
        self._most = most
        self._incomplete: dict[BoundedProtocol, None] = {}

    def waits(self, connection: "BoundedProtocol") -> None:
        """Its headers are not complete. Where there are too many such, the one that took longest goes."""
        if connection not in self._incomplete and len(self._incomplete) >= self._most:
            oldest = next(iter(self._incomplete))
            oldest.refuse(*CROWDED)
            self._incomplete.pop(oldest, None)
        self._incomplete[connection] = None

    def came(self, connection: "BoundedProtocol") -> None:
        self._incomplete.pop(connection, None)


class BoundedProtocol(HttpToolsProtocol):
    """Made by `bounded`, which gives each server its own limits."""

    limits: ConnectionLimits

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._unclaimed = 0
        """Bytes given to the parser since it last came to the end of something."""
        self._timer: asyncio.TimerHandle | None = None
        self._ended = False
        self._body_until = 0.0

    def connection_made(self, transport: BaseTransport) -> None:
        super().connection_made(transport)  # type: ignore[arg-type] # uvicorn narrows it to what it always is
        self._await_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        self._calm()
        self._ended = True
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        start = 0
        while start < len(data) and not self._ended and not self.transport.is_closing():
            piece = data[start : start + MOST_HEADER_BYTES]
            start += len(piece)
            self._unclaimed += len(piece)
            super().data_received(piece)
            if self._unclaimed > MOST_HEADER_BYTES:
                self.refuse(*TOO_LARGE)

    def handle_websocket_upgrade(self) -> None:
        self._calm()
        self._ended = True  # what follows is not for us
        super().handle_websocket_upgrade()

    def refuse(self, status: bytes, words: bytes) -> None:
        """End the connection, with an answer where none is under way."""
        self._calm()
        if self._ended or self.transport.is_closing():
            return
        self._ended = True
        cycle: Any = self.cycle  # none before the first request, whatever its type says
        if cycle is None or cycle.response_complete or not cycle.response_started:
            length = str(len(words)).encode()
            head = b"HTTP/1.1 " + status + b"\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: " + length
            self.transport.write(head + b"\r\nconnection: close\r\n\r\n" + words)
        self.transport.close()

    # ------------------------------------------------------------ what the parser tells

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._await_headers()

    def on_headers_complete(self) -> None:
        self._unclaimed = 0
        self._calm()
        super().on_headers_complete()
        self._body_until = self.loop.time() + BODY_SECONDS
        self._timer = self.loop.call_later(self.limits.body_pause, self._body_paused)

    def on_body(self, body: bytes) -> None:
        self._unclaimed = 0
        super().on_body(body)
        if self._timer is not None:
            self._timer.cancel()
        if self.loop.time() > self._body_until:
            self.refuse(*TOO_SLOW)
            return
        self._timer = self.loop.call_later(self.limits.body_pause, self._body_paused)

    def on_message_complete(self) -> None:
        self._unclaimed = 0
        self._calm()
        super().on_message_complete()

    # ------------------------------------------------------------ time

    def _await_headers(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(self.limits.header_seconds, lambda: self.refuse(*TOO_SLOW))
            self.limits.waits(self)

    def _body_paused(self) -> None:
        """Nothing of the body came for a while: that is the client's doing unless we did not read."""
        if self.flow.read_paused:
            self._timer = self.loop.call_later(self.limits.body_pause, self._body_paused)
            return
        self._timer = None
        self.refuse(*TOO_SLOW)

    def _calm(self) -> None:
        self.limits.came(self)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def bounded(limits: ConnectionLimits | None = None) -> type[BoundedProtocol]:
    """The protocol for one server. Give it to uvicorn as its `http`."""

    class Protocol(BoundedProtocol):
        pass

    Protocol.limits = limits or ConnectionLimits()
    return Protocol
