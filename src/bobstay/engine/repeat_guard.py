"""Detects a model that repeats itself: reminds it after three and six equal steps, and stops the run after ten."""

from collections.abc import Iterable
from typing import Any, Literal

from msgspec import Struct

from bobstay.model.event import ToolDone
from bobstay.model.message import ToolCall

REMIND_AT = (3, 6)
STOP_AT = 10
_MEMORY = 2 * STOP_AT

REMINDER = (
    "<system-reminder>You have made the same {what} {count} times with the same result. "
    "Repeating it again will not change that: try another way, or say what stands in the way.</system-reminder>"
)


class FinishedCall(Struct, frozen=True):
    """A call with its result, as the guard counts it."""

    call: ToolCall
    done: ToolDone
    polls: bool = False
    """The call waits for something or polls for it: repeating it is no sign of being stuck."""
    result: str | None = None
    """Its result without what is new each time; None for all of its text."""


class RepeatGuard:
    """Counts repeated steps of one run. Several calls of one answer are one step.

    A step is stored as the fingerprints of its calls, each made of the tool, its input and its result.
    """

    def __init__(self) -> None:
        self._steps: list[frozenset[int]] = []
        self._reminded = 0

    def add(self, calls: Iterable[FinishedCall]) -> None:
        marks = frozenset(_fingerprint(each) for each in calls if _counts(each))
        if marks:
            self._steps = [*self._steps[1 - _MEMORY :], marks]
        else:
            self.reset()  # the model waited, or a person refused: what follows is a new attempt

    def reset(self) -> None:
        """Start counting again: the model has new input, so the same call may now be right."""
        self._steps.clear()
        self._reminded = 0

    def check(self) -> tuple[Literal["", "remind", "stop"], str, int]:
        """Return what to do now, what was repeated, and how often."""
        what, count = max((("call", _single(self._steps)), ("pair of calls", _pairs(self._steps))), key=_count)
        if count >= STOP_AT:
            return "stop", what, count
        if count < REMIND_AT[0]:
            self._reminded = 0
        if count in REMIND_AT and count > self._reminded:
            self._reminded = count
            return "remind", what, count
        return "", what, count


def _count(chain: tuple[str, int]) -> int:
    return chain[1]


def _counts(finished: FinishedCall) -> bool:
    decided = finished.done.decided
    by_a_person = finished.done.denied and decided is not None and decided.source.startswith("user")
    return not finished.polls and not by_a_person


def _fingerprint(finished: FinishedCall) -> int:
    call = finished.call
    result = finished.done.reply.text if finished.result is None else finished.result
    return hash((call.name, _plain(call.input), call.malformed, result))


def _plain(value: Any) -> str:
    """Return the same text for equal values, whatever the order of their keys."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{key!r}:{_plain(value[key])}" for key in sorted(value, key=str)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_plain, value)) + "]"
    return repr(value)


def _single(steps: list[frozenset[int]]) -> int:
    """Number of steps in a row, up to the last one, with the same call."""
    return max((_trailing(steps, mark, 1) for mark in steps[-1]), default=0) if steps else 0


def _pairs(steps: list[frozenset[int]]) -> int:
    """Number of times two calls alternated, step by step, up to the last one."""
    if len(steps) < 2:
        return 0
    last, before = steps[-1] - steps[-2], steps[-2] - steps[-1]
    one = max((_trailing(steps, mark, 2) for mark in last), default=0)
    other = max((_trailing(steps[:-1], mark, 2) for mark in before), default=0)
    return min(one, other)


def _trailing(steps: list[frozenset[int]], mark: int, period: int) -> int:
    count = 0
    for step in steps[::-period]:
        if mark not in step:
            break
        count += 1
    return count
