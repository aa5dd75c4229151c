"""Cuts what a process writes into lines: whole ones up to a size, and a note in the place of longer ones."""

from typing import Any

import msgspec
from msgspec import Struct

from bobstay.wire.stdio import BadLineError, parse_line

LONGEST = 10 * 1024 * 1024
"""Bytes of a line that are read; a longer one is counted and left out."""


class TooLong(Struct, frozen=True):
    """A line nobody can have: how many bytes it had, and its first ones."""

    size: int
    start: bytes


class LineSplitter:
    """Feed it pieces as they come. It never holds more than the longest line it would give out."""

    def __init__(self, longest: int = LONGEST) -> None:
        self._longest = longest
        self._pieces: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> list[bytes | TooLong]:
        """The lines that are whole now, without blank ones."""
        found: list[bytes | TooLong] = []
        *whole, rest = data.split(b"\n")
        for piece in whole:
            self._add(piece)
            found += self._taken()
        self._add(rest)
        return found

    def rest(self, code: int = 0) -> list[bytes | TooLong]:
        """What came after the last newline: nothing more will, however the process ended."""
        return self._taken()

    def _add(self, piece: bytes) -> None:
        room = self._longest + 1 - self._size
        self._size += len(piece)
        if piece and room > 0:
            self._pieces.append(piece[:room])

    def _taken(self) -> list[bytes | TooLong]:
        pieces, size = self._pieces, self._size
        self._pieces, self._size = [], 0
        if size > self._longest:
            return [TooLong(size, b"".join(pieces)[:200])]
        line = b"".join(pieces).strip()
        return [line] if line else []


def frame_of(line: bytes) -> dict[str, Any] | None:
    """The JSON object on a line, or None where there is none."""
    try:
        return parse_line(line)
    except (BadLineError, msgspec.DecodeError, UnicodeError, RecursionError):
        return None
