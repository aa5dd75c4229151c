"""A session as lists and headers show it: one fold over its log, cheap enough to be kept for every session."""

from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from bobstay.model.around import Configured, SessionChanged, SessionConfig, WorkerExited, WorkerStarted
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
    TasksReplaced,
    ToolDone,
    TurnStarted,
)
from bobstay.model.message import Block, Text, ToolCall, Usage
from bobstay.providers.catalogue import lookup
from bobstay.server.sessions.status import BUSY, Standing, Status

Activity: TypeAlias = Literal["active", "idle", "asking"]
ProcessState: TypeAlias = Literal["starting", "running", "stopped", "exited", "error"]
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


class SessionView(Struct, frozen=True):
    id: str
    title: str = ""
    cwd: str = ""
    status: Status = "draft"
    error: str = ""
    activity: Activity = "idle"
    config: SessionConfig = SessionConfig()
    model: str = ""
    permission_mode: str = "default"
    parent: str = ""
    created_at: float = 0.0
    updated_at: float = 0.0
    ended_at: float = 0.0
    first_prompt: str = ""
    last_prompt: str = ""
    archived: bool = False
    pinned: bool = False
    turns: int = 0
    steps: int = 0
    """Model calls made, as far as told: an engine's own count of a turn, where it is higher than the answers seen."""
    steps_before: int = 0
    """The same when the newest turn began."""
    usage: Usage = Usage()
    last_usage: Usage = Usage()
    """Of the newest answer in the main talk: what fills the context (S000-32)."""
    cost: float = 0.0
    context: int = 0
    """Tokens before the model at the end of its last answer."""
    context_limit: int = DEFAULT_CONTEXT_LIMIT
    interactions: tuple[InteractionView, ...] = ()
    queued: tuple[QueuedView, ...] = ()
    workers: tuple[WorkerView, ...] = ()
    open_calls: tuple[str, ...] = ()
    tasks_done: int = 0
    tasks_total: int = 0
    seq: int = 0
    head: str = ""
    """Id of the last entry; one that does not follow it goes another way from an earlier one."""
    stored: bool = False
    """Its log is packed away in the archive. It can be read as it is; the next change brings it back."""
    elsewhere: bool = False
    """Another process runs it: a command line, or a console that is no longer."""
    standing: Standing = Standing()

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
            standing=standing,
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
    standing = Standing(status, "" if view.status in BUSY else view.standing.error)
    return replace(view, standing=standing, open_calls=(), interactions=(), queued=())


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
            begun = replace(view, turns=turn, steps_before=view.steps, context_limit=window or context_limit(model))
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
            return replace(view, tasks_done=done, tasks_total=len(tasks))
        case ModeChanged(mode=mode):
            return replace(view, permission_mode=mode)
        case ModelChanged(model=model):
            return replace(view, model=model)
        case RunDone(turns=told):
            steps = max(view.steps, view.steps_before + told)
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
        worker = WorkerView(event.worker, event.kind, "running", event.epoch, event.pid, engine, at=at)
        return replace(view, workers=(*others, worker))
    state: ProcessState = "error" if event.error else "exited" if event.why == "exit" else "stopped"
    engine = before.engine_session if before else ""
    worker = WorkerView(event.worker, event.kind, state, event.epoch, 0, engine, event.error, at)
    return replace(view, workers=_without_old((*others, worker)))


def _without_old(workers: tuple[WorkerView, ...]) -> tuple[WorkerView, ...]:
    """Leave out the terminals and watchers that ended first: each one opened is another, and they would pile up."""
    ended = [
        one.id for one in workers if one.kind in ("terminal", "git_diff") and one.state not in ("starting", "running")
    ]
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


def _activity(standing: Standing) -> Activity:
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
