"""What the loop keeps in mind between the steps of one turn."""

from msgspec import Struct, field

from bobstay.engine.agent import RequestBuilder
from bobstay.engine.limits import Used
from bobstay.engine.recovery import Recovery
from bobstay.engine.repeat_guard import RepeatGuard
from bobstay.engine.turn_hooks import StopHookBlocks


class TurnState(Struct):
    """What the loop keeps in mind between its steps."""

    began: float
    recovery: Recovery
    repeats: RepeatGuard
    sending: RequestBuilder
    used: set[str]
    fallbacks: list[str]
    earlier: Used = Used()
    structured_failures: int = 0
    forcing: bool = False
    """The next answer must be a call of the tool for structured output."""
    can_force: bool = True
    stops: StopHookBlocks = field(default_factory=StopHookBlocks)
