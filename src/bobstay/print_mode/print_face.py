"""Common parts of the output formats: session facts, encoder, and running one prompt to its end."""

import asyncio
import sys
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from functools import partial
from typing import Protocol

from bobstay.assembly.conversation import Conversation
from bobstay.assembly.session import AgentSession
from bobstay.library.listing import skill_names
from bobstay.model.agent_events import AgentStarted
from bobstay.model.event import Event, RunDone, ToolDone, TurnStarted
from bobstay.model.message import Block
from bobstay.print_mode.signals import SignalStop
from bobstay.wire import wire_frames
from bobstay.wire.event_encoder import EventEncoder
from bobstay.wire.result_frame import RESULT_ROWS
from bobstay.wire.wire_frames import Facts, Frame

INTERRUPT_TIMEOUT = 5.0
"""Seconds an interrupted turn gets to end."""


class PrintFace(Protocol):
    """Output format of print mode."""

    def show(self, event: Event) -> None: ...

    def show_agent(self, started: AgentStarted, event: Event) -> None:
        """Show an event of a sub-agent."""
        ...

    def end_session(self, session: AgentSession, prompt: str) -> None:
        """A session was cleared; `prompt` is the id of the prompt that asked for it."""
        ...

    def begin_session(self, session: AgentSession) -> None:
        """Show another session from now on, which takes the place of one that was cleared."""
        ...

    def finish(self) -> None:
        """Write buffered output after the last turn."""
        ...


def build_facts(session: AgentSession) -> Facts:
    return Facts(
        cwd=str(session.cwd),
        tools=tuple(session.tools),
        model=session.model,
        mode=session.mode,
        api_key_source=session.api_key_source,
        output_style=session.output_style,
        commands=session.commands,
        agents=tuple(agent.name for agent in session.library.current.agents),
        skills=_skills(session),
        plugins=tuple(session.library.plugin_rows),
        mcp_servers=tuple(session.servers.summary()) if session.servers is not None else (),
        plugin_errors=tuple(session.library.plugin_errors),
    )


def _skills(session: AgentSession) -> tuple[str, ...]:
    """Names of the skills, then of those that MCP servers offer."""
    own = skill_names(session.library.current, session.library.active)
    servers = session.servers.skills() if session.servers is not None else ()
    return tuple(dict.fromkeys((*own, *(each.name for each in servers))))


def build_encoder(
    session: AgentSession, *, partial: bool = False, replay: bool = False, results: int = 0
) -> EventEncoder:
    encoder = EventEncoder(
        session.id,
        lambda: build_facts(session),
        session.totals,
        partial=partial,
        replay=replay,
        entry=lambda: session.entry,
        redactor=session.redactor,
    )
    encoder.results = results
    return encoder


def clear_frames(session: AgentSession, prompt: str) -> list[Frame]:
    """Return the last frames of a session that was cleared."""
    no_tasks = wire_frames.system(session.id, "background_tasks_changed", tasks=[])
    return [wire_frames.conversation_reset(session.id, prompt), no_tasks]


class CommandList:
    """Tells hosts when the commands that a person may call have changed: skills, prompts of MCP servers, plugins."""

    def __init__(self, session: AgentSession) -> None:
        self._session = session
        self._told = session.commands

    def changes(self, event: Event) -> list[Frame]:
        """Return the frame with the new list, if an event may have changed it and did."""
        if not isinstance(event, ToolDone | TurnStarted | RunDone) or self._session.commands == self._told:
            return []
        self._told = self._session.commands
        rows = self._session.info()["commands"]
        return [wire_frames.system(self._session.id, "commands_changed", commands=rows)]


async def run_once(
    conversation: Conversation,
    blocks: tuple[Block, ...],
    face: PrintFace,
    stop: SignalStop,
    *,
    wait: float,
    seconds: float | None = None,
) -> int:
    """Run one prompt, its queued messages and the notices of its background commands; return the exit code.

    `wait` limits how many seconds to wait for background commands after an answer, `seconds` the whole run, waiting
    included. On a signal the session is interrupted and the turn ends regularly.
    """
    _follow(conversation.session, face)
    conversation.ended.append(face.end_session)
    conversation.begun.append(partial(_show_next, face))
    turns = _Turns(conversation, face.show, wait, seconds)
    running = asyncio.ensure_future(turns.run(blocks))
    stopping = asyncio.ensure_future(stop.requested())
    try:
        await asyncio.wait((running, stopping), return_when=asyncio.FIRST_COMPLETED)
        if not running.done() and conversation.session.busy:
            await conversation.session.interrupt()
            await asyncio.wait((running,), timeout=INTERRUPT_TIMEOUT)
        if running.done():
            running.result()
    finally:
        stopping.cancel()
        running.cancel()
    await end_background(conversation.session)
    face.finish()
    done = turns.done
    return 1 if conversation.session.busy or done is None or RESULT_ROWS[done.ending].is_error else 0


async def _show_next(face: PrintFace, session: AgentSession) -> None:
    face.begin_session(session)
    _follow(session, face)


def _follow(session: AgentSession, face: PrintFace) -> None:
    session.background.listeners.append(face.show)
    session.agents.listeners.append(face.show_agent)


class _Turns:
    """The turns of one run, until there is nothing left to wait for."""

    def __init__(
        self, conversation: Conversation, show: Callable[[Event], None], wait: float, seconds: float | None
    ) -> None:
        self._conversation = conversation
        self._show = show
        self._wait = wait
        self._until = None if seconds is None else time.monotonic() + seconds
        self.done: RunDone | None = None
        """How the last turn ended."""

    async def run(self, blocks: tuple[Block, ...]) -> None:
        events: AsyncGenerator[Event, None] | None = self._conversation.run(blocks)
        while events is not None:
            self.done = None
            self.done = await show_turn(events, self._show)
            events = next_turn(self._conversation, self.done, waited=0.0)
            if events is None and self._may_wait():
                started = time.monotonic()
                left = self._wait if self._until is None else min(self._wait, self._until - started)
                if await self._conversation.session.background.wait(left):
                    events = next_turn(self._conversation, self.done, waited=time.monotonic() - started)

    def _may_wait(self) -> bool:
        """Whether to wait for background commands: not after a limit, an error or an interrupt."""
        return self.done is not None and not RESULT_ROWS[self.done.ending].is_error


async def end_background(session: AgentSession) -> None:
    """End background commands that still run, with a warning, because their results would be lost."""
    if ended := await session.background.end():
        titles = ", ".join(f'"{title}"' for title in ended)
        sys.stderr.write(f"Warning: still running in the background, ended with the session: {titles}\n")


def next_turn(
    conversation: Conversation, done: RunDone | None, *, waited: float | None = None
) -> AsyncGenerator[Event, None] | None:
    """The next turn: a queued message, or notices of background commands that ended.

    `waited`: see `AgentSession.run_notices`. None after a turn that could not be stored: the next would fail too.
    """
    if done is None or done.error == "log":
        return None
    session = conversation.session
    if (queued := session.next_queued()) is not None:
        return conversation.run_queued(queued)
    return session.run_notices(waited=waited) if session.background.has_wake_notice else None


async def show_turn(events: AsyncGenerator[Event, None], show: Callable[[Event], None]) -> RunDone | None:
    """Show every event of a turn; return the last one."""
    done = None
    async with aclosing(events):
        async for event in events:
            show(event)
            if isinstance(event, RunDone):
                done = event
    return done
