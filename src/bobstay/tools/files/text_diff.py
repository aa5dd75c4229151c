"""Line diff with bounded running time, even for large and dissimilar texts."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from msgspec import Struct

_MAX_PAIRS = 250_000
"""Pairs of lines compared directly; larger ranges are first split at lines unique on both sides."""


class LineChange(Struct, frozen=True):
    """Lines `old_start` to `old_end` became lines `new_start` to `new_end`, counted from 0, ends exclusive."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


def diff_lines(old: Sequence[str], new: Sequence[str]) -> list[LineChange]:
    """The changes from `old` to `new`, in order; adjacent ones are merged."""
    found: list[LineChange] = []
    for change in _between(old, new, LineChange(0, len(old), 0, len(new))):
        last = found[-1] if found else None
        if last is not None and last.old_end == change.old_start and last.new_end == change.new_start:
            found[-1] = LineChange(last.old_start, change.old_end, last.new_start, change.new_end)
        else:
            found.append(change)
    return found


def _between(old: Sequence[str], new: Sequence[str], part: LineChange) -> Iterator[LineChange]:
    part = _trim(old, new, part)
    old_count, new_count = part.old_end - part.old_start, part.new_end - part.new_start
    if old_count == 0 and new_count == 0:
        return
    if old_count == 0 or new_count == 0:
        yield part
    elif old_count * new_count <= _MAX_PAIRS:
        yield from _compare(old, new, part)
    else:
        yield from _compare_between_anchors(old, new, part)


def _trim(old: Sequence[str], new: Sequence[str], part: LineChange) -> LineChange:
    old_start, old_end, new_start, new_end = part.old_start, part.old_end, part.new_start, part.new_end
    while old_start < old_end and new_start < new_end and old[old_start] == new[new_start]:
        old_start += 1
        new_start += 1
    while old_start < old_end and new_start < new_end and old[old_end - 1] == new[new_end - 1]:
        old_end -= 1
        new_end -= 1
    return LineChange(old_start, old_end, new_start, new_end)


def _compare(old: Sequence[str], new: Sequence[str], part: LineChange) -> Iterator[LineChange]:
    from difflib import SequenceMatcher

    left, right = old[part.old_start : part.old_end], new[part.new_start : part.new_end]
    for tag, i, j, k, m in SequenceMatcher(None, left, right, autojunk=len(left) + len(right) > 600).get_opcodes():
        if tag != "equal":
            yield LineChange(part.old_start + i, part.old_start + j, part.new_start + k, part.new_start + m)


def _compare_between_anchors(old: Sequence[str], new: Sequence[str], part: LineChange) -> Iterator[LineChange]:
    """Compare the pieces between lines that occur exactly once on both sides, in the same order."""
    old_done, new_done = part.old_start, part.new_start
    for old_at, new_at in _anchors(old, new, part):
        if old_at >= old_done and new_at >= new_done:
            yield from _compare_piece(old, new, LineChange(old_done, old_at, new_done, new_at))
            old_done, new_done = old_at + 1, new_at + 1
    yield from _compare_piece(old, new, LineChange(old_done, part.old_end, new_done, part.new_end))


def _compare_piece(old: Sequence[str], new: Sequence[str], part: LineChange) -> Iterator[LineChange]:
    part = _trim(old, new, part)
    old_count, new_count = part.old_end - part.old_start, part.new_end - part.new_start
    if old_count * new_count > _MAX_PAIRS or ((old_count == 0) != (new_count == 0)):
        yield part  # no anchor: all of it counts as changed
    elif old_count:
        yield from _compare(old, new, part)


def _anchors(old: Sequence[str], new: Sequence[str], part: LineChange) -> list[tuple[int, int]]:
    once_old, once_new = (
        _unique_lines(old, part.old_start, part.old_end),
        _unique_lines(new, part.new_start, part.new_end),
    )
    pairs = [(at, once_new[line]) for line, at in once_old.items() if line in once_new]
    return _longest_increasing(pairs)


def _unique_lines(lines: Sequence[str], start: int, end: int) -> dict[str, int]:
    places: dict[str, int] = {}
    for at in range(start, end):
        places[lines[at]] = -1 if lines[at] in places else at
    return {line: at for line, at in places.items() if at >= 0}


def _longest_increasing(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest subsequence of `pairs` (sorted by the first number) with increasing second numbers."""
    tops: list[int] = []
    chains: list[int] = []
    before: list[int] = []
    for index, (_, value) in enumerate(pairs):
        at = bisect_left(tops, value)
        before.append(chains[at - 1] if at else -1)
        if at == len(tops):
            tops.append(value)
            chains.append(index)
        else:
            tops[at], chains[at] = value, index
    run: list[tuple[int, int]] = []
    index = chains[-1] if chains else -1
    while index >= 0:
        run.append(pairs[index])
        index = before[index]
    return run[::-1]
