"""The difference of two texts as hunks that programs can show, and as a snippet that a model can read."""

from typing import TypedDict

from msgspec import Struct

from bobstay.tools.files.file_content import visible, with_plain_newlines
from bobstay.tools.files.text_diff import LineChange, changes

LARGEST_FIELD = 64 * 1024
"""Bytes of one field for programs; a frame with several of them must stay under a mebibyte."""
_CONTEXT = 3
_UNENDED = "\\ No newline at end of file"


class StructuredHunk(TypedDict):
    """One hunk in the shape programs know (`structuredPatch`)."""

    oldStart: int
    oldLines: int
    newStart: int
    newLines: int
    lines: list[str]


class Patch(Struct, frozen=True):
    hunks: list[StructuredHunk]
    added: int
    removed: int

    def bounded(self) -> list[StructuredHunk]:
        """As many of the hunks, from the first, as a frame can carry."""
        kept: list[StructuredHunk] = []
        room = LARGEST_FIELD
        for hunk in self.hunks:
            room -= sum(map(len, hunk["lines"]))
            if room < 0:
                break
            kept.append(hunk)
        return kept


def field(text: str) -> str | None:
    """`text` as a field for programs: readable, newlines plain, or None where it is too large."""
    shown = clipped(text)
    return with_plain_newlines(shown) if len(shown) == len(text) else None


def clipped(text: str) -> str:
    """`text` as a field that must be there: cut where it is too large."""
    text = visible(text[:LARGEST_FIELD])
    return text if text.isascii() else text.encode()[:LARGEST_FIELD].decode("utf-8", "ignore")


def patch_of(old: str, new: str) -> Patch:
    """How `old` became `new`; the way newlines are written is not looked at."""
    before, after = _lines(old), _lines(new)
    found = changes(before, after)
    return Patch(
        [_hunk(before, after, group) for group in _groups(found)],
        added=sum(change.new_end - change.new_start for change in found),
        removed=sum(change.old_end - change.old_start for change in found),
    )


def _lines(text: str) -> list[str]:
    """The lines of `text`; a last one that does not end carries the mark that says so."""
    lines = visible(with_plain_newlines(text)).split("\n")
    last = lines.pop()
    if last:
        lines.append(f"{last}\n{_UNENDED}")
    return lines


def _groups(found: list[LineChange]) -> list[list[LineChange]]:
    """Changes so near each other that their context would meet go into one hunk."""
    groups: list[list[LineChange]] = []
    for change in found:
        if groups and change.old_start - groups[-1][-1].old_end <= 2 * _CONTEXT:
            groups[-1].append(change)
        else:
            groups.append([change])
    return groups


def _hunk(before: list[str], after: list[str], group: list[LineChange]) -> StructuredHunk:
    first, last = group[0], group[-1]
    lead = min(_CONTEXT, first.old_start)
    tail = min(_CONTEXT, len(before) - last.old_end)
    lines: list[str] = []
    at = first.old_start - lead
    for change in group:
        lines += [" " + line for line in before[at : change.old_start]]
        lines += ["-" + line for line in before[change.old_start : change.old_end]]
        lines += ["+" + line for line in after[change.new_start : change.new_end]]
        at = change.old_end
    lines += [" " + line for line in before[at : at + tail]]
    old_count = last.old_end + tail - (first.old_start - lead)
    new_count = last.new_end + tail - (first.new_start - lead)
    return StructuredHunk(
        oldStart=first.old_start - lead + (1 if old_count else 0),
        oldLines=old_count,
        newStart=first.new_start - lead + (1 if new_count else 0),
        newLines=new_count,
        lines=[piece for line in lines for piece in line.split("\n")],
    )
