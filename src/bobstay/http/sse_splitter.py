"""Splits the body of a reply into server-sent events, however the network fragmented it."""

from collections.abc import AsyncIterator

from bobstay.http.connection import Reply
from bobstay.http.http_error import HttpError

MAX_EVENT_SIZE = 64 * 1024 * 1024
"""Maximum bytes of one event; only a broken or hostile server sends more."""

_BOM = b"\xef\xbb\xbf"


class SseEvents(AsyncIterator[tuple[str, bytes]]):
    """Iterates over the name and data of each event. An incomplete event at the end is dropped.

    An iterator and not a generator, since it needs no closing if it is dropped half-way.
    """

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


class SseSplitter:
    """Call `feed` with bytes as they arrive; each call returns the events that became complete.

    An event is its name (empty if the server gave none) and its data. An incomplete event is never returned.
    """

    def __init__(self) -> None:
        self._kept = bytearray()
        self._searched = 0
        self._begun = False
        self._after_cr = False

    def feed(self, data: bytes) -> list[tuple[str, bytes]]:
        if not self._begun:
            data = self._remove_bom(data)
        if self._after_cr or b"\r" in data:
            data = self._normalise_newlines(data)
        complete = self._take_complete(data)
        if not complete:
            return []
        return [event for block in complete.split(b"\n\n") if (event := _parse_event(block)) is not None]

    def _take_complete(self, data: bytes) -> bytes:
        """Return everything up to the last blank line, and keep the rest."""
        if not self._kept:
            end = data.rfind(b"\n\n") + 2
            if end == len(data) and end > 1:
                return data
        self._kept += data
        end = self._kept.rfind(b"\n\n", self._searched) + 2
        complete = b""
        if end > 1:
            complete = bytes(self._kept[:end])
            del self._kept[:end]
        if len(self._kept) > MAX_EVENT_SIZE:
            raise HttpError(f"The server sent more than {MAX_EVENT_SIZE} bytes in one event.", "protocol")
        # The last byte may be the first newline of a pair, so it is searched again.
        self._searched = max(0, len(self._kept) - 1)
        return complete

    def _remove_bom(self, data: bytes) -> bytes:
        data = bytes(self._kept) + data
        self._kept.clear()
        if len(data) < len(_BOM) and _BOM.startswith(data):
            self._kept += data
            return b""
        self._begun = True
        return data.removeprefix(_BOM)

    def _normalise_newlines(self, data: bytes) -> bytes:
        if self._after_cr and data:
            data = data.removeprefix(b"\n")
            self._after_cr = False
        if data:
            self._after_cr = data.endswith(b"\r")
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _parse_event(block: bytes) -> tuple[str, bytes] | None:
    if block.startswith(b"event: "):
        name, found, rest = block.partition(b"\ndata: ")
        if found and b"\n" not in name and b"\n" not in rest:
            return str(name[7:], "utf-8", "replace"), rest
    elif block.startswith(b"data: ") and b"\n" not in block:
        return "", block[6:]
    return _parse_general_event(block)


def _parse_general_event(block: bytes) -> tuple[str, bytes] | None:
    name = b""
    data: list[bytes] = []
    for line in block.split(b"\n"):
        field, _, value = line.partition(b":")
        if field == b"data":
            data.append(value.removeprefix(b" "))
        elif field == b"event":
            name = value.removeprefix(b" ")
    if not data:
        return None
    return str(name, "utf-8", "replace"), b"\n".join(data)
