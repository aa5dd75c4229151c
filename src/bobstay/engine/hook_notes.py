"""What the log and the person get to know about hooks that ran."""

from bobstay.hooks.hook_event import HookOutcome
from bobstay.model.event import Durable, HookRan, Noted

_LONGEST_TEXT = 2_000


def messages_of(outcome: HookOutcome) -> list[Durable]:
    """The entry that hooks ran, and their messages for the person."""
    ran: list[Durable] = [_ran(outcome)] if outcome.label else []
    return [*ran, *(Noted(message.text, message.level, message.tag) for message in outcome.messages)]


class HookNotes:
    """Notes about hooks that nobody waits for; a turn stores them with its next event."""

    def __init__(self) -> None:
        self._waiting: list[Durable] = []

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, outcome: HookOutcome) -> None:
        self._waiting.extend(messages_of(outcome))

    def tell(self, note: Noted) -> None:
        """Add a note about something else that a person should know."""
        self._waiting.append(note)

    def take(self) -> list[Durable]:
        waiting, self._waiting = self._waiting, []
        return waiting


def _ran(outcome: HookOutcome) -> HookRan:
    text = outcome.reason or outcome.stop_reason or str((outcome.permission or {}).get("message") or "")
    event = outcome.label.partition(":")[0]
    return HookRan(outcome.label, event, outcome.result, text[:_LONGEST_TEXT], outcome.duration_ms, outcome.spent)
