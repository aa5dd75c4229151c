"""The view of a session for lists and headers: one fold over its log, cheap enough to keep for every session."""

from typing import Annotated, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace

from bobstay.model.agent_events import AgentEvent
from bobstay.model.background_events import BackgroundEvent
from bobstay.model.event import (
    Advised,
    BlockDone,
    Envelope,
    InputDropped,
    InputQueued,
    InteractionClosed,
    InteractionOpened,
    MessageDone,
    ModeChanged,
    ModelChanged,
    NoticeEvent,
    PermissionsChanged,
    Prompted,
    Pruned,
    RunDone,
    SessionStarted,
    Task,
    TasksReplaced,
    ToolDone,
    ToolStarted,
    TurnStarted,
)
from bobstay.model.message import Block, Text, ToolCall, Usage
from bobstay.model.session_events import (
    ArtifactMade,
    Configured,
    InterruptAsked,
    SessionChanged,
    SessionConfig,
    WorkerExited,
    WorkerStarted,
)
from bobstay.providers.catalogue import UNKNOWN_WINDOW, lookup
from bobstay.server.sessions.background_view import BackgroundView, background_after
from bobstay.server.sessions.open_interactions import InteractionView, interaction_view, lasting_interactions
from bobstay.server.sessions.session_status import BUSY, Status, StatusFold, StatusMemory
from bobstay.server.sessions.worker_view import WorkerView, workers_after

Activity: TypeAlias = Literal["active", "idle", "asking"]
TITLE_LENGTH = 80
PREVIEW_LENGTH = 200


class QueuedView(Struct, frozen=True, omit_defaults=True):
    id: str
    text: str
    how: Literal["steer", "queue"]
    client_id: str = ""


class CurrentTask(Struct, frozen=True):
    """The task of the agent's own list that is in progress."""

    id: str
    """The id in the list of tasks, unique over all sessions."""
    title: str


class SessionView(Struct, frozen=True):
    id: str
    title: str = ""
    """Set by a person, else the beginning of the first prompt."""
    cwd: str = ""
    """The directory it works in."""
    status: Status = "draft"
    error: str = ""
    """Why it failed or was interrupted, if known."""
    activity: Activity = "idle"
    """Whether its agent works, waits for a person, or is idle."""
    config: SessionConfig = SessionConfig()
    """Its configuration, as chosen by people."""
    model: str = ""
    """The model of its latest turn, else the configured one."""
    permission_mode: str = "default"
    """The current permission mode; an agent may have changed it since it was configured."""
    parent: str = ""
    """The session it continues; empty if none."""
    created_at: float = 0.0
    updated_at: float = 0.0
    """When its last entry was written."""
    ended_at: float = 0.0
    """When its last turn ended; 0 if none has."""
    first_prompt: str = ""
    last_prompt: str = ""
    archived: bool = False
    pinned: bool = False
    turns: int = 0
    """Prompts worked on so far."""
    steps: int = 0
    """Model requests so far: the engine's own count of a turn if it is higher than the number of answers."""
    usage: Usage = Usage()
    """Tokens of all model answers so far."""
    last_usage: Usage = Usage()
    """Tokens of the latest answer in the main conversation: the size of the context."""
    cost: float = 0.0
    """Cost of all answers so far, in US dollars."""
    context: int = 0
    """Tokens in the context after the last answer."""
    context_limit: int = UNKNOWN_WINDOW
    """Size of the model's context window in tokens."""
    interactions: tuple[InteractionView, ...] = ()
    """Open interactions."""
    queued: tuple[QueuedView, ...] = ()
    """Messages queued for the agent."""
    workers: tuple[WorkerView, ...] = ()
    """Its agent and its terminals, including the last ones that have ended."""
    background: tuple[BackgroundView, ...] = ()
    """Its sub-agents and background commands that run, and those in the background that ended last."""
    open_calls: tuple[str, ...] = ()
    """Ids of tool calls without a result."""
    tasks_done: int = 0
    tasks_total: int = 0
    current_task: CurrentTask | None = None
    seq: int = 0
    """Number of the last entry of its log; streams continue after it."""
    head: str = ""
    """Id of the last entry of its log: where a fork begins unless it names another entry."""
    stored: bool = False
    """Its log is in the archive. It can be read there; the next change restores it."""
    elsewhere: bool = False
    """Another process runs it: a command line, or an earlier console."""
    memory: Annotated[StatusMemory, Meta(extra_json_schema={"x-internal": True})] | UnsetType = UNSET

    @property
    def status_fold(self) -> StatusFold:
        return self.fold_memory.status_fold

    @property
    def fold_memory(self) -> StatusMemory:
        return StatusMemory() if isinstance(self.memory, UnsetType) else self.memory

    def without_memory(self) -> "SessionView":
        """The view without the internal memory of the fold, for clients."""
        return replace(self, memory=UNSET)

    def apply(self, envelope: Envelope) -> "SessionView":
        """The view after one more entry of the log."""
        view = _rewind(self) if self._is_left_by(envelope) else self
        own = not (envelope.parent_call and isinstance(envelope.event, _OF_ONE_AGENT))
        status_fold = view.status_fold.apply(envelope.event) if own else view.status_fold
        changed = _fold(view, envelope) if own else view
        changed = replace(changed, background=background_after(view.background, envelope))
        limit = changed.context_limit
        if changed.model != self.model and not isinstance(envelope.event, TurnStarted):
            limit = context_limit(changed.model)
        return replace(
            changed,
            context_limit=limit,
            seq=envelope.seq,
            head=envelope.id,
            updated_at=envelope.at,
            memory=replace(changed.fold_memory, status_fold=status_fold),
            status=_shown_status(changed, status_fold),
            error=status_fold.error,
            activity=_activity(status_fold, changed),
        )

    def _is_left_by(self, envelope: Envelope) -> bool:
        """Whether an entry begins another branch than the current one. After a gap that cannot be determined."""
        parent = envelope.parent
        return bool(self.head and parent) and parent != self.head and envelope.seq == self.seq + 1


_OF_ONE_AGENT = (InputQueued, InputDropped, TasksReplaced, ModeChanged, ModelChanged)
"""Events of a sub-agent that say nothing about its session."""


def _rewind(view: SessionView) -> SessionView:
    """The session was rewound: work in progress on the abandoned branch is over. Its cost is kept."""
    status: Status = "interrupted" if view.status in BUSY else view.status_fold.status
    status_fold = StatusFold(status, "" if view.status in BUSY else view.status_fold.error)
    memory = replace(view.fold_memory, status_fold=status_fold)
    return replace(view, memory=memory, open_calls=(), interactions=(), queued=())


def _fold(view: SessionView, envelope: Envelope) -> SessionView:  # noqa: PLR0911, PLR0912, C901 - one arm a kind
    event, main = envelope.event, not envelope.parent_call
    match event:
        case SessionStarted(cwd=cwd, model=model):
            created = view.created_at or envelope.at
            return replace(view, cwd=cwd, model=model or view.model, created_at=created, parent=event.forked_from)
        case Configured(config=config):
            mode = config.permission_mode or view.permission_mode
            return replace(view, config=config, model=config.model or view.model, permission_mode=mode)
        case SessionChanged():
            return _apply_change(view, event)
        case InputQueued(id=id, blocks=blocks):
            queued = QueuedView(id, preview(blocks), event.how, event.client_id)
            titled = view if event.sender else _with_title(view, blocks)
            return replace(titled, queued=_enqueue(view.queued, queued))
        case InputDropped(id=id):
            return replace(view, queued=tuple(entry for entry in view.queued if entry.id != id))
        case Prompted(id=id, blocks=blocks, origin=origin):
            queue = tuple(entry for entry in view.queued if entry.id != id)
            if origin != "human":
                return view if len(queue) == len(view.queued) else replace(view, queued=queue)
            return replace(_with_title(view, blocks), queued=queue, last_prompt=preview(blocks))
        case TurnStarted(turn=turn, model=model, mode=mode, window=window):
            memory = replace(view.fold_memory, steps_before=view.steps)
            begun = replace(view, turns=turn, memory=memory, context_limit=window or context_limit(model))
            return replace(begun, model=model, permission_mode=mode or view.permission_mode)
        case BlockDone(block=ToolCall(id=id)):
            return replace(view, open_calls=(*view.open_calls, id))
        case ToolDone(reply=reply):
            return replace(view, open_calls=tuple(id for id in view.open_calls if id != reply.call_id))
        case MessageDone():
            return _add_usage(view, event, main=main)
        case InteractionOpened():
            return replace(view, interactions=(*view.interactions, interaction_view(envelope, event, view.background)))
        case InteractionClosed(id=id):
            return replace(view, interactions=tuple(entry for entry in view.interactions if entry.id != id))
        case TasksReplaced(tasks=tasks):
            done = sum(task.status == "completed" for task in tasks)
            return replace(view, tasks_done=done, tasks_total=len(tasks), current_task=_current_task(view.id, tasks))
        case ModeChanged(mode=mode):
            return replace(view, permission_mode=mode)
        case ModelChanged(model=model):
            return replace(view, model=model)
        case RunDone(turns=reported):
            steps = max(view.steps, view.fold_memory.steps_before + reported)
            return replace(view, ended_at=envelope.at, open_calls=(), interactions=_lasting(view), steps=steps)
        case WorkerStarted() | WorkerExited():
            return replace(view, workers=workers_after(event, view.workers, envelope.at))
        case BackgroundEvent() | AgentEvent() | NoticeEvent():
            return view
        case (
            BlockDone()
            | Advised()
            | ToolStarted()
            | Pruned()
            | PermissionsChanged()
            | InterruptAsked()
            | ArtifactMade()
        ):
            return view


def _add_usage(view: SessionView, event: MessageDone, *, main: bool) -> SessionView:
    """Every attempt costs; one that was discarded is not a step and does not change the context."""
    view = replace(view, usage=view.usage + event.usage, cost=view.cost + event.cost)
    if event.broken == "lost":
        return view
    view = replace(view, steps=view.steps + 1)
    return replace(view, last_usage=event.usage, context=event.usage.context) if main else view


def _current_task(session_id: str, tasks: tuple[Task, ...]) -> CurrentTask | None:
    for index, task in enumerate(tasks):
        if task.status == "in_progress":
            return CurrentTask(f"sdk-{session_id}-{index}", task.content[:PREVIEW_LENGTH])
    return None


def _apply_change(view: SessionView, event: SessionChanged) -> SessionView:
    if event.title is not None:
        view = replace(view, title=event.title)
    if event.archived is not None:
        view = replace(view, archived=event.archived)
    if event.pinned is not None:
        view = replace(view, pinned=event.pinned)
    if event.parent is not None:
        view = replace(view, parent=event.parent)
    if event.discarded is not None:
        view = replace(view, status="discarded" if event.discarded else view.status_fold.status)
    return view


def _enqueue(queue: tuple[QueuedView, ...], queued: QueuedView) -> tuple[QueuedView, ...]:
    """Add an input to the queue; an edited input keeps its position, as it does for the agent."""
    if all(entry.id != queued.id for entry in queue):
        return (*queue, queued)
    return tuple(queued if entry.id == queued.id else entry for entry in queue)


def _with_title(view: SessionView, blocks: tuple[Block, ...]) -> SessionView:
    text = preview(blocks)
    title = view.title or (text if len(text) <= TITLE_LENGTH else text[: TITLE_LENGTH - 1] + "…")
    return replace(view, title=title, first_prompt=view.first_prompt or text)


def context_limit(model: str) -> int:
    """The context window of a model, according to the catalogue."""
    info = lookup(model)
    return info.context if info.known or info.assumed else UNKNOWN_WINDOW


def _shown_status(view: SessionView, status_fold: StatusFold) -> Status:
    """The status: a session whose agents in the background ask waits for a person, also when its own turn is over."""
    if view.status == "discarded":
        return "discarded"
    waits = status_fold.status in ("running", "completed", "interrupted", "failed") and _lasting(view)
    return "waiting_input" if waits else status_fold.status


def _lasting(view: SessionView) -> tuple[InteractionView, ...]:
    return lasting_interactions(view.interactions, view.background)


def _activity(status_fold: StatusFold, view: SessionView) -> Activity:
    if status_fold.asking or _lasting(view):
        return "asking"
    return "active" if status_fold.in_turn else "idle"


def preview(blocks: tuple[Block, ...]) -> str:
    text = " ".join(" ".join(block.text[: 4 * PREVIEW_LENGTH].split()) for block in blocks if isinstance(block, Text))
    return text if len(text) <= PREVIEW_LENGTH else text[: PREVIEW_LENGTH - 1] + "…"
