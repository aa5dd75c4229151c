"""Undoes the compression of HTTP answers as they come in, up to a limit."""

from typing import Any

PACKINGS = frozenset({"gzip", "x-gzip", "deflate"})


class DamagedError(ValueError):
    """The data cannot be unpacked."""


def packing_of(content_encoding: str) -> str:
    """The one encoding a `Content-Encoding` header names; "" if the body is as it is.

    Raises:
        DamagedError: several, or one that cannot be undone here.
    """
    kinds = [kind for kind in content_encoding.lower().replace(" ", "").split(",") if kind not in ("", "identity")]
    if not kinds:
        return ""
    if len(kinds) > 1 or kinds[0] not in PACKINGS:
        raise DamagedError(f"it is packed as {content_encoding[:40]!r}, which was not asked for")
    return kinds[0]


class Unpacker:
    """Takes a gzip or deflate stream in pieces; gives out at most `limit` bytes, however much is packed inside."""

    def __init__(self, packing: str, limit: int) -> None:
        """`packing` is what `packing_of` gave."""
        import zlib

        self._zlib = zlib
        self._inner: Any = zlib.decompressobj(47)  # with a gzip or a zlib header
        self._may_be_bare = packing == "deflate"
        self._left = limit
        self._seen = b""
        """All that came before the first byte could be unpacked: how it is packed is not known until then."""
        self._begun = False
        self.full = False
        """There was more than the limit."""

    def feed(self, data: bytes) -> bytes:
        """What can be unpacked by now.

        Raises:
            DamagedError: it is no such stream.
        """
        pieces: list[bytes] = []
        while data and not self.full:
            if self._inner.eof:
                if data.strip(b"\0") == b"":
                    break  # padding
                self._inner = self._zlib.decompressobj(31)  # gzip streams may follow each other
            pieces.append(self._some(data))
            data = self._inner.unused_data if self._inner.eof else b""
        return b"".join(pieces)

    def _some(self, data: bytes) -> bytes:
        room = self._left + 1  # one more than allowed shows that there is more
        try:
            piece: bytes = self._inner.decompress(data, room)
        except self._zlib.error as error:
            if self._begun or not self._may_be_bare:
                raise DamagedError("its compression is damaged") from error
            self._inner = self._zlib.decompressobj(-15)  # bare, as some servers understand "deflate"
            try:
                piece = self._inner.decompress(self._seen + data, room)
            except self._zlib.error:
                raise DamagedError("its compression is damaged") from error
        self._begun = self._begun or bool(piece)
        self._seen = b"" if self._begun else self._seen + data
        if len(piece) > self._left:
            self.full = True
            piece = piece[: self._left]
        self._left -= len(piece)
        return piece
