"""Finds where a text stands in a file: literally, or where only unseen differences are in the way."""

from bisect import bisect_left
from collections.abc import Callable, Iterator

from msgspec import Struct

from bobstay.tools.files.file_content import with_plain_newlines
from bobstay.tools.files.indent import Reindent, fit
from bobstay.tools.files.lookalikes import folded, indent_of

_LARGEST_TOLERANT = 5 << 20
"""Characters of a file up to which places are also looked for with unseen differences."""
_MOST_COMPARED = 5_000_000
"""Lines compared at most when looking for a block of lines; a block more common than that is no place."""
_ENOUGH = 1000
"""Places after which it is beyond doubt that a text does not stand in one place only."""


class Span(Struct, frozen=True):
    """A place in the text of a file."""

    start: int
    end: int
    line: int
    """The number of its first line, from 1."""
    reindent: Reindent | None = None
    inside: bool = False
    """It begins after the indentation of its first line, found together with a rule for the other lines."""


class Matches(Struct, frozen=True):
    spans: tuple[Span, ...]
    overlooked: str = ""
    """Which differences were overlooked to find them; empty for a literal match."""


def find(text: str, old: str, *, every: bool = False) -> Matches:
    """The places of `old` in `text` by the strictest way that finds any.

    With `every`, all that do not overlap; else places may overlap, and a thousand are enough.
    How newlines are written never matters, because a model does not see it.
    """
    matches = _find(text, old, every)
    return Matches(_apart(matches.spans), matches.overlooked) if every else matches


def _find(text: str, old: str, every: bool) -> Matches:
    plain, wanted = _Plain(text), with_plain_newlines(old)
    if "\r" in old and (spans := _literal(text, old, every)):
        return Matches(tuple(plain.renumbered(spans)))
    if spans := _literal(plain.text, wanted, every):
        return Matches(tuple(plain.placed(spans)))
    if len(text) > _LARGEST_TOLERANT or not wanted.strip():
        return Matches(())
    alike = folded(plain.text)
    if spans := _literal(alike, folded(wanted), every):
        return Matches(tuple(plain.placed(spans)), "typographic characters (quotes, dashes, special spaces)")
    if spans := list(_by_lines(alike, wanted, str.strip)):
        return Matches(tuple(plain.placed(spans)), "indentation and blanks at line ends")
    if spans := list(_by_lines(alike, wanted, _collapsed)):
        return Matches(tuple(plain.placed(spans)), "spacing")
    return Matches(())


def some_lines(spans: tuple[Span, ...], most: int = 10) -> str:
    """The line numbers of `spans` in words."""
    numbers = ", ".join(str(span.line) for span in spans[:most])
    return f"{numbers} and {len(spans) - most} more" if len(spans) > most else numbers


class _Plain:
    """A text with plain newlines that knows where its characters stand in the text it was made from."""

    def __init__(self, original: str) -> None:
        self.text = with_plain_newlines(original)
        self.pairs: list[int] = []
        """Where, in the plain text, a newline stands for two characters."""
        if len(self.text) != len(original):
            at = original.find("\r\n")
            while at >= 0:
                self.pairs.append(at - len(self.pairs))
                at = original.find("\r\n", at + 2)

    def placed(self, spans: list[Span]) -> Iterator[Span]:
        """Spans of the plain text as spans of the original."""
        if not self.pairs:
            yield from spans
            return
        for span in spans:
            yield Span(self._origin(span.start), self._origin(span.end), span.line, span.reindent, span.inside)

    def renumbered(self, spans: list[Span]) -> Iterator[Span]:
        """Spans of the original with the numbers their lines have in the plain text."""
        line, counted = 1, 0
        for span in spans:
            at = span.start - bisect_left(range(len(self.pairs)), span.start, key=lambda nth: self.pairs[nth] + nth)
            line += self.text.count("\n", counted, at)
            counted = at
            yield Span(span.start, span.end, line)

    def _origin(self, at: int) -> int:
        return at + bisect_left(self.pairs, at)


def _apart(spans: tuple[Span, ...]) -> tuple[Span, ...]:
    """`spans` from the first on without those that overlap one already taken."""
    kept: list[Span] = []
    for span in spans:
        if not kept or span.start >= kept[-1].end:
            kept.append(span)
    return tuple(kept)


def _literal(text: str, wanted: str, every: bool) -> list[Span]:
    spans: list[Span] = []
    step = len(wanted) if every else 1
    line, counted = 1, 0
    at = text.find(wanted)
    while at >= 0 and (every or len(spans) < _ENOUGH):
        line += text.count("\n", counted, at)
        counted = at
        spans.append(Span(at, at + len(wanted), line))
        at = text.find(wanted, at + step)
    return spans


def _by_lines(alike: str, wanted: str, key: Callable[[str], str]) -> Iterator[Span]:
    """Places where whole lines are the same but for what `key` leaves out and a regular change of indentation.

    A newline that `wanted` begins or ends with stands for the end of the line before, or the start of the next.
    """
    lines = alike.split("\n")
    parts = folded(wanted).split("\n")
    leading, trailing = parts[0] == "" and len(parts) > 1, parts[-1] == "" and len(parts) > 1
    core = parts[leading : len(parts) - trailing]
    keys = [key(part) for part in core]
    if not any(keys):
        return
    starts = _starts(lines)
    line_keys = [key(line) for line in lines]
    for at in _sublists(line_keys, keys):
        last = at + len(core)
        if (leading and at == 0) or (trailing and last == len(lines)):
            continue
        reindent, skip = _indentation(core, lines[at:last])
        if reindent is None:
            continue
        start = starts[at] - 1 if leading else starts[at] + skip
        end = starts[last] if trailing else starts[last - 1] + len(lines[last - 1])
        yield Span(start, end, at + 1, reindent, inside=skip > 0)


def _indentation(given: list[str], present: list[str]) -> tuple[Reindent | None, int]:
    """The rule of indentation, and how much of the first line's own indentation stays out of the match."""
    pairs = [(indent_of(old), indent_of(new)) for old, new in zip(given, present, strict=True) if old.strip()]
    if (rule := fit(pairs)) is not None:
        return rule, 0
    if given[0].strip() and not indent_of(given[0]):  # it began where the text of its line begins
        return fit(pairs[1:]), len(indent_of(present[0]))
    return None, 0


def _sublists(items: list[str], wanted: list[str]) -> Iterator[int]:
    counts = {item: items.count(item) for item in set(wanted[:50])}
    rarest = min(counts, key=counts.__getitem__)
    offset, count = wanted.index(rarest), len(wanted)
    if counts[rarest] * count > _MOST_COMPARED:
        return
    at = -1
    for _ in range(counts[rarest]):
        at = items.index(rarest, at + 1)
        start = at - offset
        if start >= 0 and items[start : start + count] == wanted:
            yield start


def _starts(lines: list[str]) -> list[int]:
    starts, at = [], 0
    for line in lines:
        starts.append(at)
        at += len(line) + 1
    return starts


def _collapsed(line: str) -> str:
    return " ".join(line.split())
