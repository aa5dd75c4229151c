"""HTTP/1.1 with keep-alive, just enough of it, and a line in the log for each request with nanoseconds of one clock."""

import asyncio
import gzip
import time
from types import ModuleType
from typing import IO

import msgspec

from benchmarks.model import anthropic, responses
from benchmarks.model.script import Mark, Reply, Tool, mark_of, reply_to

MODELS = ("claude-sonnet-4-5", "gpt-5", "fake-model")
PIECE = 8192
"""Long replies are sent in chunks of this size, so that the reader's pace counts and not the size of our buffers."""


class Line(msgspec.Struct, frozen=True):
    """A request that was answered. Times are CLOCK_MONOTONIC, the same for every process of the machine."""

    run: str
    path: str
    done: int
    """How many tool results it carried; -1 for a request beside the conversation, such as one for a title."""
    asked_at: int
    """When its last byte had come."""
    answered_at: int
    """When the last byte of the reply had been handed to the kernel."""
    size: int


class ModelServer:
    def __init__(self, folder: str, log: IO[bytes]) -> None:
        self._folder = folder
        self._log = log
        self._number = 0
        self._tools: dict[str, list[Tool]] = {}
        self._long: dict[tuple[str, str, int], bytes] = {}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.set_write_buffer_limits(high=0)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                await self._answer(head, reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first, _, rest = head.partition(b"\r\n")
        method, target, _ = first.decode("latin-1").split(" ", 2)
        headers = _headers(rest)
        body = await _body(reader, headers)
        asked_at = time.monotonic_ns()
        path = target.partition("?")[0]
        if headers.get(b"content-encoding") == b"gzip":
            body = gzip.decompress(body)
        dialect = _dialect(path) if method == "POST" else None
        mark, done = None, -1
        if dialect is None:
            _send(writer, 200 if "/models" in path else 404, _models() if method == "GET" else b"")
            await writer.drain()
        else:
            self._number += 1
            asked = dialect.decode(body)
            mark = mark_of(body)
            if mark and asked.tools:
                done = asked.done()
                answer = self._scripted(dialect, asked, mark, done)
            else:
                answer = self._encoded(dialect, asked, Reply(["A title"]))
            await (_send_stream(writer, answer) if asked.stream else _send_whole(writer, answer))
        answered_at = time.monotonic_ns()
        line = Line(mark.run if mark else "", path, done, asked_at, answered_at, len(body))
        self._log.write(msgspec.json.encode(line) + b"\n")
        self._log.flush()

    def _scripted(self, dialect: ModuleType, asked: anthropic.Asked | responses.Asked, mark: Mark, done: int) -> bytes:
        """The scripted answer; long ones are made once, since making them would be measured as the agent's time."""
        key = (dialect.__name__, asked.model, mark.count)
        if mark.scenario == "stream" and key in self._long:
            return self._long[key]
        tools = self._tools.get(mark.run) or asked.offered()
        self._tools[mark.run] = tools
        answer = self._encoded(dialect, asked, reply_to(mark, done, tools, self._folder))
        if mark.scenario == "stream":
            self._long[key] = answer
        return answer

    def _encoded(self, dialect: ModuleType, asked: anthropic.Asked | responses.Asked, reply: Reply) -> bytes:
        encode = dialect.stream if asked.stream else dialect.whole
        encoded: bytes = encode(reply, asked, self._number)
        return encoded


def _dialect(path: str) -> ModuleType | None:
    if path.endswith("/messages"):
        return anthropic
    return responses if path.endswith("/responses") else None


def _headers(head: bytes) -> dict[bytes, bytes]:
    pairs = (line.partition(b":") for line in head.split(b"\r\n") if line)
    return {name.lower(): value.strip() for name, _, value in pairs}


async def _body(reader: asyncio.StreamReader, headers: dict[bytes, bytes]) -> bytes:
    if headers.get(b"transfer-encoding", b"").lower() != b"chunked":
        return await reader.readexactly(int(headers.get(b"content-length", b"0")))
    parts = []
    while size := int((await reader.readline()).partition(b";")[0], 16):
        parts.append(await reader.readexactly(size))
        await reader.readexactly(2)
    await reader.readline()
    return b"".join(parts)


def _models() -> bytes:
    return msgspec.json.encode({"object": "list", "data": [{"id": name, "type": "model"} for name in MODELS]})


def _send(writer: asyncio.StreamWriter, status: int, body: bytes) -> None:
    head = b"HTTP/1.1 %d Answer\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % (status, len(body))
    writer.write(head + body)


async def _send_whole(writer: asyncio.StreamWriter, body: bytes) -> None:
    _send(writer, 200, body)
    await writer.drain()


async def _send_stream(writer: asyncio.StreamWriter, body: bytes) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    if len(body) <= PIECE:
        writer.write(b"%s%x\r\n%s\r\n0\r\n\r\n" % (head, len(body), body))
        await writer.drain()
        return
    writer.write(head)
    for start in range(0, len(body), PIECE):
        piece = body[start : start + PIECE]
        writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        await writer.drain()
    writer.write(b"0\r\n\r\n")
    await writer.drain()
