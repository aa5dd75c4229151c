"""Splits the output of a process into lines; lines that are too long are replaced by a marker."""

from typing import Any

import msgspec
from msgspec import Struct

from bobstay.wire.stdio import BadLineError, parse_line

LONGEST = 10 * 1024 * 1024
"""Bytes of a line that are read; a longer one is counted and ignored."""


class TooLong(Struct, frozen=True):
    """Marker for a line that is too long: its size, and its first bytes."""

    size: int
    start: bytes


class LineSplitter:
    """Feed it pieces of output. It never buffers more than the longest allowed line."""

    def __init__(self, longest: int = LONGEST) -> None:
        self._longest = longest
        self._pieces: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> list[bytes | TooLong]:
        """The lines that are complete now, without blank ones."""
        found: list[bytes | TooLong] = []
        *whole, rest = data.split(b"\n")
        for piece in whole:
            self._add(piece)
            found += self._take_line()
        self._add(rest)
        return found

    def rest(self, code: int = 0) -> list[bytes | TooLong]:
        """The line after the last newline, when the process has ended."""
        return self._take_line()

    def _add(self, piece: bytes) -> None:
        room = self._longest + 1 - self._size
        self._size += len(piece)
        if piece and room > 0:
            self._pieces.append(piece[:room])

    def _take_line(self) -> list[bytes | TooLong]:
        pieces, size = self._pieces, self._size
        self._pieces, self._size = [], 0
        if size > self._longest:
            return [TooLong(size, b"".join(pieces)[:200])]
        line = b"".join(pieces).strip()
        return [line] if line else []


def parse_frame(line: bytes) -> dict[str, Any] | None:
    """The JSON object on a line, or None if there is none."""
    try:
        return parse_line(line)
    except (BadLineError, msgspec.DecodeError, UnicodeError, RecursionError):
        return None
