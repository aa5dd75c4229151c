"""Limits of one run, checked before each model request: turns, cost, tokens and time."""

from msgspec import Struct

from bobstay.engine.state import State
from bobstay.model.event import Ending


class Limits(Struct, frozen=True):
    """None means no limit. Turns, tokens and time count per prompt, cost over the whole life of the process.

    What sub-agents use counts for the agent that started them.
    """

    turns: int | None = None
    cost: float | None = None
    tokens: int | None = None
    seconds: float | None = None
    structured_retries: int = 5
    continuations: int = 3
    stop_blocks: int = 8
    """How often in a row, without a tool call in between, hooks may keep the turn from ending."""


class Used(Struct, frozen=True):
    """What earlier turns on the same prompt have used of its limits."""

    steps: int = 0
    tokens: int = 0
    seconds: float = 0.0


UNUSED = Used()


class LimitReached(Struct, frozen=True):
    ending: Ending
    text: str


def find_limit(
    limits: Limits, state: State, *, spent: float, elapsed: float, earlier: Used = UNUSED
) -> LimitReached | None:
    """Return the first limit that forbids another model request, or None.

    `spent` is the cost so far of this process for the whole session, `elapsed` the time of this turn.
    """
    if limits.turns is not None and earlier.steps + steps_of(state) >= limits.turns:
        return LimitReached("max_turns", f"Reached maximum number of turns ({limits.turns})")
    if limits.cost is not None and spent >= limits.cost:
        return LimitReached("max_cost", f"Reached maximum budget (${limits.cost:g}): ${spent:.4f} spent")
    used = earlier.tokens + tokens_of(state)
    if limits.tokens is not None and used >= limits.tokens:
        return LimitReached("max_tokens", f"Reached maximum number of tokens ({limits.tokens}): {used} used")
    if limits.seconds is not None and earlier.seconds + elapsed >= limits.seconds:
        return out_of_time(limits)
    return None


def steps_of(state: State) -> int:
    """All model requests of the turn, those of sub-agents included."""
    return state.steps + state.child_steps


def tokens_of(state: State) -> int:
    """All tokens of the turn, read and written."""
    return state.usage.input + state.usage.output + state.usage.cache_read + state.usage.cache_write


def out_of_time(limits: Limits) -> LimitReached:
    return LimitReached("max_time", f"Reached maximum time ({limits.seconds or 0:g} s)")
