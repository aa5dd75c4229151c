"""The sub-agents of a session: starts, resumes and stops them, and reports their events."""

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from bobstay.engine.agent import Agent
from bobstay.engine.child_journal import ChildJournal, RestoredChild, forked, restore_child
from bobstay.engine.event_redaction import redact_event
from bobstay.engine.journal import Journal
from bobstay.engine.running_agent import ChildEngine, ParentAgent, RunningAgent, RunningAgents
from bobstay.engine.state import State
from bobstay.model.agent_events import AgentEnded, AgentStarted
from bobstay.model.event import Durable, Event
from bobstay.redaction.redactor import Redactor
from bobstay.sessions.log import LogError
from bobstay.tools.agent_service import AgentRequest
from bobstay.tools.tool_error import ToolError

log = logging.getLogger(__name__)

FORK = "fork"
"""The type of a sub-agent that begins with the conversation of the one that starts it."""


StartedAgent: TypeAlias = "tuple[AgentStarted, asyncio.Future[AgentEnded]]"
"""A sub-agent, and its end."""


class AgentLimits(Struct, frozen=True):
    depth: int = 3
    """How deep sub-agents may start others; those at the last level have no tool for it."""
    at_once: int = 50
    """How many may run at once in a session."""


class ChildBuilder(Protocol):
    """Builds the engines of sub-agents; assembly implements it."""

    async def prepare(self, request: AgentRequest, parent: ParentAgent) -> AgentStarted:
        """Choose type, model, mode and worktree.

        Raises:
            ToolError: there is no such type or model, or the worktree cannot be made.
        """
        ...

    async def build(
        self, started: AgentStarted, journal: ChildJournal, parent: Agent, spawner: "AgentSpawner"
    ) -> ChildEngine:
        """Build the engine on its journal, whose state may have been restored from the log.

        `parent` is the agent that started it; `spawner` is for its own sub-agents.
        """
        ...


class AgentTree:
    """One per session."""

    def __init__(
        self, builder: Callable[[], ChildBuilder], running: RunningAgents, redactor: Redactor, limits: AgentLimits
    ) -> None:
        """`builder` is called when the first sub-agent is started."""
        self.limits = limits
        self.listeners: list[Callable[[AgentStarted, Event], None]] = []
        """Called with each event of a sub-agent, stored or live, and with its start and end."""
        self.observers: list[Callable[[Durable], None]] = []
        """Called with each event a sub-agent stored, for what all agents of a session share, such as permissions."""
        self._builder = builder
        self._redactor = redactor
        self._all = running
        self._running = running.by_id
        self._agents: dict[str, Agent] = {}
        """Agents that may start others, by id; "" for the session's own."""

    def add_root(self, agent: Agent) -> None:
        """Let the session's own agent start others."""
        self._agents[""] = agent

    def list_running(self, parent: str | None = None) -> list[RunningAgent]:
        """The sub-agents that run; with `parent`, those that the agent with this id started."""
        return list(self._running.values()) if parent is None else self._all.of(parent)

    # ------------------------------------------------------------ start and resume

    async def start(self, request: AgentRequest, parent: ParentAgent) -> StartedAgent:
        """Start a sub-agent, or continue the one that this call had started when the program ended.

        Raises:
            ToolError: there is no such type, or a limit is reached.
        """
        agents = parent.journal.state.agents.values()
        if (interrupted := next((each for each in agents if each.call_id == request.call_id), None)) is not None:
            return await self._resume(interrupted, parent)
        self._check_limits(parent)
        started = await self._builder().prepare(request, parent)
        state = State()
        if started.agent_type == FORK:
            started = replace(started, forked_at=parent.journal.log.head)
            state = forked(parent.journal.state)
        running = await self._begin(started, parent, state, is_new=True)
        running.begin(started.prompt)
        return started, running.ended

    async def send(
        self, to: str, message: str, *, call_id: str, parent: ParentAgent
    ) -> list[tuple[AgentStarted, bool]]:
        """Send a message; see `AgentService.send`. Returns the recipients, and whether each was running.

        Raises:
            ToolError: there is no such agent, or a limit is reached.
        """
        from bobstay.engine.agent_message import from_parent

        text = from_parent(message)
        if to == "*":
            running = [each for each in self.list_running(parent.journal.agent) if each.takes_messages]
            for each in running:
                each.queue(text)
            return [(each.started, True) for each in running]
        found = _find_recipient(parent.journal.state, to)
        if found.call_id == call_id:  # the program ended before the reply to this call was stored
            return [((await self._resume(found, parent))[0], False)]
        if (at_work := self._running.get(found.id)) is not None:
            if at_work.takes_messages:
                at_work.queue(text)
                return [(found, True)]
            await asyncio.shield(at_work.ended)
        self._check_limits(parent)
        restored = await self._restore(found, parent)
        again = replace(found, call_id=call_id, prompt=text, background=True, first_call=found.parent_call)
        (await self._begin(again, parent, restored.state, is_new=True)).begin(text)
        return [(again, False)]

    async def resume_background(self, parent: ParentAgent) -> None:
        """Continue the sub-agents in the background that the end of the program interrupted."""
        state = parent.journal.state
        for id_ in sorted(state.running_agents - self._running.keys()):
            started = state.agents[id_]
            if started.background:
                await self._resume(started, parent)
            elif all(call.id != started.call_id for call in state.unanswered):
                ended = AgentEnded(id_, started.call_id, started.agent_type, started.description, "lost")
                self._record(parent.journal, started, ended)

    async def _resume(self, started: AgentStarted, parent: ParentAgent) -> StartedAgent:
        """Continue a sub-agent that the end of the program interrupted."""
        if (running := self._running.get(started.id)) is not None:
            return started, running.ended
        restored = await self._restore(started, parent)
        if restored.ended is not None:  # its end is stored, but not the reply to the call
            ended: asyncio.Future[AgentEnded] = asyncio.get_running_loop().create_future()
            ended.set_result(restored.ended)
            return started, ended
        running = await self._begin(started, parent, restored.state, is_new=False)
        running.begin(None if restored.prompted else started.prompt)
        return started, running.ended

    async def _restore(self, started: AgentStarted, parent: ParentAgent) -> RestoredChild:
        return await asyncio.to_thread(restore_child, parent.journal.log, started, parent.journal.agent)

    async def _begin(self, started: AgentStarted, parent: ParentAgent, state: State, *, is_new: bool) -> RunningAgent:
        """Build the engine of a sub-agent. Its start is stored if it `is_new`."""
        journal = ChildJournal(
            parent.journal.log,
            state,
            agent=started.id,
            parent_call=started.parent_call,
            recorded=lambda event: self._on_recorded(event, parent),
        )
        as_parent = ParentAgent(journal, started.depth, parent)
        agent = self._agents[parent.journal.agent]
        engine = await self._builder().build(started, journal, agent, AgentSpawner(self, as_parent))
        if is_new:
            self._record(parent.journal, started, started)
        running = RunningAgent(started, parent, engine, self._report, self._on_ended)
        self._running[started.id] = running
        self._agents[started.id] = engine.driver.agent
        if not is_new:
            await self.resume_background(as_parent)
        return running

    def _check_limits(self, parent: ParentAgent) -> None:
        if parent.depth >= self.limits.depth:
            raise ToolError(f"Agents may be nested {self.limits.depth} deep at most. Do this task yourself.")
        if len(self._running) >= self.limits.at_once:
            raise ToolError(f"{self.limits.at_once} agents are running, which is the limit. Wait until one has ended.")

    # ------------------------------------------------------------ stop

    async def stop(self, id: str, *, tell_later: bool = False) -> AgentStarted | None:
        """Stop a sub-agent and those below it; None if none with that id runs."""
        running = self._running.get(id)
        if running is None:
            return None
        below = (self.stop(each.started.id) for each in self.list_running(id))
        await asyncio.gather(running.stop(tell_later=tell_later), *below)
        return running.started

    async def close(self) -> None:
        """Stop all sub-agents because the session is about to be closed."""
        await asyncio.gather(*(each.stop(tell_later=True) for each in self.list_running()))

    # ------------------------------------------------------------ events

    def _on_recorded(self, event: Durable, parent: ParentAgent) -> None:
        above: ParentAgent | None = parent
        while above is not None:
            above.journal.count_child(event)
            above = above.above
        for observer in self.observers:
            observer(event)

    def _on_ended(self, running: RunningAgent, ended: AgentEnded) -> None:
        self._running.pop(ended.id, None)
        self._agents.pop(ended.id, None)
        self._record(running.parent.journal, running.started, ended)

    def _record(self, journal: Journal, started: AgentStarted, event: AgentStarted | AgentEnded) -> None:
        try:
            journal.record(redact_event(event, self._redactor))
        except LogError as error:
            log.warning("an event of a sub-agent could not be stored: %s", error)
        self._report(started, event)

    def _report(self, started: AgentStarted, event: Event) -> None:
        for listener in self.listeners:
            listener(started, event)


class AgentSpawner:
    """Implements `AgentService` for the tools of one agent."""

    def __init__(self, tree: AgentTree, parent: ParentAgent) -> None:
        self._tree = tree
        self._parent = parent

    def running(self) -> list[RunningAgent]:
        """The sub-agents that this agent started and that run."""
        return self._tree.list_running(self._parent.journal.agent)

    async def run(self, request: AgentRequest) -> tuple[AgentStarted, AgentEnded]:
        started, ended = await self._tree.start(request, self._parent)
        try:
            return started, await asyncio.shield(ended)
        except asyncio.CancelledError:
            await self._tree.stop(started.id)
            raise

    async def start(self, request: AgentRequest) -> AgentStarted:
        return (await self._tree.start(request, self._parent))[0]

    async def send(self, to: str, message: str, *, call_id: str) -> list[tuple[AgentStarted, bool]]:
        return await self._tree.send(to, message, call_id=call_id, parent=self._parent)

    async def stop(self, id: str) -> AgentStarted | None:
        return await self._tree.stop(id)


def _find_recipient(state: State, to: str) -> AgentStarted:
    """Find a sub-agent by its id, or the last one of a type.

    Raises:
        ToolError: there is none.
    """
    of_type = (each for each in reversed(state.agents.values()) if each.agent_type.lower() == to.lower())
    found = state.agents.get(to) or next(of_type, None)
    if found is None:
        names = ", ".join(state.agents) or "none"
        raise ToolError(f"There is no agent {to}. Send to the id or type of an agent you started: {names}.")
    return found
