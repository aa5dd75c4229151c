"""HTTP range responses: streams a part of a large file without holding all of it in memory."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from urllib.parse import quote

from starlette.responses import Response, StreamingResponse

from bobstay.server.errors import ApiError

MOST_AT_ONCE = 4 * 1024 * 1024
"""Maximum bytes of one range response; the client requests the rest."""
PIECE = 256 * 1024
_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})", re.IGNORECASE)

Reader = Callable[[int, int], bytes]
"""`read(start, most)` returns the bytes there, fewer only at the end."""


async def respond_with_range(
    asked: str | None,
    size: int,
    read: Reader,
    close: Callable[[], None],
    *,
    media: str = "application/octet-stream",
    name: str = "file",
    tag: str = "",
) -> Response:
    """All of it, or the part named by a Range header. `close` is called once when all is read.

    Raises:
        ApiError: range_not_satisfiable.
    """
    try:
        span = _span(asked, size)
        headers = safe_headers(name) | {"accept-ranges": "bytes"} | ({"etag": f'"{tag}"'} if tag else {})
        if span is None and size > MOST_AT_ONCE:
            return StreamingResponse(_pieces(size, read, close), 200, headers, media)
        start, end = span or (0, size)
        data = await asyncio.to_thread(read, start, min(end - start, MOST_AT_ONCE))
    except BaseException:
        close()
        raise
    close()
    if span is None:
        return Response(data, 200, headers, media)
    if not data:
        raise _beyond(size)  # it became shorter while it was read
    return Response(data, 206, headers | {"content-range": f"bytes {start}-{start + len(data) - 1}/{size}"}, media)


def safe_headers(name: str) -> dict[str, str]:
    """Headers that keep browsers from running or rendering the content, whatever it is."""
    return {
        "content-disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}",
        "x-content-type-options": "nosniff",
        "content-security-policy": "default-src 'none'; sandbox",
        "cross-origin-resource-policy": "same-origin",
        "cache-control": "private, no-cache",
    }


def _span(asked: str | None, size: int) -> tuple[int, int] | None:
    """The requested start and end; None for all of it, also if the header is malformed or names several ranges."""
    match = _RANGE.fullmatch(asked.strip()) if asked and len(asked) < 100 else None
    if match is None or match[0].lower() == "bytes=-":
        return None
    if not match[1]:
        length = int(match[2])
        if not length or not size:
            raise _beyond(size)
        return max(size - length, 0), size
    start = int(match[1])
    end = int(match[2]) + 1 if match[2] else max(size, start + 1)
    if end <= start:
        return None
    if start >= size:
        raise _beyond(size)
    return start, min(end, size)


def _beyond(size: int) -> ApiError:
    return ApiError("range_not_satisfiable", f"The range is outside the {size} bytes there are.", size=size)


async def _pieces(size: int, read: Reader, close: Callable[[], None]) -> AsyncIterator[bytes]:
    offset = 0
    try:
        while offset < size and (piece := await asyncio.to_thread(read, offset, min(PIECE, size - offset))):
            offset += len(piece)
            yield piece
    finally:
        close()
