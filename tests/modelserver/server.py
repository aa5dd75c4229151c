"""A real HTTP server on loopback that plays the model. It runs in a thread with its own event loop."""

import asyncio
import contextlib
import socket
import struct
import threading
import time
from concurrent.futures import Future
from typing import Any, Self

import msgspec

from tests.kit.waiting import DEADLINE
from tests.modelserver.anthropic import AnthropicDialect
from tests.modelserver.bedrock import BedrockDialect
from tests.modelserver.bedrock_converse import ConverseDialect
from tests.modelserver.chat import ChatDialect
from tests.modelserver.dialect import Dialect, Frame, ModelRequest
from tests.modelserver.gemini import GeminiDialect
from tests.modelserver.responses import ResponsesDialect
from tests.modelserver.script import BROKEN, Gate, Say, Scenario, Step, choose
from tests.modelserver.vertex import VertexClaudeDialect, VertexGeminiDialect


def dialects() -> list[Dialect]:
    """Return one dialect per vendor."""
    return [
        AnthropicDialect(),
        ResponsesDialect(),
        ChatDialect(),
        GeminiDialect(),
        BedrockDialect(),
        ConverseDialect(),
        VertexClaudeDialect(),
        VertexGeminiDialect(),
    ]


class ModelServer:
    """Use as a context manager, or `start` and `stop`. `url` is the base URL for every dialect."""

    def __init__(self, scenarios: dict[str, Scenario] | None = None, *, port: int = 0) -> None:
        self.scenarios: dict[str, Scenario] = scenarios or {}
        self.requests: list[ModelRequest] = []
        """Every model request, in order of arrival."""
        self.refused: list[str] = []
        """The messages of requests that were refused as the real server would."""
        self.others: list[ModelRequest] = []
        """All other requests."""
        self.pages: dict[str, bytes | Gate] = {}
        """Answers of other paths: a body, or nothing before a gate opens."""
        self.gone: list[ModelRequest] = []
        """Requests whose client disconnected before the answer was complete."""
        self.connections = 0
        """Connections accepted so far."""
        self.port = port
        self._dialects = dialects()
        self._served: dict[tuple[str, int], int] = {}
        self._condition = threading.Condition()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True, name="model server")
        self._ready: Future[None] = Future()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> Self:
        self._thread.start()
        self._ready.result(DEADLINE)
        return self

    def stop(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(DEADLINE)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def play(self, name: str, *steps: Any) -> str:
        """Add a scenario; return the token that selects it in a prompt."""
        self.scenarios[name] = list(steps)
        return f"SCN:{name}"

    def wait_for_requests(self, count: int, deadline: float = DEADLINE) -> list[ModelRequest]:
        """Wait until `count` model requests have arrived in total; return them."""
        return self._wait(self.requests, count, deadline, "requests")

    def wait_for_gone(self, count: int, deadline: float = DEADLINE) -> list[ModelRequest]:
        """Wait until `count` clients have disconnected during an answer."""
        return self._wait(self.gone, count, deadline, "clients that went away")

    async def requested(self, count: int, deadline: float = DEADLINE) -> list[ModelRequest]:
        """`wait_for_requests` for a test that has an event loop."""
        return await asyncio.to_thread(self.wait_for_requests, count, deadline)

    async def left(self, count: int, deadline: float = DEADLINE) -> list[ModelRequest]:
        """`wait_for_gone` for a test that has an event loop."""
        return await asyncio.to_thread(self.wait_for_gone, count, deadline)

    def _wait(self, seen: list[ModelRequest], count: int, deadline: float, what: str) -> list[ModelRequest]:
        with self._condition:
            if not self._condition.wait_for(lambda: len(seen) >= count, deadline):
                raise TimeoutError(f"{len(seen)} {what} after {deadline} s, expected {count}")
            return list(seen)

    def _note(self, seen: list[ModelRequest], request: ModelRequest) -> None:
        with self._condition:
            seen.append(request)
            self._condition.notify_all()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        self._stop = asyncio.Event()
        try:
            server = await self._loop.create_server(self._protocol, "127.0.0.1", self.port)
        except OSError as error:
            self._ready.set_exception(error)
            return
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set_result(None)
        await self._stop.wait()
        server.close()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await server.wait_closed()

    def _protocol(self) -> asyncio.StreamReaderProtocol:
        return asyncio.StreamReaderProtocol(_Reader(limit=64 * 1024 * 1024), self._accept)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        assert isinstance(reader, _Reader)
        self._tasks.add(task)
        self.connections += 1
        try:
            while (request := await _read(reader)) is not None:
                if not await self._answer(request, reader, writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            # The client disconnected, or the server stops: nothing to report.
            pass
        finally:
            self._tasks.discard(task)
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def _answer(self, request: ModelRequest, reader: "_Reader", writer: asyncio.StreamWriter) -> bool:
        """Return whether the connection may be used again."""
        dialect = next((dialect for dialect in self._dialects if dialect.owns(request)), None)
        if dialect is None:
            self._note(self.others, request)
            return await self._answer_other(request, writer)
        refusal = dialect.refusal(request)
        if refusal is None:
            step = self._step(request, dialect)
        else:
            self.refused.append(refusal.message)
            step = Step(status=refusal.status, error_type=refusal.error_type, message=refusal.message)
        self._note(self.requests, request)
        gone = asyncio.ensure_future(reader.closed.wait())
        play = asyncio.ensure_future(_Play(request, dialect, step, writer).run())
        try:
            await asyncio.wait({gone, play}, return_when=asyncio.FIRST_COMPLETED)
            if not play.done():
                raise ConnectionResetError
            return play.result()
        except ConnectionError:
            self._note(self.gone, request)
            return False
        finally:
            for task in (gone, play):
                task.cancel()
            await asyncio.gather(gone, play, return_exceptions=True)

    def _step(self, request: ModelRequest, dialect: Dialect) -> Step:
        choice = choose(dialect.turns(request), self.scenarios)
        if choice is None:
            return Step(blocks=[Say("(no scenario)")])
        request.scenario, request.step = choice.scenario, choice.index
        steps = self.scenarios[choice.scenario]
        entry = steps[min(choice.index, len(steps) - 1)] if steps else Step(blocks=[Say("done")])
        step = entry if isinstance(entry, Step) else entry(request.body)
        key = (choice.scenario, choice.index)
        self._served[key] = seen = self._served.get(key, 0) + 1
        while step.times and seen > step.times:
            seen -= step.times
            step = step.then or Step(blocks=[Say("done")])
        return step

    async def _answer_other(self, request: ModelRequest, writer: asyncio.StreamWriter) -> bool:
        if request.method == "HEAD":
            await _send(writer, 200, {}, b"")
            return True
        page = self.pages.get(request.path)
        if page is not None:
            if isinstance(page, Gate):
                await page.passed()
            await _send(writer, 200, {}, b"{}" if isinstance(page, Gate) else page)
            return True
        for dialect in self._dialects:
            if (found := dialect.extra(request)) is not None:
                await _send(writer, 200, dialect.head(), msgspec.json.encode(found))
                return True
        error = self._dialects[0].error(404, "", f"no such path: {request.path}")
        await _send(writer, 404, {}, msgspec.json.encode(error))
        return True


class _Reader(asyncio.StreamReader):
    """Detects that the client disconnected without reading, which could consume a byte of the next request."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self.closed = asyncio.Event()

    def feed_eof(self) -> None:
        super().feed_eof()
        self.closed.set()

    def set_exception(self, exc: Exception) -> None:
        super().set_exception(exc)
        self.closed.set()


class _Play:
    """Plays one step on one connection."""

    def __init__(self, request: ModelRequest, dialect: Dialect, step: Step, writer: asyncio.StreamWriter) -> None:
        self.request, self.dialect, self.step, self.writer = request, dialect, step, writer
        self.blocks = 0
        self.pings = step.pings

    async def run(self) -> bool:
        step = self.step
        await asyncio.sleep(step.delay)
        if step.gate is not None and not step.gate_after:
            await step.gate.passed()
        if step.stall == "silent":
            await asyncio.Event().wait()
        if step.status and step.error_after is None:
            body = msgspec.json.encode(self.dialect.error(step.status, step.error_type, step.message))
            head = {**self.dialect.head(), **self.dialect.error_head(step.status, step.error_type), **step.headers}
            await _send(self.writer, step.status, head, body)
            return True
        if step.raw is None and not self.dialect.streams(self.request):
            body = msgspec.json.encode(self.dialect.whole(self.request, step))
            await _send(self.writer, 200, {**self.dialect.head(), **step.headers}, body)
            return True
        return await self._stream()

    async def _stream(self) -> bool:
        step = self.step
        framing = {"connection": "close"} if step.close_delimited else {"transfer-encoding": "chunked"}
        headers = {"content-type": self.dialect.content_type, **framing, **self.dialect.head(), **step.headers}
        self.writer.write(_head(200, headers))
        frames = [Frame(step.raw)] if step.raw is not None else self.dialect.frames(self.request, step)
        for frame in frames:
            if (ended := await self._misbehave(frame)) is not None:
                return ended
            await self._write(frame.data)
            if step.chunk_delay:
                await asyncio.sleep(step.chunk_delay)
            if frame.ends_block:
                self.blocks += 1
                if step.gate is not None and self.blocks == step.gate_after:
                    await step.gate.passed()
        return await self._finish()

    async def _misbehave(self, frame: Frame) -> bool | None:
        """Do what the step says goes wrong here; returns None if nothing does."""
        step = self.step
        if step.error_after == self.blocks:
            await self._write(self.dialect.error_frame(step.status, step.error_type, step.message))
            return await self._finish()
        if step.reset_after == self.blocks:
            _reset(self.writer)
            return False
        if step.end_after == self.blocks:
            return await self._finish()
        while self.pings and step.stall_after == self.blocks:
            self.pings -= 1
            await self._ping()
        if step.stall and step.stall_after == self.blocks:
            while step.stall == "pings":
                await self._ping()
            await self._write(frame.data[: len(frame.data) // 2])
            await asyncio.Event().wait()
        return None

    async def _ping(self) -> None:
        await self._write(self.step.ping or self.dialect.ping())
        await asyncio.sleep(0.02)

    async def _finish(self) -> bool:
        if not self.step.close_delimited:
            self.writer.write(b"0\r\n\r\n")
        await self.writer.drain()
        return not self.step.close_delimited

    async def _write(self, data: bytes) -> None:
        data = data.replace(BROKEN.encode(), b"\xe2\x82")
        size = self.step.slice or len(data)
        for start in range(0, len(data), size or 1):
            part = data[start : start + size]
            self.writer.write(part if self.step.close_delimited else b"%x\r\n%b\r\n" % (len(part), part))
            await self.writer.drain()
            if self.step.slice:
                await asyncio.sleep(0)


async def _read(reader: asyncio.StreamReader) -> ModelRequest | None:
    head = await reader.readuntil(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    method, target, _ = lines[0].split(" ", 2)
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:-2])}
    raw = await reader.readexactly(int(headers.get("content-length", 0)))
    if target.startswith("http://"):
        # The form of a request to a proxy.
        target = "/" + target.removeprefix("http://").partition("/")[2]
    path, _, query = target.partition("?")
    try:
        body = msgspec.json.decode(raw) if raw else None
    except msgspec.DecodeError:
        body = None
    return ModelRequest(method, path, query, headers, body, raw, time.monotonic())


async def _send(writer: asyncio.StreamWriter, status: int, headers: dict[str, str], body: bytes) -> None:
    head = {"content-type": "application/json", "content-length": str(len(body)), **headers}
    writer.write(_head(status, head) + body)
    await writer.drain()


def _head(status: int, headers: dict[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} Scripted", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close so that the client sees a reset and not an end."""
    sock = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
