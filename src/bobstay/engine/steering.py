"""Steering messages: user messages for a running turn, which pass UserPromptSubmit hooks like any prompt."""

from collections.abc import AsyncGenerator, Callable, Iterable

from msgspec.structs import replace

from bobstay.engine.toolbox import Toolbox
from bobstay.engine.turn_control import TurnControl
from bobstay.engine.turn_hooks import notes_for_prompt, run_hooks
from bobstay.model.event import Durable, Noted, Prompted
from bobstay.model.message import Block, text_of

_LONGEST_QUOTE = 500
_BLOCKED = "A UserPromptSubmit hook blocked your message: {reason}\nThe model does not read it. Your message: {message}"


async def attached_files(toolbox: Toolbox, control: TurnControl, prompted: Prompted) -> list[Durable]:
    """Return the files that a prompt mentions, which precede it."""
    if toolbox.attach is None or prompted.verbatim or "@" not in text_of(prompted.blocks):
        return []
    return await control.unless_aborted(toolbox.attach(prompted.blocks)) or []


class Steering:
    def __init__(self, toolbox: Toolbox, control: TurnControl) -> None:
        self._toolbox = toolbox
        self._control = control
        self.has_input = False
        """Whether there is something new for the model to read."""
        self.stopped: str | None = None
        """Why a hook wants the turn to end; None if none does."""

    async def events(self, take: Callable[[], Iterable[Prompted]]) -> AsyncGenerator[Durable, None]:
        """Yield the messages from `take` until there are no new ones. After an abort the rest stays in the queue.

        While hooks run, the message may be edited or removed and others may arrive, so `take` is called again.
        """
        seen: list[tuple[str, tuple[Block, ...]]] = []  # not a set: a block may hold what cannot be hashed
        while not self._control.aborted and self.stopped is None:
            prompted = next((each for each in take() if (each.id, each.blocks) not in seen), None)
            if prompted is None:
                return
            seen.append((prompted.id, prompted.blocks))
            if prompted.origin != "human":
                self.has_input = True
                yield prompted
                continue
            submitted = run_hooks(self._toolbox, "UserPromptSubmit", prompt=text_of(prompted.blocks))
            outcome = await self._control.unless_aborted(submitted)
            if outcome is None or prompted not in take():
                continue
            if outcome.decision == "block":
                yield replace(prompted, blocked=True)
                quoted = text_of(prompted.blocks)[:_LONGEST_QUOTE]
                yield Noted(_BLOCKED.format(reason=outcome.reason, message=quoted), "warning")
                outcome = replace(outcome, context=())
            else:
                for attached in await attached_files(self._toolbox, self._control, prompted):
                    yield attached
                self.has_input = True
                yield prompted
            for note in notes_for_prompt(outcome, "UserPromptSubmit"):
                yield note
            if outcome.stop:
                self.stopped = outcome.stop_reason
