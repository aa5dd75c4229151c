"""Mutable state of one turn of the agent loop."""

from msgspec import Struct, field

from bobstay.engine.agent import RequestBuilder
from bobstay.engine.limits import Used
from bobstay.engine.recovery import Recovery
from bobstay.engine.repeat_guard import RepeatGuard
from bobstay.engine.turn_hooks import StopHookBlocks


class TurnState(Struct):
    """State that the loop keeps between the steps of a turn."""

    began: float
    recovery: Recovery
    repeats: RepeatGuard
    requests: RequestBuilder
    call_ids: set[str]
    """Ids of all tool calls of the session."""
    fallbacks: list[str]
    earlier: Used = Used()
    structured_failures: int = 0
    force_structured: bool = False
    """The next answer must be a call of the tool for structured output."""
    can_force: bool = True
    stop_blocks: StopHookBlocks = field(default_factory=StopHookBlocks)
