"""The model of `benchmarks.server_sessions`: pieces of text that say when they left it, and calls of Read."""

import asyncio
import json
import re
import time
from itertools import count
from typing import Any

DELTAS_A_SECOND = 30
READS = 40
READ_BYTES = 20_000
_NUMBERS = count()


class Model:
    """Answers like the Messages API: `quick` at once, `slow` with a piece every 33 ms, `read` with calls of Read."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.port = 0
        self.sent = 0
        """Pieces of slow answers so far."""
        self.answering = 0
        """Slow answers under way."""

    async def start(self) -> None:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(re.search(rb"content-length: (\d+)", head, re.I)[1])  # type: ignore[index]
                body = await reader.readexactly(length)
                done = body.count(b'"tool_result"')
                if b"read please" in body and done < READS and b"slow please" not in body:
                    await self._call(writer, done)
                else:
                    await self._answer(writer, slow=b"slow please" in body)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            writer.close()

    async def _call(self, writer: asyncio.StreamWriter, number: int) -> None:
        """One call of Read."""
        _begin(writer)
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": "Read", "input": {}}
        _event(writer, {"type": "content_block_start", "index": 0, "content_block": block})
        text = json.dumps({"file_path": f"file{number}.txt"})
        _event(
            writer,
            {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": text}},
        )
        await _end(writer, "tool_use")

    async def _answer(self, writer: asyncio.StreamWriter, *, slow: bool) -> None:
        self.answering += slow
        try:
            await self._speak(writer, slow=slow)
        finally:
            self.answering -= slow

    async def _speak(self, writer: asyncio.StreamWriter, *, slow: bool) -> None:
        _begin(writer)
        _event(writer, {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
        deadline = time.monotonic() + (self.seconds if slow else 0)
        while True:
            self.sent += slow
            text = f"@{time.monotonic():.6f}@ some words more "
            _event(writer, {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}})
            if time.monotonic() >= deadline:
                break
            await asyncio.sleep(1 / DELTAS_A_SECOND)
        await _end(writer, "end_turn")


def _begin(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
    usage = {"input_tokens": 10, "output_tokens": 1}
    about = {"type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage}
    message = {"id": f"msg_{next(_NUMBERS)}", **about}
    _event(writer, {"type": "message_start", "message": message})


async def _end(writer: asyncio.StreamWriter, stop: str) -> None:
    _event(writer, {"type": "content_block_stop", "index": 0})
    _event(writer, {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 9}})
    _event(writer, {"type": "message_stop"})
    writer.write(b"0\r\n\r\n")
    await writer.drain()


def _event(writer: asyncio.StreamWriter, event: dict[str, Any]) -> None:
    data = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
    writer.write(b"%x\r\n%b\r\n" % (len(data), data))
