"""Where a session stands for people, folded from its events: set nowhere, and never twice."""

from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from bobstay.model.event import Durable, InputQueued, InteractionClosed, InteractionOpened, RunDone, TurnStarted
from bobstay.model.session_events import InterruptAsked, WorkerExited, WorkerStarted

Status: TypeAlias = Literal[
    "draft", "starting", "running", "waiting_input", "interrupting", "interrupted", "completed", "failed", "discarded"
]
ENDED: frozenset[Status] = frozenset({"completed", "interrupted", "failed"})
"""From these a session can be gone on with."""
BUSY: frozenset[Status] = frozenset({"starting", "running", "waiting_input", "interrupting"})

INTERRUPTED = frozenset({"interrupted_streaming", "interrupted_tools"})
GOOD = frozenset({"completed", "hook_stopped", "stop_hook_prevented", "deferred"})
AGENTS = ("native", "process")


class StatusFold(Struct, frozen=True):
    """A status, why, and what the fold must remember to go on from it."""

    status: Status = "draft"
    error: str = ""
    in_turn: bool = False
    asking: frozenset[str] = frozenset()
    """Interactions somebody has yet to answer."""

    def apply(self, event: Durable) -> "StatusFold":
        """The standing after `event`. An outcome once reached is left only by a new prompt."""
        match event:
            case InputQueued() if not self.in_turn and self.status not in BUSY:
                return replace(self, status="starting", error="")
            case TurnStarted():
                return StatusFold("running", in_turn=True)
            case InteractionOpened(id=id):
                return _asked(replace(self, asking=self.asking | {id}))
            case InteractionClosed(id=id):
                return _asked(replace(self, asking=self.asking - {id}))
            case InterruptAsked() if self.status in BUSY:
                return replace(self, status="interrupting")
            case RunDone():
                return _ended(event)
            case WorkerExited(kind=kind) if kind in AGENTS:
                return self._exited(event)
            case WorkerStarted(kind=kind) if kind in AGENTS and self.status in ("starting", "waiting_input"):
                return replace(self, error="")
            case _:
                return self

    def _exited(self, event: WorkerExited) -> "StatusFold":
        if self.status == "interrupted" and event.why == "stopped" and event.error:
            return replace(self, error=event.error)  # the server ended in good order, and the turn with it
        if self.status not in BUSY:
            return self
        if event.why == "not_started" and self.asking and self.status == "waiting_input":
            return replace(self, error=event.error)  # nobody has answered: the next one to start asks the same
        if self.status == "interrupting" or event.why in ("stopped", "killed", "lost"):
            return StatusFold("interrupted", event.error)
        if event.why == "asleep":
            return self
        if event.error or event.code or event.signal:
            return StatusFold("failed", event.error or f"Process exited with code {event.code}")
        return StatusFold("completed")


class StatusMemory(Struct, frozen=True):
    """What the fold must remember to go on from a view. It is stored with the view and shown to nobody."""

    standing: StatusFold = StatusFold()
    steps_before: int = 0
    """Model calls made when the newest turn began."""


def _asked(standing: StatusFold) -> StatusFold:
    if standing.status not in ("running", "waiting_input"):
        return standing
    return replace(standing, status="waiting_input" if standing.asking else "running")


def _ended(event: RunDone) -> StatusFold:
    if event.ending in INTERRUPTED:
        return StatusFold("interrupted", event.text)  # of an interrupted turn that is why, where it was nobody
    if event.ending in GOOD:
        return StatusFold("completed")
    return StatusFold("failed", event.text or event.ending)
