"""Applies the changes a model asks for to a text: all of them or none."""

import re
from collections.abc import Sequence

from msgspec import Struct

from bobstay.tools.base import ToolError
from bobstay.tools.files.file_content import visible, with_plain_newlines
from bobstay.tools.files.match_replacement import merged
from bobstay.tools.files.nearest_match import nearest
from bobstay.tools.files.numbered_lines import numbered
from bobstay.tools.files.text_match import Matches, find, some_lines

_AROUND = 3
"""Lines shown before and after a place."""
_NUMBERED = re.compile(r"[ ]*\d+\t")


class Replacement(Struct, frozen=True):
    """One thing to find and what to put in its place."""

    old: str
    new: str
    every: bool = False


class Changed(Struct, frozen=True):
    text: str
    count: int
    """How many places were changed."""
    notes: tuple[str, ...] = ()
    """What the model should know about how places were found."""


def apply(text: str, replacements: Sequence[Replacement]) -> Changed:
    """Apply each of `replacements` to what the one before left.

    Raises:
        ToolError: one of them finds no place, or more than it may change. It says which, and where to look.
    """
    count, notes = 0, []
    for number, replacement in enumerate(replacements, 1):
        which = f"Edit {number} of {len(replacements)}: " if len(replacements) > 1 else ""
        matches = find(text, replacement.old, every=replacement.every)
        _require_place(text, replacement, matches, which)
        if matches.overlooked:
            notes.append(which + _note(replacement, matches))
        pieces, done = [], 0
        for span in matches.spans:
            pieces += [text[done : span.start], merged(text, span, replacement.old, replacement.new)]
            done = span.end
        text = "".join((*pieces, text[done:]))
        count += len(matches.spans)
    return Changed(text, count, tuple(notes))


def place_of(text: str, replacements: Sequence[Replacement]) -> str:
    """Where in `text` the first of `replacements` belongs, as a numbered snippet; "" where it cannot be told."""
    old = replacements[0].old
    spans = find(text, old).spans
    if not spans:
        return nearest(text, old)
    first = max(spans[0].line - 1 - _AROUND, 0)
    last = spans[0].line + with_plain_newlines(old).count("\n") + _AROUND
    return numbered(visible(with_plain_newlines(text)).split("\n")[first:last], first + 1)


def _require_place(text: str, replacement: Replacement, matches: Matches, which: str) -> None:
    spans = matches.spans
    if not spans:
        raise ToolError(which + _missing(text, replacement.old) + " Nothing was written.")
    if len(spans) > 1 and not replacement.every:
        loosely = f" (leaving aside {matches.overlooked})" if matches.overlooked else ""
        many = f"{len(spans)} or more" if len(spans) >= 1000 else str(len(spans))
        raise ToolError(
            f"{which}old_string is found in {many} places{loosely}, at lines {some_lines(spans)}. Nothing was written. "
            "Give more of the text around the one you mean, or set replace_all to change every one."
        )


def _missing(text: str, old: str) -> str:
    lines = [line for line in old.split("\n") if line]
    if lines and all(_NUMBERED.match(line) for line in lines):
        bare = "\n".join(_NUMBERED.sub("", line, count=1) for line in old.split("\n"))
        if find(text, bare).spans:
            return (
                "old_string is not in the file: it carries the line numbers that Read puts in front. "
                "Leave them (and the tab after them) out."
            )
    close = nearest(text, old)
    if close:
        return f"old_string is not in the file. The most similar place reads:\n{close}\nCopy the text from there."
    return "old_string is not in the file, nor anything like it. Read the file to see what it holds."


def _note(replacement: Replacement, matches: Matches) -> str:
    span = matches.spans[0]
    where = f"line {span.line}" if len(matches.spans) == 1 else f"lines {some_lines(matches.spans)}"
    indented = "; new_string was indented as the file is" if span.reindent is not None else ""
    return (
        f"old_string is not in the file to the letter; the only match, found by leaving aside differences in "
        f"{matches.overlooked}, is at {where}{indented}. Lines you did not change were left as they are."
        if not replacement.every
        else f"old_string is not in the file to the letter; it was found at {where} by leaving aside differences in "
        f"{matches.overlooked}{indented}. Lines you did not change were left as they are."
    )
