"""The status of a session, folded from its events and set nowhere else."""

from typing import Literal, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from bobstay.model.agent_events import AgentEvent
from bobstay.model.background_events import BackgroundEvent
from bobstay.model.event import (
    Advised,
    BlockDone,
    Durable,
    InputDropped,
    InputQueued,
    InteractionClosed,
    InteractionOpened,
    MessageDone,
    NoticeEvent,
    Prompted,
    Pruned,
    RunDone,
    SessionStarted,
    SettingsEvent,
    ToolEvent,
    TurnStarted,
)
from bobstay.model.session_events import (
    ArtifactMade,
    Configured,
    InterruptAsked,
    SessionChanged,
    WorkerExited,
    WorkerStarted,
)

Status: TypeAlias = Literal[
    "draft", "starting", "running", "waiting_input", "interrupting", "interrupted", "completed", "failed", "discarded"
]
ENDED: frozenset[Status] = frozenset({"completed", "interrupted", "failed"})
"""Statuses from which a session can be continued."""
BUSY: frozenset[Status] = frozenset({"starting", "running", "waiting_input", "interrupting"})

INTERRUPTED = frozenset({"interrupted_streaming", "interrupted_tools"})
GOOD = frozenset({"completed", "hook_stopped", "stop_hook_prevented", "deferred"})
AGENTS = ("native", "process")


class StatusFold(Struct, frozen=True):
    """A status with its reason and the state the fold needs to continue."""

    status: Status = "draft"
    error: str = ""
    in_turn: bool = False
    asking: frozenset[str] = frozenset()
    """Open interactions."""

    def apply(self, event: Durable) -> "StatusFold":
        """The status after `event`. A final status is left only by a new prompt."""
        match event:
            case InputQueued() if not self.in_turn and self.status not in BUSY:
                return replace(self, status="starting", error="")
            case TurnStarted():
                return StatusFold("running", in_turn=True)
            case InteractionOpened(id=id):
                return _with_interactions(replace(self, asking=self.asking | {id}))
            case InteractionClosed(id=id):
                return _with_interactions(replace(self, asking=self.asking - {id}))
            case InterruptAsked() if self.status in BUSY:
                return replace(self, status="interrupting")
            case RunDone():
                return _ended(event)
            case WorkerExited(kind=kind) if kind in AGENTS:
                return self._exited(event)
            case WorkerStarted(kind=kind) if kind in AGENTS and self.status in ("starting", "waiting_input"):
                return replace(self, error="")
            case (
                ToolEvent()
                | SettingsEvent()
                | BackgroundEvent()
                | AgentEvent()
                | NoticeEvent()
                | InputQueued()
                | InputDropped()
                | Prompted()
                | BlockDone()
                | MessageDone()
                | Pruned()
                | Advised()
                | SessionStarted()
                | Configured()
                | SessionChanged()
                | InterruptAsked()
                | ArtifactMade()
                | WorkerStarted()
                | WorkerExited()
            ):
                return self

    def _exited(self, event: WorkerExited) -> "StatusFold":
        if self.status == "interrupted" and event.why == "stopped" and event.error:
            return replace(self, error=event.error)  # the server was shut down, which ended the turn
        if self.status not in BUSY:
            return self
        if event.why == "not_started" and self.asking and self.status == "waiting_input":
            return replace(self, error=event.error)  # not answered: the next worker asks again
        if self.status == "interrupting" or event.why in ("stopped", "killed", "lost"):
            return StatusFold("interrupted", event.error)
        if event.why == "asleep":
            return self
        if event.error or event.code or event.signal:
            return StatusFold("failed", event.error or f"Process exited with code {event.code}")
        return StatusFold("completed")


class StatusMemory(Struct, frozen=True):
    """State the fold needs to continue from a view. It is stored with the view and never shown."""

    status_fold: StatusFold = field(default=StatusFold(), name="standing")
    steps_before: int = 0
    """Model calls made when the newest turn began."""


def _with_interactions(status_fold: StatusFold) -> StatusFold:
    if status_fold.status not in ("running", "waiting_input"):
        return status_fold
    return replace(status_fold, status="waiting_input" if status_fold.asking else "running")


def _ended(event: RunDone) -> StatusFold:
    if event.ending in INTERRUPTED:
        return StatusFold("interrupted", event.text)  # the text is the reason if no person interrupted it
    if event.ending in GOOD:
        return StatusFold("completed")
    return StatusFold("failed", event.text or event.ending)
