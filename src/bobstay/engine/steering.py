"""Messages for a turn under way: hooks look at each of them as at any prompt, then the model reads it."""

from collections.abc import AsyncGenerator, Callable, Iterable

from msgspec.structs import replace

from bobstay.engine.toolbox import Toolbox
from bobstay.engine.turn_control import TurnControl
from bobstay.engine.turn_hooks import called, notes_of
from bobstay.model.event import Durable, Noted, Prompted
from bobstay.model.message import Block, text_of

_LONGEST_QUOTE = 500
_BLOCKED = "A UserPromptSubmit hook blocked your message: {reason}\nThe model does not read it. Your message: {message}"


class Steering:
    def __init__(self, toolbox: Toolbox, control: TurnControl) -> None:
        self._toolbox = toolbox
        self._control = control
        self.heard = False
        """Whether there is something new for the model to read."""
        self.stopped: str | None = None
        """Why a hook wants the turn to end; None if none does."""

    async def events(self, take: Callable[[], Iterable[Prompted]]) -> AsyncGenerator[Durable, None]:
        """Fold in what `take` gives, until there is nothing new. What an abort cuts off stays in the queue.

        While hooks look at a message, it may be edited or removed, and others may come: so `take` is asked again.
        """
        seen: list[tuple[str, tuple[Block, ...]]] = []  # not a set: a block may hold what cannot be hashed
        while not self._control.aborted and self.stopped is None:
            prompted = next((each for each in take() if (each.id, each.blocks) not in seen), None)
            if prompted is None:
                return
            seen.append((prompted.id, prompted.blocks))
            if prompted.origin != "human":
                self.heard = True
                yield prompted
                continue
            submitted = called(self._toolbox, "UserPromptSubmit", prompt=text_of(prompted.blocks))
            outcome = await self._control.unless_aborted(submitted)
            if outcome is None or prompted not in take():
                continue
            if outcome.decision == "block":
                yield replace(prompted, blocked=True)
                quoted = text_of(prompted.blocks)[:_LONGEST_QUOTE]
                yield Noted(_BLOCKED.format(reason=outcome.reason, message=quoted), "warning")
                outcome = replace(outcome, context=())
            else:
                self.heard = True
                yield prompted
            for note in notes_of(outcome, "UserPromptSubmit"):
                yield note
            if outcome.stop:
                self.stopped = outcome.stop_reason
