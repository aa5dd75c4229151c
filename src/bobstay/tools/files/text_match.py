"""Finds a text in a file: literally, or ignoring differences a model does not see."""

from bisect import bisect_left
from collections.abc import Callable, Iterator

from msgspec import Struct

from bobstay.tools.files.file_content import with_plain_newlines
from bobstay.tools.files.indent import Reindent, find_indent_rule
from bobstay.tools.files.lookalikes import fold_lookalikes, indent_of

_MAX_TOLERANT_SIZE = 5 << 20
"""Files larger than this are searched literally only."""
_MAX_COMPARED = 5_000_000
"""Lines compared when searching for a block; a more frequent block counts as not found."""
_MAX_MATCHES = 1000
"""Matches after which the search stops, because the text is certainly not unique."""


class Span(Struct, frozen=True):
    """A range of the text of a file."""

    start: int
    end: int
    line: int
    """The number of its first line, from 1."""
    reindent: Reindent | None = None
    inside: bool = False
    """Whether it begins after the indentation of its first line, which the reindent rule then leaves out."""


class Matches(Struct, frozen=True):
    spans: tuple[Span, ...]
    overlooked: str = ""
    """Which differences were ignored to find them; empty for a literal match."""


def find_matches(text: str, old: str, *, every: bool = False) -> Matches:
    """Find `old` in `text` with the strictest method that finds a match.

    With `every`, all matches that do not overlap; otherwise matches may overlap, and the search stops at a thousand.
    Newline style is always ignored, because a model does not see it.
    """
    matches = _find(text, old, every)
    return Matches(_drop_overlaps(matches.spans), matches.overlooked) if every else matches


def _find(text: str, old: str, every: bool) -> Matches:
    plain, wanted = _Plain(text), with_plain_newlines(old)
    if "\r" in old and (spans := _find_literal(text, old, every)):
        return Matches(tuple(plain.renumber(spans)))
    if spans := _find_literal(plain.text, wanted, every):
        return Matches(tuple(plain.to_original(spans)))
    if len(text) > _MAX_TOLERANT_SIZE or not wanted.strip():
        return Matches(())
    alike = fold_lookalikes(plain.text)
    if spans := _find_literal(alike, fold_lookalikes(wanted), every):
        return Matches(tuple(plain.to_original(spans)), "typographic characters (quotes, dashes, special spaces)")
    if spans := list(_find_by_lines(alike, wanted, str.strip)):
        return Matches(tuple(plain.to_original(spans)), "indentation and blanks at line ends")
    if spans := list(_find_by_lines(alike, wanted, _collapse)):
        return Matches(tuple(plain.to_original(spans)), "spacing")
    return Matches(())


def format_line_numbers(spans: tuple[Span, ...], most: int = 10) -> str:
    """The line numbers of `spans` as text."""
    numbers = ", ".join(str(span.line) for span in spans[:most])
    return f"{numbers} and {len(spans) - most} more" if len(spans) > most else numbers


class _Plain:
    """A text with plain newlines that maps positions back to the original text."""

    def __init__(self, original: str) -> None:
        self.text = with_plain_newlines(original)
        self.pairs: list[int] = []
        """Positions in the plain text where a newline replaced CRLF."""
        if len(self.text) != len(original):
            at = original.find("\r\n")
            while at >= 0:
                self.pairs.append(at - len(self.pairs))
                at = original.find("\r\n", at + 2)

    def to_original(self, spans: list[Span]) -> Iterator[Span]:
        """Map spans of the plain text to the original."""
        if not self.pairs:
            yield from spans
            return
        for span in spans:
            yield Span(self._origin(span.start), self._origin(span.end), span.line, span.reindent, span.inside)

    def renumber(self, spans: list[Span]) -> Iterator[Span]:
        """Number the lines of spans of the original as in the plain text."""
        line, counted = 1, 0
        for span in spans:
            at = span.start - bisect_left(range(len(self.pairs)), span.start, key=lambda nth: self.pairs[nth] + nth)
            line += self.text.count("\n", counted, at)
            counted = at
            yield Span(span.start, span.end, line)

    def _origin(self, at: int) -> int:
        return at + bisect_left(self.pairs, at)


def _drop_overlaps(spans: tuple[Span, ...]) -> tuple[Span, ...]:
    """Drop spans that overlap an earlier one."""
    kept: list[Span] = []
    for span in spans:
        if not kept or span.start >= kept[-1].end:
            kept.append(span)
    return tuple(kept)


def _find_literal(text: str, wanted: str, every: bool) -> list[Span]:
    spans: list[Span] = []
    step = len(wanted) if every else 1
    line, counted = 1, 0
    at = text.find(wanted)
    while at >= 0 and (every or len(spans) < _MAX_MATCHES):
        line += text.count("\n", counted, at)
        counted = at
        spans.append(Span(at, at + len(wanted), line))
        at = text.find(wanted, at + step)
    return spans


def _find_by_lines(alike: str, wanted: str, key: Callable[[str], str]) -> Iterator[Span]:
    """Find blocks of whole lines that match after `key` and a consistent change of indentation.

    A leading or trailing newline of `wanted` matches the end of the previous line or the start of the next.
    """
    lines = alike.split("\n")
    parts = fold_lookalikes(wanted).split("\n")
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
    """The indentation rule, and how much of the first line's indentation is outside the match."""
    pairs = [(indent_of(old), indent_of(new)) for old, new in zip(given, present, strict=True) if old.strip()]
    if (rule := find_indent_rule(pairs)) is not None:
        return rule, 0
    if given[0].strip() and not indent_of(given[0]):  # it starts at the text of its line
        return find_indent_rule(pairs[1:]), len(indent_of(present[0]))
    return None, 0


def _sublists(items: list[str], wanted: list[str]) -> Iterator[int]:
    counts = {item: items.count(item) for item in set(wanted[:50])}
    rarest = min(counts, key=counts.__getitem__)
    offset, count = wanted.index(rarest), len(wanted)
    if counts[rarest] * count > _MAX_COMPARED:
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


def _collapse(line: str) -> str:
    return " ".join(line.split())
