"""One turn of the agent loop: what it works with, and what it keeps between its steps."""

import time
from typing import Protocol

from msgspec import Struct, field

from bobstay.engine.agent import Agent, RequestBuilder
from bobstay.engine.engine_ports import Route
from bobstay.engine.limits import UNUSED, Used
from bobstay.engine.repeat_guard import RepeatGuard
from bobstay.engine.state import State
from bobstay.engine.turn_control import TurnControl
from bobstay.engine.turn_hooks import StopHookBlocks
from bobstay.model.event import Ending, RunDone


class StateSource(Protocol):
    """Whoever stores the loop's events and folds them; the loop reads the state there and never folds itself.

    Once the next event is asked for, the state contains the one before.
    """

    @property
    def state(self) -> State: ...


class Recovery(Struct):
    """Counters of what this turn has tried so far after failures."""

    attempts: int = 0
    continuations: int = 0
    empty: int = 0
    """Empty answers in a row."""
    prunings: int = 0
    """Attempts to make room for a prompt that was too long."""
    images_dropped: bool = False

    def reset(self) -> None:
        """Allow all attempts again after a step that succeeded."""
        self.attempts = self.empty = self.prunings = 0
        self.images_dropped = False


class TurnState(Struct):
    agent: Agent
    session: StateSource
    control: TurnControl
    call_ids: set[str]
    """Ids of all tool calls of the session."""
    fallbacks: list[str]
    model: str = ""
    """A command's model for this turn, until a fallback replaces it."""
    earlier: Used = UNUSED
    began: float = field(default_factory=time.monotonic)
    recovery: Recovery = field(default_factory=Recovery)
    repeats: RepeatGuard = field(default_factory=RepeatGuard)
    requests: RequestBuilder = field(default_factory=RequestBuilder)
    structured_failures: int = 0
    force_structured: bool = False
    """The next answer must be a call of the tool for structured output."""
    can_force: bool = True
    stop_blocks: StopHookBlocks = field(default_factory=StopHookBlocks)

    @property
    def state(self) -> State:
        return self.session.state

    def route(self) -> Route:
        """The route of the next request. Raises `ValueError` if the model cannot be reached."""
        return self.agent.models.route(self.model or self.state.model or self.agent.model)

    def done(self, ending: Ending, text: str, *, stop: str = "", error: str = "") -> RunDone:
        """Build the event that ends the turn."""
        elapsed = int((time.monotonic() - self.began) * 1000)
        return RunDone(ending, text=text, stop=stop, error=error, turns=self.state.steps, duration_ms=elapsed)
