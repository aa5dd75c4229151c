"""What the loop keeps in mind between the steps of one turn."""

from msgspec import Struct, field

from bobstay.engine.agent import Sending
from bobstay.engine.limits import Used
from bobstay.engine.turn_hooks import StopBlocks
from bobstay.engine.recovery import Recovery
from bobstay.engine.repeat_guard import Repeats


class Walk(Struct):
    """What the loop keeps in mind between its steps."""

    began: float
    recovery: Recovery
    repeats: Repeats
    sending: Sending
    used: set[str]
    fallbacks: list[str]
    earlier: Used = Used()
    structured_failures: int = 0
    forcing: bool = False
    """The next answer must be a call of the tool for structured output."""
    can_force: bool = True
    stops: StopBlocks = field(default_factory=StopBlocks)
