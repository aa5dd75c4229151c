"""The journal of a session stores each event and folds it: the only way into the log, and where the state changes."""

from collections.abc import Callable, Iterable
from typing import Protocol

from bobstay.engine.state import State
from bobstay.model.agent_events import AgentEnded, AgentStarted
from bobstay.model.background_events import BackgroundEnded, BackgroundStarted
from bobstay.model.event import (
    BlockDone,
    Durable,
    Envelope,
    Event,
    InputDropped,
    InputQueued,
    InteractionEvent,
    MessageDone,
    NoticeEvent,
    Prompted,
    Pruned,
    RunDone,
    SettingsEvent,
    TasksReplaced,
    ToolDone,
    ToolStarted,
    TurnStarted,
)
from bobstay.model.session_events import SessionEvent, WorkerEvent
from bobstay.sessions.log import Log


class LogObserver(Protocol):
    """A fold of its own: gets each event of the log, in order."""

    def apply(self, event: Event) -> None: ...


class Journal:
    """Everything else with state (the permission policy, the tools' environment) observes it."""

    def __init__(self, log: Log, state: State, *, agent: str = "", parent_call: str = "") -> None:
        """`agent` and `parent_call` mark the entries of a sub-agent, which share the log of its session."""
        self.log = log
        self.state = state
        self.agent = agent
        self.parent_call = parent_call
        self.observers: list[LogObserver] = []
        """Get each event right after it is folded into the state."""
        self.listeners: list[Callable[[Envelope], None]] = []
        """Called with each entry that is recorded here, after all folds."""

    def record(self, event: Durable) -> Envelope:
        """Store an event, then fold it.

        Events before side effects, and input of a person, are synced to disk when this returns; all others are with
        the operating system and survive the end of this process.
        """
        sync = _must_be_synced(event)
        envelope = self.log.append(event, sync=sync, agent=self.agent, parent_call=self.parent_call)
        self.catch_up((event,))
        for listener in self.listeners:
            listener(envelope)
        return envelope

    async def commit(self, event: Durable) -> None:
        """Record an event of a turn. Returns when something outside may follow from it: a log may store elsewhere.

        Raises:
            LogError: it cannot be stored.
        """
        self.record(event)
        if _must_be_synced(event):
            await self.log.settled()

    def catch_up(self, events: Iterable[Durable]) -> None:
        """Fold events that are in the log already."""
        for event in events:
            self.state = self.state.apply(event)
            for observer in self.observers:
                observer.apply(event)

    def count_child(self, event: Durable) -> None:
        """Count an event that a sub-agent recorded in a journal of its own."""
        self.state = self.state.apply_child(event)

    def is_unread(self, id: str) -> bool:
        """Whether the model does not know yet that the background command or agent with this id ended."""
        return any(notice.id == id for notice in self.state.notices)


def _must_be_synced(event: Durable) -> bool:
    match event:
        case ToolStarted(read_only=read_only):
            return not read_only
        case Prompted(origin=origin):
            return origin == "human"
        case InputQueued() | RunDone() | BackgroundEnded():
            return True
        case AgentEnded(tell=tell):
            return tell != "no"
        case InteractionEvent() | SettingsEvent() | SessionEvent() | WorkerEvent() | NoticeEvent():
            return False
        case InputDropped() | TurnStarted() | BlockDone() | MessageDone() | Pruned():
            return False
        case ToolDone() | TasksReplaced() | BackgroundStarted() | AgentStarted():
            return False
