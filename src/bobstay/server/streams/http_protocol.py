"""HTTP protocol with limits on the size of headers and on the time a request may take to arrive.

The underlying parser has no limits, and its time is quadratic in the length of a header that arrives in chunks.
"""

import asyncio
from asyncio.transports import BaseTransport
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST_HEADER_BYTES = 64 * 1024
"""Maximum bytes of the request line and all headers; also of the data between two chunks of a body."""
HEADER_SECONDS = 10.0
"""From the start of a connection, or the first byte of a later request, until its headers are complete."""
BODY_PAUSE = 30.0
"""Maximum seconds between two parts of a body."""
BODY_SECONDS = 600.0
"""Maximum seconds for a whole body."""
MOST_INCOMPLETE = 512
"""Connections with incomplete headers; when there are more, the oldest is closed."""

TOO_LARGE = (b"431 Request Header Fields Too Large", b"The headers of a request may have at most 65536 bytes.")
TOO_SLOW = (b"408 Request Timeout", b"The request did not arrive in time.")
CROWDED = (b"503 Service Unavailable", b"Too many connections wait for their first request. Try again.")


class ConnectionLimits:
    """Limits that the connections of one server share."""

    def __init__(
        self, header_seconds: float = HEADER_SECONDS, body_pause: float = BODY_PAUSE, most: int = MOST_INCOMPLETE
    ) -> None:
        self.header_seconds = header_seconds
        self.body_pause = body_pause
        self._most = most
        self._incomplete: dict[BoundedProtocol, None] = {}

    def add_incomplete(self, connection: "BoundedProtocol") -> None:
        """Register a connection with incomplete headers, and close the oldest if there are too many."""
        if connection not in self._incomplete and len(self._incomplete) >= self._most:
            oldest = next(iter(self._incomplete))
            oldest.refuse(*CROWDED)
            self._incomplete.pop(oldest, None)
        self._incomplete[connection] = None

    def remove_incomplete(self, connection: "BoundedProtocol") -> None:
        self._incomplete.pop(connection, None)


class BoundedProtocol(HttpToolsProtocol):
    """Created by `bounded_protocol`, which gives each server its own limits."""

    limits: ConnectionLimits

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._unparsed = 0
        """Bytes given to the parser since its last callback."""
        self._timer: asyncio.TimerHandle | None = None
        self._ended = False
        self._body_until = 0.0

    def connection_made(self, transport: BaseTransport) -> None:
        super().connection_made(transport)  # type: ignore[arg-type] # uvicorn narrows it to what it always is
        self._await_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self._ended = True
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        start = 0
        while start < len(data) and not self._ended and not self.transport.is_closing():
            piece = data[start : start + MOST_HEADER_BYTES]
            start += len(piece)
            self._unparsed += len(piece)
            super().data_received(piece)
            if self._unparsed > MOST_HEADER_BYTES:
                self.refuse(*TOO_LARGE)

    def handle_websocket_upgrade(self) -> None:
        self._stop_timer()
        self._ended = True  # later data belongs to the WebSocket protocol
        super().handle_websocket_upgrade()

    def refuse(self, status: bytes, text: bytes) -> None:
        """Close the connection, with an error response unless one has already begun."""
        self._stop_timer()
        if self._ended or self.transport.is_closing():
            return
        self._ended = True
        cycle: Any = self.cycle  # None before the first request, despite its type
        if cycle is None or cycle.response_complete or not cycle.response_started:
            length = str(len(text)).encode()
            head = b"HTTP/1.1 " + status + b"\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: " + length
            self.transport.write(head + b"\r\nconnection: close\r\n\r\n" + text)
        self.transport.close()

    # ------------------------------------------------------------ callbacks of the parser

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._await_headers()

    def on_headers_complete(self) -> None:
        self._unparsed = 0
        self._stop_timer()
        super().on_headers_complete()
        self._body_until = self.loop.time() + BODY_SECONDS
        self._timer = self.loop.call_later(self.limits.body_pause, self._body_paused)

    def on_body(self, body: bytes) -> None:
        self._unparsed = 0
        super().on_body(body)
        if self._timer is not None:
            self._timer.cancel()
        if self.loop.time() > self._body_until:
            self.refuse(*TOO_SLOW)
            return
        self._timer = self.loop.call_later(self.limits.body_pause, self._body_paused)

    def on_message_complete(self) -> None:
        self._unparsed = 0
        self._stop_timer()
        super().on_message_complete()

    # ------------------------------------------------------------ time

    def _await_headers(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(self.limits.header_seconds, lambda: self.refuse(*TOO_SLOW))
            self.limits.add_incomplete(self)

    def _body_paused(self) -> None:
        """No data of the body came for a while: the client is too slow, unless reading was paused here."""
        if self.flow.read_paused:
            self._timer = self.loop.call_later(self.limits.body_pause, self._body_paused)
            return
        self._timer = None
        self.refuse(*TOO_SLOW)

    def _stop_timer(self) -> None:
        self.limits.remove_incomplete(self)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def bounded_protocol(limits: ConnectionLimits | None = None) -> type[BoundedProtocol]:
    """The protocol class for one server. Pass it to uvicorn as `http`."""

    class Protocol(BoundedProtocol):
        pass

    Protocol.limits = limits or ConnectionLimits()
    return Protocol
