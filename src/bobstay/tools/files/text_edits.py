"""Applies replacements to a text: all of them or none."""

import re
from collections.abc import Sequence

from msgspec import Struct

from bobstay.tools.base import ToolError
from bobstay.tools.files.file_content import make_visible, with_plain_newlines
from bobstay.tools.files.match_replacement import merge_replacement
from bobstay.tools.files.nearest_match import describe_nearest
from bobstay.tools.files.numbered_lines import number_snippet
from bobstay.tools.files.text_match import Matches, find_matches, format_line_numbers

_AROUND = 3
"""Lines of context before and after a match."""
_NUMBERED = re.compile(r"[ ]*\d+\t")


class Replacement(Struct, frozen=True):
    """A text to find and its replacement."""

    old: str
    new: str
    every: bool = False


class ChangedText(Struct, frozen=True):
    text: str
    count: int
    """How many occurrences were replaced."""
    notes: tuple[str, ...] = ()
    """Notes for the model on inexact matches."""


def apply_replacements(text: str, replacements: Sequence[Replacement]) -> ChangedText:
    """Apply `replacements` one after the other.

    Raises:
        ToolError: one of them has no match or too many. The text says which, and where to look.
    """
    count, notes = 0, []
    for number, replacement in enumerate(replacements, 1):
        which = f"Edit {number} of {len(replacements)}: " if len(replacements) > 1 else ""
        matches = find_matches(text, replacement.old, every=replacement.every)
        _require_match(text, replacement, matches, which)
        if matches.overlooked:
            notes.append(which + _describe_loose_match(replacement, matches))
        pieces, done = [], 0
        for span in matches.spans:
            pieces += [text[done : span.start], merge_replacement(text, span, replacement.old, replacement.new)]
            done = span.end
        text = "".join((*pieces, text[done:]))
        count += len(matches.spans)
    return ChangedText(text, count, tuple(notes))


def locate_snippet(text: str, replacements: Sequence[Replacement]) -> str:
    """The passage of `text` the first replacement refers to, with line numbers; "" if unknown."""
    old = replacements[0].old
    spans = find_matches(text, old).spans
    if not spans:
        return describe_nearest(text, old)
    first = max(spans[0].line - 1 - _AROUND, 0)
    last = spans[0].line + with_plain_newlines(old).count("\n") + _AROUND
    return number_snippet(make_visible(with_plain_newlines(text)).split("\n")[first:last], first + 1)


def _require_match(text: str, replacement: Replacement, matches: Matches, which: str) -> None:
    spans = matches.spans
    if not spans:
        raise ToolError(which + _describe_missing(text, replacement.old) + " Nothing was written.")
    if len(spans) > 1 and not replacement.every:
        loosely = f" (ignoring {matches.overlooked})" if matches.overlooked else ""
        many = f"{len(spans)} or more" if len(spans) >= 1000 else str(len(spans))
        raise ToolError(
            f"{which}old_string is found in {many} places{loosely}, at lines {format_line_numbers(spans)}. "
            "Nothing was written. "
            "Give more of the text around the one you mean, or set replace_all to change every one."
        )


def _describe_missing(text: str, old: str) -> str:
    lines = [line for line in old.split("\n") if line]
    if lines and all(_NUMBERED.match(line) for line in lines):
        bare = "\n".join(_NUMBERED.sub("", line, count=1) for line in old.split("\n"))
        if find_matches(text, bare).spans:
            return (
                "old_string is not in the file: it carries the line numbers that Read puts in front. "
                "Leave them (and the tab after them) out."
            )
    close = describe_nearest(text, old)
    if close:
        return f"old_string is not in the file. The most similar place reads:\n{close}\nCopy the text from there."
    return "old_string is not in the file, nor anything like it. Read the file to see what it contains."


def _describe_loose_match(replacement: Replacement, matches: Matches) -> str:
    span = matches.spans[0]
    where = f"line {span.line}" if len(matches.spans) == 1 else f"lines {format_line_numbers(matches.spans)}"
    indented = "; new_string was indented as the file is" if span.reindent is not None else ""
    return (
        f"old_string does not match the file exactly; the only match, found by ignoring differences in "
        f"{matches.overlooked}, is at {where}{indented}. Lines you did not change were left as they are."
        if not replacement.every
        else f"old_string does not match the file exactly; it was found at {where} by ignoring differences in "
        f"{matches.overlooked}{indented}. Lines you did not change were left as they are."
    )
