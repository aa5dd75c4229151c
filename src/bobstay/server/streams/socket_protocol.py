"""WebSocket protocol for streams: packs a message once for all clients, and aborts stuck connections.

A connection whose peer does not read keeps its write buffer forever, and a graceful close waits for that buffer. Here
a close that does not complete in time is followed by an abort.
"""

import asyncio
import socket
from asyncio.transports import BaseTransport
from typing import Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame, Opcode
from websockets.http11 import Request

EXTENSION = "bobstay.stream"
"""Key of the protocol in `scope["extensions"]`."""
HIGH_WATER = 64 * 1024
LOW_WATER = 16 * 1024
GRACE = 5.0
"""Seconds a close may take."""
SHUTDOWN_GRACE = 1.0
SHUTDOWN = 4012
SEND_BUFFER = 256 * 1024
"""Kernel send buffer of a socket, small enough for a stalled client to be noticed."""
DEAD_AFTER_MS = 60_000
"""After so long without an acknowledgement, or with a closed window, the kernel drops a connection."""


class StreamProtocol(WebSocketsSansIOProtocol):
    """Pass it to uvicorn as `ws`."""

    grace = GRACE

    def connection_made(self, transport: BaseTransport) -> None:
        super().connection_made(transport)
        self.transport.set_write_buffer_limits(HIGH_WATER, LOW_WATER)
        self._abort_timer: asyncio.TimerHandle | None = None

    def connection_lost(self, exc: Exception | None) -> None:
        if self._abort_timer is not None:
            self._abort_timer.cancel()
        super().connection_lost(exc)

    def handle_connect(self, event: Request) -> None:
        super().handle_connect(event)
        scope: Any = getattr(self, "scope", None)
        if scope is not None:
            scope["extensions"][EXTENSION] = self

    def put(self, packed: bytes) -> bool:
        """Write a packed message; false if the connection is closing."""
        if self.disconnected or self.close_sent or self.transport.is_closing():
            return False
        self.transport.write(packed)
        return True

    def end(self, code: int, reason: str) -> None:
        """Send a close frame without waiting for buffer space, and ensure that the connection ends."""
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
        """Close with the code for a shutdown of the server, which no client can delay."""
        if self.handshake_complete and not self.close_sent:
            self.stop_keepalive()
            self.grace = min(self.grace, SHUTDOWN_GRACE)
            self.end(SHUTDOWN, "shutdown")
        else:
            super().shutdown()
            self._abort_soon()

    def _abort_soon(self) -> None:
        if self._abort_timer is None:
            self._abort_timer = self.loop.call_later(self.grace, self.transport.abort)


def pack(frames: list[bytes]) -> bytes:
    """The WebSocket frame of a message: the same bytes for all clients, because servers do not mask."""
    return Frame(Opcode.TEXT, array_of(frames)).serialize(mask=False)


def array_of(frames: list[bytes]) -> bytes:
    """A JSON array of frames: every message of the server is one."""
    return b"[" + b",".join(frames) + b"]"


class Packer:
    """Packs the same frames once for all clients."""

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
    """A listening socket with options, inherited by its connections, that make stalled or dead clients noticeable.

    Raises:
        OSError: the address is in use, or does not belong to this machine.
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
