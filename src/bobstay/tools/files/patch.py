"""Computes the difference of two texts as hunks (`structuredPatch`)."""

from typing import TypedDict

from msgspec import Struct

from bobstay.tools.files.file_content import make_visible, with_plain_newlines
from bobstay.tools.files.text_diff import LineChange, diff_lines

MAX_FIELD_SIZE = 64 * 1024
"""Bytes of one display field, so that a frame with several stays under a mebibyte."""
_CONTEXT = 3
_NO_NEWLINE = "\\ No newline at end of file"


class StructuredHunk(TypedDict):
    """One hunk, in the format of `structuredPatch`."""

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
        """The first hunks, as many as fit into a frame."""
        kept: list[StructuredHunk] = []
        room = MAX_FIELD_SIZE
        for hunk in self.hunks:
            room -= sum(map(len, hunk["lines"]))
            if room < 0:
                break
            kept.append(hunk)
        return kept


def to_display_text(text: str) -> str | None:
    """`text` for a display field, with plain newlines; None if it is too large."""
    shown = clip_display_text(text)
    return with_plain_newlines(shown) if len(shown) == len(text) else None


def clip_display_text(text: str) -> str:
    """`text` for a required display field, cut if it is too large."""
    text = make_visible(text[:MAX_FIELD_SIZE])
    return text if text.isascii() else text.encode()[:MAX_FIELD_SIZE].decode("utf-8", "ignore")


def make_patch(old: str, new: str) -> Patch:
    """The patch from `old` to `new`, ignoring newline style."""
    before, after = _lines(old), _lines(new)
    line_changes = diff_lines(before, after)
    return Patch(
        [_hunk(before, after, group) for group in _groups(line_changes)],
        added=sum(change.new_end - change.new_start for change in line_changes),
        removed=sum(change.old_end - change.old_start for change in line_changes),
    )


def _lines(text: str) -> list[str]:
    """The lines of `text`; an unterminated last line is marked."""
    lines = make_visible(with_plain_newlines(text)).split("\n")
    last = lines.pop()
    if last:
        lines.append(f"{last}\n{_NO_NEWLINE}")
    return lines


def _groups(line_changes: list[LineChange]) -> list[list[LineChange]]:
    """Group changes whose context would overlap into one hunk."""
    groups: list[list[LineChange]] = []
    for change in line_changes:
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
