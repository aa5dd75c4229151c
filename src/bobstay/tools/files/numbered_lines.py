"""Formats lines with their numbers, within size limits."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from bobstay.tools.files.patch import StructuredHunk

MAX_LINES = 2000
MAX_LINE_LENGTH = 2000
MAX_BYTES = 50_000
_SNIPPET_LINES = 40
_SNIPPET_LINE = 300


class NumberedLines(Struct, frozen=True):
    """The lines that fit."""

    shown: str
    """With numbers, for the model."""
    plain: str
    """Without, for people and programs."""
    count: int


def number_page(lines: Sequence[str], first: int) -> NumberedLines:
    """Number `lines` from `first`; long lines are cut, and lines beyond the size limit are left out."""
    shown: list[str] = []
    plain: list[str] = []
    room = MAX_BYTES
    for number, whole in enumerate(lines, first):
        line = whole if len(whole) <= MAX_LINE_LENGTH else cut_line(whole, len(whole))
        room -= len(line) + 8 if line.isascii() else len(line.encode("utf-8", "surrogatepass")) + 8
        if room < 0 and shown:
            break
        shown.append(f"{number}\t{line}")
        plain.append(line)
    return NumberedLines("\n".join(shown), "\n".join(plain), len(shown))


def cut_line(beginning: str, length: int) -> str:
    """Shorten a line of `length` characters."""
    return f"{beginning[: MAX_LINE_LENGTH - 60]}... [line cut: {length:,} characters]"


def number_snippet(lines: Sequence[str], first: int, most: int = _SNIPPET_LINES) -> str:
    """A short numbered snippet for messages."""
    shown = [f"{number}\t{_clip(line)}" for number, line in enumerate(lines[:most], first)]
    if len(lines) > most:
        shown.append(f"... [{len(lines) - most} more lines]")
    return "\n".join(shown)


def number_changed_lines(hunks: "Sequence[StructuredHunk]") -> str:
    """The new lines of each hunk with line numbers."""
    parts: list[str] = []
    room = _SNIPPET_LINES
    for index, hunk in enumerate(hunks):
        lines = [line[1:] for line in hunk["lines"] if line[0] in " +"]
        parts.append(number_snippet(lines, hunk["newStart"], max(room, 1)))
        room -= len(lines)
        if room <= 0 and index + 1 < len(hunks):
            parts.append(f"... [{len(hunks) - index - 1} more changed places]")
            break
    return "\n...\n".join(part for part in parts if part)


def _clip(line: str) -> str:
    return line if len(line) <= _SNIPPET_LINE else f"{line[:_SNIPPET_LINE]}... [line cut]"
