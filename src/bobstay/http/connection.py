"""An HTTP/1.1 connection and the reply that is received on it."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import httptools

from bobstay.http.http_error import HttpError

if TYPE_CHECKING:
    from bobstay.http.decompression import Decompressor

_HIGH_WATER_MARK = 1024 * 1024
"""Unread bytes above which reading from the server is paused."""

_OVERHEAD_LIMIT = 256 * 1024
"""Bytes without content: the head of an answer, its trailers, the lines between its chunks, what unpacks to nothing."""

DECOMPRESSED_LIMIT = 64 * 1024 * 1024
"""Bytes that a compressed answer may decompress to, unless the request says otherwise."""

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
        self._error: HttpError | None = None
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
            HttpError: The connection ended before the body did, or the body is invalid.
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

    def fail(self, error: HttpError) -> None:
        if self._error is None and not self.complete:
            self._error = error
        self.wake()

    def wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class HttpConnection(asyncio.Protocol):
    """Carries one request at a time. `done` is called when it is free again, and when it is lost."""

    def __init__(self, host: str, done: Callable[["HttpConnection"], None]) -> None:
        """`host` is for error messages."""
        self.idle_since = 0.0
        self.ending = False
        """The answer was released, but has not ended yet."""
        self._host = host
        self._done = done
        self._transport: asyncio.Transport | None = None
        self._reply: Reply | None = None
        self._parser: Any = None
        self._overhead = 0
        """Bytes received since the last byte of a body, after decompression."""
        self._until_close = False
        self._decompressor: Decompressor | None = None
        self._decompressed_limit = 0
        self._paused = False

    @property
    def usable(self) -> bool:
        return self._transport is not None and not self._transport.is_closing() and self._reply is None

    @property
    def lost(self) -> bool:
        return self._transport is None

    def send(
        self,
        message: bytes,
        on_activity: Callable[[], None] | None = None,
        decompressed_limit: int = DECOMPRESSED_LIMIT,
    ) -> Reply:
        reply = Reply(self, on_activity)
        if self._transport is None or self._transport.is_closing():
            reply.fail(self._lost(None))
            return reply
        self._reply = reply
        self.ending = False
        self._parser = httptools.HttpResponseParser(self)
        self._overhead = 0
        self._decompressor = None
        self._decompressed_limit = decompressed_limit
        self._transport.write(message)
        return reply

    def abandon(self, reply: Reply) -> None:
        if reply is self._reply:
            self.abort()

    def close(self) -> None:
        if self._reply is not None:
            self.abort()
        elif self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        self._fail(HttpError("The connection was closed.", "connection"))

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
        complaint = self._parse(data)
        if complaint:
            self._fail(HttpError(f"{self._host} did not answer in proper HTTP: {complaint}.", "protocol"))
        reply.wake()

    def connection_lost(self, exc: Exception | None) -> None:
        reply, self._reply = self._reply, None
        self._transport = None
        if reply is not None:
            if exc is None and reply.status and self._until_close:
                reply.complete = True
                reply.wake()
            else:
                reply.fail(self._lost(exc))
        self._done(self)

    def _parse(self, data: bytes) -> str:
        """Return what is wrong with the answer so far, "" for nothing."""
        self._overhead += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            return "it switches to another protocol"
        except httptools.HttpParserError as error:
            return str(error.__context__ or error)  # what a callback raised, or what the parser found
        # Counted here and not by the parser's callbacks: it makes none before a header's line has ended.
        if self._reply is None or self._overhead <= _OVERHEAD_LIMIT:
            return ""
        return "it has far too many headers" if not self._decompressor else "its compressed bytes hold no content"

    # httptools callbacks

    def on_message_begin(self) -> None:
        if self._reply is None:
            raise httptools.HttpParserCallbackError("it answered twice")

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._reply is not None and not self._reply.status:  # else it is a trailer
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
        self._decompressor = (
            self._find_decompressor(headers["content-encoding"]) if "content-encoding" in headers else None
        )
        self._until_close = (
            "content-length" not in headers and "chunked" not in headers.get("transfer-encoding", "").lower()
        )
        reply.status = status

    def on_body(self, body: bytes) -> None:
        if self._reply is None:
            return
        if self._decompressor is not None:
            body = self._decompressor.feed(body)
        if body:
            self._overhead = 0
            self._reply.receive(body)
        if self._decompressor is not None and self._decompressor.full:
            limit = self._decompressed_limit >> 20
            raise httptools.HttpParserCallbackError(f"its answer unpacks to more than {limit} MiB")

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

    def _find_decompressor(self, encoding: str) -> "Decompressor | None":
        # Rarely needed: model servers are asked not to compress, since that delays a stream. Some gateways do anyway.
        from bobstay.http.decompression import Decompressor, parse_content_encoding

        packed = parse_content_encoding(encoding)
        return Decompressor(packed, self._decompressed_limit) if packed else None

    def _lost(self, reason: Exception | None) -> HttpError:
        if reason is not None:
            return HttpError(f"The connection to {self._host} broke: {reason}.", "connection")
        return HttpError(f"{self._host} closed the connection before its answer was complete.", "connection")

    def _fail(self, error: HttpError) -> None:
        reply, self._reply = self._reply, None
        if reply is not None:
            reply.fail(error)
        if self._transport is not None:
            self._transport.abort()
