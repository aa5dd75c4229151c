"""Finds the passages of a file most similar to a text that is not in it."""

from collections import Counter

from bobstay.tools.files.file_content import make_visible, with_plain_newlines
from bobstay.tools.files.lookalikes import fold_lookalikes
from bobstay.tools.files.numbered_lines import number_snippet

_MAX_LINES = 20_000
_MAX_COMPARED = 2_000
_MAX_LENGTH = 200
_SHOWN = 12


def describe_nearest(text: str, wanted: str) -> str:
    """The passages of `text` most similar to `wanted`, at most two, with line numbers; "" if there is none."""
    lines = with_plain_newlines(text[: 4 << 20]).split("\n")[:_MAX_LINES]
    parts = with_plain_newlines(wanted).strip("\n").split("\n")[:_SHOWN]
    starts = {_by_shared_lines(lines, parts), _by_likeness(lines, parts)} - {None}
    snippets = []
    for at in sorted(start for start in starts if start is not None):
        first = max(at - 1, 0)
        snippets.append(number_snippet([make_visible(line) for line in lines[first : at + len(parts) + 1]], first + 1))
    return "\n...\n".join(snippets)


def _by_shared_lines(lines: list[str], parts: list[str]) -> int | None:
    """The start with the most identical lines, ignoring surrounding whitespace."""
    keys = {key: offset for offset, part in reversed(list(enumerate(parts))) if len(key := _key(part)) > 3}
    votes: Counter[int] = Counter()
    for number, line in enumerate(lines):
        offset = keys.get(_key(line))
        if offset is not None:
            votes[max(number - offset, 0)] += 1
    return votes.most_common(1)[0][0] if votes else None


def _by_likeness(lines: list[str], parts: list[str]) -> int | None:
    """The start at which the longest wanted line has its most similar line."""
    from difflib import SequenceMatcher

    offset = max(range(len(parts)), key=lambda at: len(_key(parts[at])))
    target = _key(parts[offset])[:_MAX_LENGTH]
    if len(target) < 3:
        return None
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(target)
    best, start, compared = 0.6, None, 0
    for number, line in enumerate(lines):
        key = _key(line)[:_MAX_LENGTH]
        if target in key:
            return max(number - offset, 0)
        if not len(target) * 0.4 <= len(key) <= len(target) * 2.5:
            continue
        matcher.set_seq1(key)
        if matcher.quick_ratio() <= best:
            continue
        compared += 1
        if compared > _MAX_COMPARED:
            break
        ratio = matcher.ratio()
        if ratio > best:
            best, start = ratio, max(number - offset, 0)
    return start


def _key(line: str) -> str:
    return fold_lookalikes(line).strip()
