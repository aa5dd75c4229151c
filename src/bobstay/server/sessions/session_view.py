"""A session as lists and headers show it: one fold over its log, cheap enough to be kept for every session."""

from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace

from bobstay.model.event import (
    BlockDone,
    Envelope,
    InputDropped,
    InputQueued,
    InteractionClosed,
    InteractionOpened,
    MessageDone,
    ModeChanged,
    ModelChanged,
    Prompted,
    RunDone,
    SessionStarted,
    Task,
    TasksReplaced,
    ToolDone,
    TurnStarted,
)
from bobstay.model.message import Block, Text, ToolCall, Usage
from bobstay.model.session_events import Configured, SessionChanged, SessionConfig, WorkerExited, WorkerStarted
from bobstay.providers.catalogue import lookup
from bobstay.server.sessions.session_status import BUSY, Status, StatusFold, StatusMemory

Activity: TypeAlias = Literal["active", "idle", "asking"]
ProcessState: TypeAlias = Literal["starting", "running", "stopped", "exited", "error"]
UP: frozenset[ProcessState] = frozenset({"starting", "running"})
"""States of a worker that has not ended."""
TITLE_LENGTH = 80
PREVIEW_LENGTH = 200
MOST_ENDED_SHOWN = 4
"""Terminals and watchers of a session that have ended and are still in its view."""
DEFAULT_CONTEXT_LIMIT = 168_000
"""Of a model nobody knows."""


class InteractionView(Struct, frozen=True, omit_defaults=True):
    """Something a person is needed for, with all that is needed to decide."""

    id: str
    kind: Literal["permission", "question", "plan"]
    call_id: str
    tool: str
    input_sha256: str
    opened_at: float
    agent: str = ""
    reason: str = ""


class QueuedView(Struct, frozen=True, omit_defaults=True):
    id: str
    text: str
    how: Literal["steer", "queue"]
    client_id: str = ""


class WorkerView(Struct, frozen=True, omit_defaults=True):
    id: str
    kind: Literal["native", "process", "terminal", "git_diff"]
    state: ProcessState
    epoch: int
    pid: int = 0
    engine_session: str = ""
    error: str = ""
    at: float = 0.0
    """When it came into this state."""


class CurrentTask(Struct, frozen=True):
    """What an agent says it is doing now: the task of its own list that is in progress."""

    id: str
    """As in the list of tasks; no two sessions have the same."""
    title: str


class SessionView(Struct, frozen=True):
    id: str
    title: str = ""
    """Given by a person, else the beginning of the first prompt."""
    cwd: str = ""
    """The directory it works in."""
    status: Status = "draft"
    error: str = ""
    """Why it failed or was interrupted, where there is a reason to tell."""
    activity: Activity = "idle"
    """Whether its agent works, waits for a person, or does nothing."""
    config: SessionConfig = SessionConfig()
    """How it is to be run, as people chose it."""
    model: str = ""
    """The model of its newest turn, else the one that was chosen."""
    permission_mode: str = "default"
    """The permission mode it is in now; an agent may have changed it since it was configured."""
    parent: str = ""
    """The session it goes on from; empty if from none."""
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
    """Model calls made, as far as told: an engine's own count of a turn, where it is higher than the answers seen."""
    usage: Usage = Usage()
    """Tokens of all answers so far."""
    last_usage: Usage = Usage()
    """Of the newest answer in the main talk: what fills the context."""
    cost: float = 0.0
    """In US dollars, of all answers so far."""
    context: int = 0
    """Tokens before the model at the end of its last answer."""
    context_limit: int = DEFAULT_CONTEXT_LIMIT
    """Tokens that fit before the model."""
    interactions: tuple[InteractionView, ...] = ()
    """What a person is asked now."""
    queued: tuple[QueuedView, ...] = ()
    """Messages that wait for the agent."""
    workers: tuple[WorkerView, ...] = ()
    """Its agent and its terminals, with the last ones that have ended."""
    open_calls: tuple[str, ...] = ()
    """Ids of the calls of tools that have no result yet."""
    tasks_done: int = 0
    tasks_total: int = 0
    current_task: CurrentTask | None = None
    seq: int = 0
    """Number of the last entry of its log; streams go on after it."""
    head: str = ""
    """Id of the last entry of its log: where a fork goes its own way if it names no other entry."""
    stored: bool = False
    """Its log is packed away in the archive. It can be read as it is; the next change brings it back."""
    elsewhere: bool = False
    """Another process runs it: a command line, or a console that is no longer."""
    memory: Annotated[StatusMemory, Meta(extra_json_schema={"x-internal": True})] | UnsetType = UNSET

    @property
    def standing(self) -> StatusFold:
        return self.remembered.standing

    @property
    def remembered(self) -> StatusMemory:
        return StatusMemory() if isinstance(self.memory, UnsetType) else self.memory

    def shown(self) -> "SessionView":
        """The same for others to see."""
        return replace(self, memory=UNSET)

    def apply(self, envelope: Envelope) -> "SessionView":
        """The view after one more entry of the log."""
        view = _rewound(self) if self._is_left_by(envelope) else self
        standing = view.standing.apply(envelope.event)
        changed = _folded(view, envelope)
        status: Status = "discarded" if changed.status == "discarded" else standing.status
        limit = changed.context_limit
        if changed.model != self.model and not isinstance(envelope.event, TurnStarted):
            limit = context_limit(changed.model)
        return replace(
            changed,
            context_limit=limit,
            seq=envelope.seq,
            head=envelope.id,
            updated_at=envelope.at,
            memory=replace(changed.remembered, standing=standing),
            status=status,
            error=standing.error,
            activity=_activity(standing),
        )

    def _is_left_by(self, envelope: Envelope) -> bool:
        """Whether an entry goes another way than from the last one. After a gap that cannot be told."""
        parent = envelope.parent
        return bool(self.head and parent) and parent != self.head and envelope.seq == self.seq + 1


def _rewound(view: SessionView) -> SessionView:
    """Somebody went back: what was under way on the branch that was left is over. What it cost is not undone."""
    status: Status = "interrupted" if view.status in BUSY else view.standing.status
    standing = StatusFold(status, "" if view.status in BUSY else view.standing.error)
    memory = replace(view.remembered, standing=standing)
    return replace(view, memory=memory, open_calls=(), interactions=(), queued=())


def _folded(view: SessionView, envelope: Envelope) -> SessionView:  # noqa: PLR0911, PLR0912, C901 - one arm a kind
    event, main = envelope.event, not envelope.parent_call
    match event:
        case SessionStarted(cwd=cwd, model=model):
            created = view.created_at or envelope.at
            return replace(view, cwd=cwd, model=model or view.model, created_at=created, parent=event.forked_from)
        case Configured(config=config):
            mode = config.permission_mode or view.permission_mode
            return replace(view, config=config, model=config.model or view.model, permission_mode=mode)
        case SessionChanged():
            return _described(view, event)
        case InputQueued(id=id, blocks=blocks):
            queued = QueuedView(id, preview(blocks), event.how, event.client_id)
            return replace(_titled(view, blocks), queued=_lined_up(view.queued, queued))
        case InputDropped(id=id):
            return replace(view, queued=tuple(entry for entry in view.queued if entry.id != id))
        case Prompted(id=id, blocks=blocks, origin=origin):
            queue = tuple(entry for entry in view.queued if entry.id != id)
            if origin != "human":
                return view
            return replace(_titled(view, blocks), queued=queue, last_prompt=preview(blocks))
        case TurnStarted(turn=turn, model=model, mode=mode, window=window):
            memory = replace(view.remembered, steps_before=view.steps)
            begun = replace(view, turns=turn, memory=memory, context_limit=window or context_limit(model))
            return replace(begun, model=model, permission_mode=mode or view.permission_mode)
        case BlockDone(block=ToolCall(id=id)):
            return replace(view, open_calls=(*view.open_calls, id))
        case ToolDone(reply=reply):
            return replace(view, open_calls=tuple(id for id in view.open_calls if id != reply.call_id))
        case MessageDone():
            return _counted(view, event, main=main)
        case InteractionOpened():
            return replace(view, interactions=(*view.interactions, interaction_view(envelope, event)))
        case InteractionClosed(id=id):
            return replace(view, interactions=tuple(entry for entry in view.interactions if entry.id != id))
        case TasksReplaced(tasks=tasks):
            done = sum(task.status == "completed" for task in tasks)
            return replace(view, tasks_done=done, tasks_total=len(tasks), current_task=_current(view.id, tasks))
        case ModeChanged(mode=mode):
            return replace(view, permission_mode=mode)
        case ModelChanged(model=model):
            return replace(view, model=model)
        case RunDone(turns=told):
            steps = max(view.steps, view.remembered.steps_before + told)
            return replace(view, ended_at=envelope.at, open_calls=(), interactions=(), steps=steps)
        case WorkerStarted() | WorkerExited():
            return _worked(view, event, envelope.at)
        case _:
            return view


def _counted(view: SessionView, event: MessageDone, *, main: bool) -> SessionView:
    """Every attempt costs; one of which nothing was kept is no step and says nothing about the context."""
    view = replace(view, usage=view.usage + event.usage, cost=view.cost + event.cost)
    if event.broken == "lost":
        return view
    view = replace(view, steps=view.steps + 1)
    return replace(view, last_usage=event.usage, context=event.usage.context) if main else view


def _current(session_id: str, tasks: tuple[Task, ...]) -> CurrentTask | None:
    for place, task in enumerate(tasks):
        if task.status == "in_progress":
            return CurrentTask(f"sdk-{session_id}-{place}", task.content[:PREVIEW_LENGTH])
    return None


def _described(view: SessionView, event: SessionChanged) -> SessionView:
    if event.title is not None:
        view = replace(view, title=event.title)
    if event.archived is not None:
        view = replace(view, archived=event.archived)
    if event.pinned is not None:
        view = replace(view, pinned=event.pinned)
    if event.parent is not None:
        view = replace(view, parent=event.parent)
    if event.discarded is not None:
        view = replace(view, status="discarded" if event.discarded else view.standing.status)
    return view


def _worked(view: SessionView, event: WorkerStarted | WorkerExited, at: float) -> SessionView:
    others = tuple(worker for worker in view.workers if worker.id != event.worker)
    before = next((worker for worker in view.workers if worker.id == event.worker), None)
    if isinstance(event, WorkerStarted):
        engine = event.engine_session or (before.engine_session if before else "")
        state: ProcessState = "running" if event.ready else "starting"
        worker = WorkerView(event.worker, event.kind, state, event.epoch, event.pid, engine, at=at)
        return replace(view, workers=(*others, worker))
    state = "error" if event.error else "exited" if event.why == "exit" else "stopped"
    engine = before.engine_session if before else ""
    worker = WorkerView(event.worker, event.kind, state, event.epoch, 0, engine, event.error, at)
    return replace(view, workers=_without_old((*others, worker)))


def _without_old(workers: tuple[WorkerView, ...]) -> tuple[WorkerView, ...]:
    """Leave out the terminals and watchers that ended first: each one opened is another, and they would pile up."""
    ended = [one.id for one in workers if one.kind in ("terminal", "git_diff") and one.state not in UP]
    old = frozenset(ended[: max(len(ended) - MOST_ENDED_SHOWN, 0)])
    return tuple(one for one in workers if one.id not in old)


def _lined_up(queue: tuple[QueuedView, ...], queued: QueuedView) -> tuple[QueuedView, ...]:
    """One that is there already was edited: it keeps its place, as it does for the agent."""
    if all(entry.id != queued.id for entry in queue):
        return (*queue, queued)
    return tuple(queued if entry.id == queued.id else entry for entry in queue)


def _titled(view: SessionView, blocks: tuple[Block, ...]) -> SessionView:
    words = preview(blocks)
    title = view.title or (words if len(words) <= TITLE_LENGTH else words[: TITLE_LENGTH - 1] + "…")
    return replace(view, title=title, first_prompt=view.first_prompt or words)


def context_limit(model: str) -> int:
    """How many tokens fit before a model of this name, as far as the catalogue knows."""
    info = lookup(model)
    return info.context if info.known or info.assumed else DEFAULT_CONTEXT_LIMIT


def _activity(standing: StatusFold) -> Activity:
    if standing.asking:
        return "asking"
    return "active" if standing.in_turn else "idle"


def interaction_view(envelope: Envelope, event: InteractionOpened) -> InteractionView:
    return InteractionView(
        event.id,
        event.kind,
        event.call.id,
        event.call.name,
        input_hash(event.call),
        envelope.at,
        envelope.agent,
        event.reason[:PREVIEW_LENGTH],
    )


def input_hash(call: ToolCall) -> str:
    """What a decision must quote: it is good for this very input and no other."""
    from hashlib import sha256

    return sha256(msgspec.json.encode([call.id, call.name, call.input], order="sorted")).hexdigest()


def preview(blocks: tuple[Block, ...]) -> str:
    words = " ".join(" ".join(block.text[: 4 * PREVIEW_LENGTH].split()) for block in blocks if isinstance(block, Text))
    return words if len(words) <= PREVIEW_LENGTH else words[: PREVIEW_LENGTH - 1] + "…"
