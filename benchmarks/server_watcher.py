"""A WebSocket client that does no more than it must, so that it is not what `benchmarks.server_fanout` measures."""

import asyncio
import base64
import json
import os
import time
from typing import Any

import msgspec


class Item(msgspec.Struct):
    type: str
    seq: int = 0
    data: msgspec.Raw = msgspec.Raw()


class TextBlock(msgspec.Struct):
    text: str


class Block(msgspec.Struct):
    block: TextBlock


_items = msgspec.json.Decoder(list[Item])
_block = msgspec.json.Decoder(Block)


class Watcher(asyncio.Protocol):
    """Follows one topic and counts; may stall once it is up to date."""

    def __init__(self, topic: str, host: str, token: str, *, stalls: bool = False, sample: bool = False) -> None:
        self.topic = topic
        self.stalls = stalls
        self.sample = sample
        self.seq = 0
        self.gaps = 0
        self.frames = 0
        self.messages = 0
        self.lost = False
        self.latencies: list[float] = []
        self.synchronized: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._identity = (f"Host: {host}", f"Authorization: Bearer {token}")
        self._buffer = b""
        self._open = False
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        key = base64.b64encode(os.urandom(16)).decode()
        lines = ("GET /api/v1/ws HTTP/1.1", *self._identity, "Upgrade: websocket", "Connection: Upgrade")
        more = (f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13", "", "")
        transport.write("\r\n".join((*lines, *more)).encode())

    def say(self, frame: dict[str, Any]) -> None:
        assert self._transport is not None
        said = json.dumps(frame).encode()
        self._transport.write(bytes([0x81, 0x80 | len(said)]) + bytes(4) + said)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if not self._open:
            head, found, rest = self._buffer.partition(b"\r\n\r\n")
            if not found:
                return
            assert b" 101 " in head.partition(b"\r\n")[0], head
            self._open, self._buffer = True, rest
            self.say({"type": "subscribe", "topic": self.topic, "after": self.seq})
        self._parse()

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True
        if not self.synchronized.done():
            self.synchronized.set_exception(exc or ConnectionError("closed"))

    def _parse(self) -> None:
        buffer, place = self._buffer, 0
        while len(buffer) - place >= 2:
            size, start = buffer[place + 1], place + 2
            if size == 126:
                size, start = int.from_bytes(buffer[start : start + 2], "big"), start + 2
            elif size == 127:
                size, start = int.from_bytes(buffer[start : start + 8], "big"), start + 8
            if len(buffer) < start + size:
                break
            kind = buffer[place] & 15
            if kind == 1:
                self._take(buffer[start : start + size])
            elif kind == 9 and self._transport is not None:
                self._transport.write(bytes([0x8A, 0x80 | size]) + bytes(4) + buffer[start : start + size])
            place = start + size
        self._buffer = buffer[place:]

    def _take(self, message: bytes) -> None:
        now = time.monotonic_ns()
        self.messages += 1
        for item in _items.decode(message):
            if item.seq:
                self.frames += 1
                self.gaps += item.seq != self.seq + 1
                self.seq = item.seq
                if self.sample and item.type == "part.done":
                    said = _block.decode(item.data).block.text
                    self.latencies.append((now - int(said.partition(" ")[0])) / 1e6)
            elif item.type == "stream.synchronized":
                if not self.synchronized.done():
                    self.synchronized.set_result(None)
                if self.stalls and self._transport is not None:
                    self._transport.pause_reading()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()
