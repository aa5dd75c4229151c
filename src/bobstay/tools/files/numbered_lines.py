"""Shows lines of text with their numbers, within the bounds a model's context can bear."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from bobstay.tools.files.patch import StructuredHunk

MOST_LINES = 2000
LONGEST_LINE = 2000
MOST_BYTES = 50_000
_SNIPPET_LINES = 40
_SNIPPET_LINE = 300


class NumberedLines(Struct, frozen=True):
    """The lines that fit."""

    shown: str
    """With numbers, for the model."""
    plain: str
    """Without, for people and programs."""
    count: int


def page(lines: Sequence[str], first: int) -> NumberedLines:
    """Number `lines` from `first`; those too long are cut, those that no longer fit are left out."""
    shown: list[str] = []
    plain: list[str] = []
    room = MOST_BYTES
    for number, whole in enumerate(lines, first):
        line = whole if len(whole) <= LONGEST_LINE else cut(whole, len(whole))
        room -= len(line) + 8 if line.isascii() else len(line.encode("utf-8", "surrogatepass")) + 8
        if room < 0 and shown:
            break
        shown.append(f"{number}\t{line}")
        plain.append(line)
    return NumberedLines("\n".join(shown), "\n".join(plain), len(shown))


def cut(beginning: str, length: int) -> str:
    """What is shown of a line of `length` characters that is too long."""
    return f"{beginning[: LONGEST_LINE - 60]}... [line cut: {length:,} characters]"


def numbered(lines: Sequence[str], first: int, most: int = _SNIPPET_LINES) -> str:
    """A short numbered snippet for messages."""
    shown = [f"{number}\t{_clip(line)}" for number, line in enumerate(lines[:most], first)]
    if len(lines) > most:
        shown.append(f"... [{len(lines) - most} more lines]")
    return "\n".join(shown)


def after(hunks: "Sequence[StructuredHunk]") -> str:
    """What the changed places read now, with line numbers."""
    parts: list[str] = []
    room = _SNIPPET_LINES
    for index, hunk in enumerate(hunks):
        lines = [line[1:] for line in hunk["lines"] if line[0] in " +"]
        parts.append(numbered(lines, hunk["newStart"], max(room, 1)))
        room -= len(lines)
        if room <= 0 and index + 1 < len(hunks):
            parts.append(f"... [{len(hunks) - index - 1} more changed places]")
            break
    return "\n...\n".join(part for part in parts if part)


def _clip(line: str) -> str:
    return line if len(line) <= _SNIPPET_LINE else f"{line[:_SNIPPET_LINE]}... [line cut]"
