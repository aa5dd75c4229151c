"""An HTTP/1.1 connection and the reply that is received on it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any, NoReturn, cast

import httptools

from bobstay.providers.base import ErrorKind, ProviderError
from bobstay.providers.sse_splitter import SseSplitter
from bobstay.system.decompression import DecompressionError, Decompressor, parse_content_encoding

_HIGH_WATER_MARK = 1024 * 1024
"""Unread bytes above which reading from the server is paused."""

_HEAD_LIMIT = 256 * 1024

_UNPACKED_LIMIT = 64 * 1024 * 1024
"""Bytes that a compressed answer may decompress to."""

_RELEASE_SECONDS = 5.0
"""Seconds that a server gets to end a released answer."""


class Reply:
    """An HTTP response: its head is complete, its body is received while it is read."""

    def __init__(self, connection: "HttpConnection", on_activity: Callable[[], None] | None = None) -> None:
        self.on_activity = on_activity
        """Called whenever bytes arrive."""
        self.status = 0
        self.headers: dict[str, str] = {}
        """Names in lower case."""
        self.untouched = True
        """No byte of an answer has been received."""
        self.complete = False
        self._connection = connection
        self._pieces: list[bytes] = []
        self._size = 0
        self._released = False
        self._error: ProviderError | None = None
        self._waiter: asyncio.Future[None] | None = None

    async def wait_for_head(self) -> "Reply":
        """Wait for the head. If cancelled meanwhile, the connection is closed."""
        try:
            while not self.status:
                await self._wait_for_data()
        except asyncio.CancelledError:
            self.close()
            raise
        return self

    async def read(self, limit: int = _HIGH_WATER_MARK) -> bytes:
        """Return the body, up to `limit` bytes."""
        pieces: list[bytes] = []
        size = 0
        try:
            while size < limit and (data := await self.read_some()):
                pieces.append(data)
                size += len(data)
        finally:
            self.close()
        return b"".join(pieces)[:limit]

    async def read_some(self) -> bytes:
        """Return the bytes received so far, waiting for at least one; nothing at the end.

        Raises:
            ProviderError: The connection ended before the body did.
        """
        while not self._pieces:
            if self.complete:
                return b""
            await self._wait_for_data()
        data = b"".join(self._pieces) if len(self._pieces) > 1 else self._pieces[0]
        self._pieces.clear()
        if self._size > _HIGH_WATER_MARK:
            self._connection.resume(self)
        self._size = 0
        return data

    def events(self) -> AsyncIterator[tuple[str, bytes]]:
        """Iterate over the body as server-sent events: name and data. An incomplete event at the end is dropped."""
        return _EventIterator(self)

    def close(self) -> None:
        """Stop reading. The connection is closed too, unless the answer is complete or released."""
        if not self._released:
            self._connection.abandon(self)

    def release(self) -> None:
        """Stop reading, but let the server end its answer, so that the connection stays usable."""
        self._released = True
        self._pieces.clear()
        self.on_activity = None  # it references the whole request, which the timer below would keep alive
        if not self.complete:
            self._connection.ending = True
            asyncio.get_running_loop().call_later(_RELEASE_SECONDS, self._connection.abandon, self)

    async def _wait_for_data(self) -> None:
        if self._error is not None:
            raise self._error
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    # Called by the connection:

    def receive(self, data: bytes) -> None:
        if self._released:
            return
        self._pieces.append(data)
        self._size += len(data)
        if self._size > _HIGH_WATER_MARK:
            self._connection.pause()

    def fail(self, error: ProviderError) -> None:
        if self._error is None and not self.complete:
            self._error = error
        self.wake()

    def wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class _EventIterator(AsyncIterator[tuple[str, bytes]]):
    """An iterator and not a generator, since it needs no closing if it is dropped half-way."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply
        self._splitter = SseSplitter()
        self._ready: list[tuple[str, bytes]] = []

    async def __anext__(self) -> tuple[str, bytes]:
        ready = self._ready
        while not ready:
            try:
                data = await self._reply.read_some()
                ready.extend(self._splitter.feed(data))
            except BaseException:
                # Also on cancellation: the server should stop generating.
                self._reply.close()
                raise
            if not data:
                raise StopAsyncIteration
            ready.reverse()
        return ready.pop()


class HttpConnection(asyncio.Protocol):
    """Carries one request at a time. `done` is called when it is free again, and when it is lost."""

    def __init__(self, done: Callable[["HttpConnection"], None]) -> None:
        self.idle_since = 0.0
        self.ending = False
        """The answer was released, but has not ended yet."""
        self._done = done
        self._transport: asyncio.Transport | None = None
        self._reply: Reply | None = None
        self._parser: Any = None
        self._head_size = 0
        self._until_close = False
        self._unpacker: Decompressor | None = None
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
            self._fail("connection", "The answer was abandoned.")

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
            # No request is open: these bytes must not become part of the next answer.
            self.close()
            return
        reply.untouched = False
        if reply.on_activity is not None:
            reply.on_activity()
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._fail("protocol", f"The model server sent invalid HTTP: {self._complaint or error}")
        reply.wake()

    def connection_lost(self, exc: Exception | None) -> None:
        reply, self._reply = self._reply, None
        self._transport = None
        if reply is not None:
            if exc is None and reply.status and self._until_close:
                reply.complete = True
                reply.wake()
            elif reply.status:
                reply.fail(
                    _connection_error("The connection to the model server broke in the middle of its answer", exc)
                )
            else:
                reply.fail(_connection_error("The model server closed the connection without an answer", exc))
        self._done(self)

    # httptools callbacks

    def on_message_begin(self) -> None:
        if self._reply is None:
            self._reject("it answered twice.")

    def on_header(self, name: bytes, value: bytes) -> None:
        self._head_size += len(name) + len(value)
        if self._head_size > _HEAD_LIMIT:
            self._reject("the head of its answer is too large.")
        elif self._reply is not None:
            self._reply.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        reply = self._reply
        if reply is None:
            return
        status = self._parser.get_status_code()
        if status < 200:
            reply.headers.clear()  # an interim response such as "100 Continue"
            return
        headers = reply.headers
        try:
            # Uncompressed streams are requested, since compression delays them; some gateways compress anyway.
            packed = parse_content_encoding(headers.get("content-encoding", ""))
        except DecompressionError as error:
            self._reject(f"{error}.")
        self._unpacker = Decompressor(packed, _UNPACKED_LIMIT) if packed else None
        self._until_close = "content-length" not in headers and "transfer-encoding" not in headers
        reply.status = status

    def on_body(self, body: bytes) -> None:
        if self._reply is None:
            return
        if self._unpacker is not None:
            try:
                body = self._unpacker.feed(body)
            except DecompressionError as error:
                self._reject(f"{error}.")
            if self._unpacker.full:
                self._reject(f"its answer unpacks to more than {_UNPACKED_LIMIT >> 20} MiB.")
        if body:
            self._reply.receive(body)

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

    def _reject(self, complaint: str) -> NoReturn:
        self._complaint = complaint
        raise httptools.HttpParserCallbackError(complaint)

    def _fail(self, kind: ErrorKind, message: str) -> None:
        reply, self._reply = self._reply, None
        if reply is not None:
            reply.fail(ProviderError(message, kind=kind))
        if self._transport is not None:
            self._transport.abort()


def _connection_error(what: str, reason: Exception | None) -> ProviderError:
    return ProviderError(f"{what}: {reason}" if reason is not None else f"{what}.", kind="connection")
