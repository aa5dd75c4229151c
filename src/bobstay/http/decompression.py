"""Decompresses HTTP responses as they arrive, up to a limit."""

from typing import Any

ENCODINGS = frozenset({"gzip", "x-gzip", "deflate"})
_PIECE = 4096
"""Bytes that are decompressed at once: zlib copies what follows a stream, for each of many short streams again."""


class DecompressionError(ValueError):
    """The data cannot be decompressed."""


def parse_content_encoding(content_encoding: str) -> str:
    """Return the encoding that a `Content-Encoding` header names; "" if the body is not compressed.

    Raises:
        DecompressionError: there are several, or it is not supported.
    """
    kinds = [kind for kind in content_encoding.lower().replace(" ", "").split(",") if kind not in ("", "identity")]
    if not kinds:
        return ""
    if len(kinds) > 1 or kinds[0] not in ENCODINGS:
        raise DecompressionError(f"its content encoding is {content_encoding[:40]!r}, which was not requested")
    return kinds[0]


class Decompressor:
    """Decompresses a gzip or deflate stream in pieces, to at most `limit` bytes in total."""

    def __init__(self, encoding: str, limit: int) -> None:
        """`encoding` is a result of `parse_content_encoding`."""
        import zlib

        self._zlib = zlib
        self._inner: Any = zlib.decompressobj(47)  # with a gzip or a zlib header
        self._may_be_bare = encoding == "deflate"
        self._left = limit
        self._seen = b""
        """All data before the first decompressed byte, if it may be bare: the variant is not known until then."""
        self._begun = False
        self.full = False
        """There was more data than the limit."""

    def feed(self, data: bytes) -> bytes:
        """Return what can be decompressed now.

        Raises:
            DecompressionError: the data is not a valid stream.
        """
        return b"".join(self._feed_piece(data[at : at + _PIECE]) for at in range(0, len(data), _PIECE))

    def _feed_piece(self, data: bytes) -> bytes:
        pieces: list[bytes] = []
        while data and not self.full:
            if self._inner.eof:
                if data.strip(b"\0") == b"":
                    break  # padding
                self._inner = self._zlib.decompressobj(31)  # gzip streams may follow each other
            pieces.append(self._decompress(data))
            data = self._inner.unused_data if self._inner.eof else b""
        return b"".join(pieces)

    def _decompress(self, data: bytes) -> bytes:
        room = self._left + 1  # one more than allowed shows that there is more
        try:
            piece: bytes = self._inner.decompress(data, room)
        except self._zlib.error as error:
            if self._begun or not self._may_be_bare:
                raise DecompressionError("its compression is damaged") from error
            self._inner = self._zlib.decompressobj(-15)  # bare, as some servers understand "deflate"
            try:
                piece = self._inner.decompress(self._seen + data, room)
            except self._zlib.error:
                raise DecompressionError("its compression is damaged") from error
        self._begun = self._begun or bool(piece) or self._inner.eof
        self._seen = self._seen + data if self._may_be_bare and not self._begun else b""
        if len(piece) > self._left:
            self.full = True
            piece = piece[: self._left]
        self._left -= len(piece)
        return piece
