"""The journal of a sub-agent: its entries stand in the log of its session, its conversation is a state of its own."""

from collections.abc import Callable

from msgspec import Struct

from bobstay.engine.journal import Journal
from bobstay.engine.state import State
from bobstay.model.agent_events import AgentEnded, AgentStarted
from bobstay.model.event import Durable, Envelope, Prompted, RunDone, TurnStarted
from bobstay.model.message import Text, ToolReply
from bobstay.sessions.log import Log
from bobstay.sessions.log_tree import LogTree

FORKED = "You are now a copy of the agent that made this call. Its work goes on elsewhere; yours follows below."


class ChildJournal(Journal):
    """Turns are not recorded: `AgentStarted` and `AgentEnded` in the journal of its parent say the same."""

    def __init__(
        self, log: Log, state: State, *, agent: str, parent_call: str, recorded: Callable[[Durable], None]
    ) -> None:
        """`recorded` is called with each event, for what the whole session counts and shares."""
        super().__init__(log, state, agent=agent, parent_call=parent_call)
        self._recorded = recorded

    def record(self, event: Durable) -> Envelope:
        envelope = super().record(event)
        self._recorded(event)
        return envelope

    async def commit(self, event: Durable) -> None:
        if isinstance(event, TurnStarted | RunDone):
            self.catch_up((event,))
        else:
            await super().commit(event)


class RestoredChild(Struct, frozen=True):
    """A sub-agent as the log has it."""

    state: State
    prompted: bool
    """Whether its last prompt is stored."""
    ended: AgentEnded | None = None
    """How its work on that prompt ended, if it has."""


def restore_child(log: Log, started: AgentStarted, parent: str) -> RestoredChild:
    """Fold the entries of a sub-agent on the current branch of the log.

    `parent` is the id of the agent that started it: a fork begins with its conversation.
    """
    tree = LogTree()
    for envelope in log.read():
        tree.add(envelope)
    branch = tree.path_to(log.head)
    state, prompted = _restore_fork(branch, started, parent) if started.forked_at else State(), False
    ended: AgentEnded | None = None
    for envelope in branch:
        event = envelope.event
        if isinstance(event, AgentStarted) and event.id == started.id:
            state, prompted, ended = state.apply(TurnStarted(state.turn + 1, event.model, event.mode)), False, None
        elif isinstance(event, AgentEnded) and event.id == started.id:
            ended = event
        elif envelope.agent == started.id:
            state, prompted = state.apply(event), prompted or isinstance(event, Prompted)
    return RestoredChild(state, prompted, ended)


def _restore_fork(branch: list[Envelope], started: AgentStarted, parent: str) -> State:
    state = State()
    for envelope in branch:
        if envelope.agent == parent:
            state = state.apply(envelope.event)
        if envelope.id == started.forked_at:
            break
    return forked(state)


def forked(state: State) -> State:
    """Return the state with which a fork begins: its conversation is whole, and it owns nothing that runs."""
    replies = tuple(ToolReply(call.id, (Text(FORKED),)) for call in state.unanswered)
    return State(
        closed=state.closed,
        answer_id=state.answer_id,
        answer=state.answer,
        user_blocks=(*state.user_blocks, *replies),
        context=state.context,
        abandoned=state.abandoned,
    )
