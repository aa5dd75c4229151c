"""The HTTP server's WebSocket protocol with what streams to many need: one packing for all, an end to stuck sockets.

A socket whose other side does not read keeps what was written to it for ever; closing it politely waits for just that.
Here a closing that does not get through is followed by an abort.
"""

import asyncio
import socket
from asyncio.transports import BaseTransport
from typing import Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame, Opcode
from websockets.http11 import Request

EXTENSION = "bobstay.stream"
"""Under this name an application finds the protocol in `scope["extensions"]`."""
HIGH_WATER = 64 * 1024
LOW_WATER = 16 * 1024
GRACE = 5.0
"""Seconds a close may take to get through."""
SHUTDOWN_GRACE = 1.0
SHUTDOWN = 4012
SEND_BUFFER = 256 * 1024
"""Bytes the kernel may hold for one socket: a client that stalls is to be noticed, not hidden."""
DEAD_AFTER_MS = 60_000
"""After so long without an acknowledgement, or with a window shut, the kernel gives a connection up."""


class StreamProtocol(WebSocketsSansIOProtocol):
    """Give it to the HTTP server as its `ws`."""

    grace = GRACE

    def connection_made(self, transport: BaseTransport) -> None:
        super().connection_made(transport)
        self.transport.set_write_buffer_limits(HIGH_WATER, LOW_WATER)
        self._end: asyncio.TimerHandle | None = None

    def connection_lost(self, exc: Exception | None) -> None:
        if self._end is not None:
            self._end.cancel()
        super().connection_lost(exc)

    def handle_connect(self, event: Request) -> None:
        super().handle_connect(event)
        scope: Any = getattr(self, "scope", None)
        if scope is not None:
            scope["extensions"][EXTENSION] = self

    def put(self, packed: bytes) -> bool:
        """Write a packed message; false if nothing can be written any more."""
        if self.disconnected or self.close_sent or self.transport.is_closing():
            return False
        self.transport.write(packed)
        return True

    def end(self, code: int, reason: str) -> None:
        """Say goodbye without waiting for room, and see to it that the connection ends."""
        if self.disconnected or self.close_sent or self.transport.is_closing():
            self._abort_soon()
            return
        self.close_sent = True
        self.conn.send_close(code, reason)
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.queue.put_nowait({"type": "websocket.disconnect", "code": code, "reason": reason})
        if self.read_paused:
            self.read_paused = False
            self.transport.resume_reading()
        self.close_timer = self.loop.call_later(self.grace, self.transport.abort)

    def keepalive_timeout(self) -> None:
        super().keepalive_timeout()
        self._abort_soon()

    def shutdown(self) -> None:
        """The server ends: clients are told so by our own code, and none of them can hold it up."""
        if self.handshake_complete and not self.close_sent:
            self.stop_keepalive()
            self.grace = min(self.grace, SHUTDOWN_GRACE)
            self.end(SHUTDOWN, "shutdown")
        else:
            super().shutdown()
            self._abort_soon()

    def _abort_soon(self) -> None:
        if self._end is None:
            self._end = self.loop.call_later(self.grace, self.transport.abort)


def pack(frames: list[bytes]) -> bytes:
    """A message of frames as it goes over the wire: the same bytes for everybody, as a server masks nothing."""
    return Frame(Opcode.TEXT, array_of(frames)).serialize(mask=False)


def array_of(frames: list[bytes]) -> bytes:
    """Frames that go out together: every message of the server is an array of JSON."""
    return b"[" + b",".join(frames) + b"]"


class Packer:
    """Packs the same frames once, however many clients get them."""

    def __init__(self, most: int = 16) -> None:
        self._most = most
        self._packed: dict[tuple[bytes, ...], bytes] = {}

    def pack(self, frames: list[bytes]) -> bytes:
        key = tuple(frames)
        packed = self._packed.get(key)
        if packed is None:
            packed = pack(frames)
            if len(self._packed) >= self._most:
                del self._packed[next(iter(self._packed))]
            self._packed[key] = packed
        return packed


def listening_socket(host: str, port: int) -> socket.socket:
    """A socket to listen on whose connections do not hide a client that stalls or is gone. They inherit its options.

    Raises:
        OSError: the address is taken, or is none of this machine.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, DEAD_AFTER_MS)
        listening.bind((host, port))
        listening.listen(2048)
        listening.setblocking(False)
    except OSError:
        listening.close()
        raise
    return listening
