"""One HTTP/1.1 connection, and the answer that is coming in on it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any, NoReturn, cast

import httptools

from bobstay.providers.base import ErrorKind, ProviderError
from bobstay.providers.sse_splitter import SseSplitter
from bobstay.system.decompression import DamagedError, Unpacker, packing_of

_ENOUGH = 1024 * 1024
"""Bytes waiting to be read above which the server is made to wait."""

_HEAD_LIMIT = 256 * 1024

_UNPACKED_LIMIT = 64 * 1024 * 1024
"""Bytes a compressed answer may grow to."""

_GRACE = 5.0
"""Seconds a server gets to end an answer of which all that matters has come."""


class Reply:
    """An answer: its head is complete, its body comes as it is read."""

    def __init__(self, connection: "HttpConnection", on_activity: Callable[[], None] | None = None) -> None:
        self.on_activity = on_activity
        """Called whenever bytes arrive."""
        self.status = 0
        self.headers: dict[str, str] = {}
        """Names in lower case."""
        self.untouched = True
        """No byte of an answer has come."""
        self.complete = False
        self._connection = connection
        self._pieces: list[bytes] = []
        self._size = 0
        self._unwanted = False
        self._error: ProviderError | None = None
        self._waiter: asyncio.Future[None] | None = None

    async def started(self) -> "Reply":
        """Wait for the head. Cancelled meanwhile, it lets go of the connection."""
        try:
            while not self.status:
                await self._news()
        except asyncio.CancelledError:
            self.close()
            raise
        return self

    async def read(self, limit: int = _ENOUGH) -> bytes:
        """Return the body, or as much of it as `limit` allows."""
        pieces: list[bytes] = []
        size = 0
        try:
            while size < limit and (data := await self.some()):
                pieces.append(data)
                size += len(data)
        finally:
            self.close()
        return b"".join(pieces)[:limit]

    async def some(self) -> bytes:
        """Return what has come, waiting for at least a byte; nothing at the end.

        Raises:
            ProviderError: The connection ended before the body did.
        """
        while not self._pieces:
            if self.complete:
                return b""
            await self._news()
        data = b"".join(self._pieces) if len(self._pieces) > 1 else self._pieces[0]
        self._pieces.clear()
        if self._size > _ENOUGH:
            self._connection.resume(self)
        self._size = 0
        return data

    def events(self) -> AsyncIterator[tuple[str, bytes]]:
        """The body as server-sent events: name and data. Half an event at the end is dropped."""
        return _Events(self)

    def close(self) -> None:
        """Want no more of it. An answer that is neither complete nor released takes its connection with it."""
        if not self._unwanted:
            self._connection.abandon(self)

    def release(self) -> None:
        """Want no more of it, but let the server come to its end, which is near: the connection stays usable."""
        self._unwanted = True
        self._pieces.clear()
        self.on_activity = None  # it leads to the whole request, which the timer below would keep
        if not self.complete:
            self._connection.ending = True
            asyncio.get_running_loop().call_later(_GRACE, self._connection.abandon, self)

    async def _news(self) -> None:
        if self._error is not None:
            raise self._error
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    # Below: called by the connection.

    def take(self, data: bytes) -> None:
        if self._unwanted:
            return
        self._pieces.append(data)
        self._size += len(data)
        if self._size > _ENOUGH:
            self._connection.pause()

    def fail(self, error: ProviderError) -> None:
        if self._error is None and not self.complete:
            self._error = error
        self.wake()

    def wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class _Events(AsyncIterator[tuple[str, bytes]]):
    """Not a generator: one that is dropped half-way needs nobody to close it."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply
        self._splitter = SseSplitter()
        self._ready: list[tuple[str, bytes]] = []

    async def __anext__(self) -> tuple[str, bytes]:
        ready = self._ready
        while not ready:
            try:
                data = await self._reply.some()
                ready.extend(self._splitter.feed(data))
            except BaseException:
                # Cancelled, for one: the server shall stop to work for nobody.
                self._reply.close()
                raise
            if not data:
                raise StopAsyncIteration
            ready.reverse()
        return ready.pop()


class HttpConnection(asyncio.Protocol):
    """Carries one request at a time. `done` hears when it is free again, and when it is lost."""

    def __init__(self, done: Callable[["HttpConnection"], None]) -> None:
        self.idle_since = 0.0
        self.ending = False
        """All that matters of the answer has come, but not its end."""
        self._done = done
        self._transport: asyncio.Transport | None = None
        self._reply: Reply | None = None
        self._parser: Any = None
        self._head_size = 0
        self._until_close = False
        self._unpacker: Unpacker | None = None
        self._paused = False
        self._complaint = ""

    @property
    def usable(self) -> bool:
        return self._transport is not None and not self._transport.is_closing() and self._reply is None

    def send(self, message: bytes, on_activity: Callable[[], None] | None = None) -> Reply:
        reply = Reply(self, on_activity)
        if self._transport is None or self._transport.is_closing():
            reply.fail(ProviderError("The connection was closed.", kind="connection"))
            return reply
        self._reply = reply
        self.ending = False
        self._parser = httptools.HttpResponseParser(self)
        self._head_size = 0
        self._transport.write(message)
        return reply

    def abandon(self, reply: Reply) -> None:
        if reply is self._reply:
            self._fail("connection", "The answer was not wanted any more.")

    def close(self) -> None:
        if self._reply is not None:
            self.abort()
        elif self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        self._fail("connection", "The connection was closed.")

    def pause(self) -> None:
        if not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()

    def resume(self, reply: Reply) -> None:
        if self._paused and reply is self._reply and self._transport is not None:
            self._paused = False
            self._transport.resume_reading()

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        reply = self._reply
        if reply is None:
            # Nothing was asked: whatever this is, it must not become part of the next answer.
            self.close()
            return
        reply.untouched = False
        if reply.on_activity is not None:
            reply.on_activity()
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._fail("protocol", f"The model server did not speak proper HTTP: {self._complaint or error}")
        reply.wake()

    def connection_lost(self, exc: Exception | None) -> None:
        reply, self._reply = self._reply, None
        self._transport = None
        if reply is not None:
            if exc is None and reply.status and self._until_close:
                reply.complete = True
                reply.wake()
            elif reply.status:
                reply.fail(_lost("The connection to the model server broke in the middle of its answer", exc))
            else:
                reply.fail(_lost("The model server closed the connection without an answer", exc))
        self._done(self)

    # httptools callbacks

    def on_message_begin(self) -> None:
        if self._reply is None:
            self._complain("it answered twice.")

    def on_header(self, name: bytes, value: bytes) -> None:
        self._head_size += len(name) + len(value)
        if self._head_size > _HEAD_LIMIT:
            self._complain("the head of its answer is too large.")
        elif self._reply is not None:
            self._reply.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        reply = self._reply
        if reply is None:
            return
        status = self._parser.get_status_code()
        if status < 200:
            reply.headers.clear()  # "100 Continue" and its like: the answer is still to come
            return
        headers = reply.headers
        try:
            # Streams are asked for as they are, since compression delays them; some gateways compress all the same.
            packed = packing_of(headers.get("content-encoding", ""))
        except DamagedError as error:
            self._complain(f"{error}.")
        self._unpacker = Unpacker(packed, _UNPACKED_LIMIT) if packed else None
        self._until_close = "content-length" not in headers and "transfer-encoding" not in headers
        reply.status = status

    def on_body(self, body: bytes) -> None:
        if self._reply is None:
            return
        if self._unpacker is not None:
            try:
                body = self._unpacker.feed(body)
            except DamagedError as error:
                self._complain(f"{error}.")
            if self._unpacker.full:
                self._complain(f"its answer unpacks to more than {_UNPACKED_LIMIT >> 20} MiB.")
        if body:
            self._reply.take(body)

    def on_message_complete(self) -> None:
        reply = self._reply
        if reply is None or not reply.status:
            return
        self._reply = None
        reply.complete = True
        if self._paused and self._transport is not None:
            self._paused = False
            self._transport.resume_reading()
        if not self._parser.should_keep_alive() and self._transport is not None:
            self._transport.close()
        self._done(self)

    def _complain(self, complaint: str) -> NoReturn:
        self._complaint = complaint
        raise httptools.HttpParserCallbackError(complaint)

    def _fail(self, kind: ErrorKind, message: str) -> None:
        reply, self._reply = self._reply, None
        if reply is not None:
            reply.fail(ProviderError(message, kind=kind))
        if self._transport is not None:
            self._transport.abort()


def _lost(what: str, reason: Exception | None) -> ProviderError:
    return ProviderError(f"{what}: {reason}" if reason is not None else f"{what}.", kind="connection")
