"""Notice a model that goes round in circles: remind it at three, stop it at five."""

from typing import Literal

from bobstay.model.event import ToolDone
from bobstay.model.message import ToolCall

REMIND_AT = 3
STOP_AT = 5
_MEMORY = 2 * STOP_AT

REMINDER = (
    "<system-reminder>You have made the same {what} {count} times with the same result. "
    "Repeating it again will not change that: try another way, or say what stands in the way.</system-reminder>"
)


class Repeats:
    """Counts over the finished calls of one run, each as a fingerprint of the call and its result."""

    def __init__(self) -> None:
        self._done: list[int] = []
        self._errors: list[int] = []

    def add(self, call: ToolCall, done: ToolDone) -> None:
        fingerprint = hash((call.name, repr(sorted(call.input.items())), done.reply.text))
        self._done = [*self._done[1 - _MEMORY :], fingerprint]
        error = hash((call.name, done.reply.text)) if done.reply.is_error else 0
        self._errors = [*self._errors[1 - _MEMORY :], error]

    def forget(self) -> None:
        """A person spoke: what follows is not the same walk any more."""
        self._done.clear()
        self._errors.clear()

    def verdict(self) -> tuple[Literal["", "remind", "stop"], str, int]:
        """What to do now, what was repeated, and how often."""
        chains = [
            ("call", _run(self._done, 1)),
            ("pair of calls", _run(self._done, 2)),
            ("failing call", _run(self._errors, 1) if self._errors and self._errors[-1] else 0),
        ]
        what, count = max(chains, key=lambda chain: chain[1])
        if count >= STOP_AT:
            return "stop", what, count
        return ("remind" if count == REMIND_AT else ""), what, count


def _run(marks: list[int], period: int) -> int:
    """How many times the last `period` marks stand one after the other at the end."""
    last = marks[-period:]
    if len(last) < period or (period > 1 and len(set(last)) == 1):
        return 0
    count = 0
    while marks[len(marks) - period * (count + 1) : len(marks) - period * count] == last:
        count += 1
    return count
