"""Where in a file the text a model looked for may have been meant, when it is not there."""

from collections import Counter

from bobstay.tools.files.file_content import visible, with_plain_newlines
from bobstay.tools.files.lookalikes import folded
from bobstay.tools.files.numbered_lines import numbered

_MOST_LINES = 20_000
_MOST_COMPARED = 2_000
_LONGEST = 200
_SHOWN = 12


def nearest(text: str, wanted: str) -> str:
    """The places of `text` most like `wanted`, two at most, as a numbered snippet; "" if nothing is like it."""
    lines = with_plain_newlines(text[: 4 << 20]).split("\n")[:_MOST_LINES]
    parts = with_plain_newlines(wanted).strip("\n").split("\n")[:_SHOWN]
    places = {_by_shared_lines(lines, parts), _by_likeness(lines, parts)} - {None}
    snippets = []
    for at in sorted(place for place in places if place is not None):
        first = max(at - 1, 0)
        snippets.append(numbered([visible(line) for line in lines[first : at + len(parts) + 1]], first + 1))
    return "\n...\n".join(snippets)


def _by_shared_lines(lines: list[str], parts: list[str]) -> int | None:
    """The start for which most lines are the same but for blanks, if any are."""
    keys = {key: offset for offset, part in reversed(list(enumerate(parts))) if len(key := _key(part)) > 3}
    votes: Counter[int] = Counter()
    for number, line in enumerate(lines):
        offset = keys.get(_key(line))
        if offset is not None:
            votes[max(number - offset, 0)] += 1
    return votes.most_common(1)[0][0] if votes else None


def _by_likeness(lines: list[str], parts: list[str]) -> int | None:
    """The start for which the longest wanted line has the most similar line opposite."""
    from difflib import SequenceMatcher

    offset = max(range(len(parts)), key=lambda at: len(_key(parts[at])))
    target = _key(parts[offset])[:_LONGEST]
    if len(target) < 3:
        return None
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(target)
    best, place, compared = 0.6, None, 0
    for number, line in enumerate(lines):
        key = _key(line)[:_LONGEST]
        if target in key:
            return max(number - offset, 0)
        if not len(target) * 0.4 <= len(key) <= len(target) * 2.5:
            continue
        matcher.set_seq1(key)
        if matcher.quick_ratio() <= best:
            continue
        compared += 1
        if compared > _MOST_COMPARED:
            break
        ratio = matcher.ratio()
        if ratio > best:
            best, place = ratio, max(number - offset, 0)
    return place


def _key(line: str) -> str:
    return folded(line).strip()
