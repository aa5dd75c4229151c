"""The session behind a front end: `/clear` ends it, and a new one takes its place."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress

from msgspec.structs import replace

from bobstay.assembly.session import AgentSession
from bobstay.assembly.start_context import Predecessor
from bobstay.library.command_call import CLEAR, calls_clear
from bobstay.model.event import Event, InputQueued, Prompted, RunDone
from bobstay.model.message import Block, Text


class Conversation:
    """Runs the turns of one session after the other; see `AgentSession` for what they do."""

    def __init__(self, session: AgentSession) -> None:
        self.session = session
        self.ended: list[Callable[[AgentSession, str], None]] = []
        """Called with a session that was cleared, once it is closed, and the id of the prompt that asked for it."""
        self.begun: list[Callable[[AgentSession], Awaitable[None]]] = []
        """Called with each session that takes the place of another, before its first turn."""
        self.changing = asyncio.Lock()
        """Held while one session takes the place of another: no input is accepted meanwhile."""

    def run(
        self,
        blocks: tuple[Block, ...] | str,
        *,
        client_id: str = "",
        take_at_end: bool = False,
        verbatim: bool = False,
    ) -> AsyncGenerator[Event, None]:
        given: tuple[Block, ...] = (Text(blocks),) if isinstance(blocks, str) else blocks
        turn = self.session.run(given, client_id=client_id, take_at_end=take_at_end, verbatim=verbatim)
        return self._clear_after(turn) if calls_clear(given) and not verbatim else turn

    def run_queued(self, queued: InputQueued) -> AsyncGenerator[Event, None]:
        turn = self.session.run_queued(queued)
        return self._clear_after(turn) if calls_clear(queued.blocks) and not queued.verbatim else turn

    async def clear(self, prompt: str = "") -> None:
        """Put a new session in the place of this one. What is still queued is for the new one.

        Raises:
            StartError: the new one cannot be started. The old one is kept, and can be resumed.
        """
        async with self.changing:
            before = self.session
            queued = before.state.queued
            for each in queued:
                before.driver.drop(each.id)
            await before.close("clear")
            for tell in self.ended:
                tell(before, prompt)
            self.session = await _open_next(before)
            for each in queued:
                self.session.driver.queue(each)
            for attach in self.begun:
                await attach(self.session)

    async def _clear_after(self, turn: AsyncGenerator[Event, None]) -> AsyncGenerator[Event, None]:
        """Hold the events of a turn that calls `/clear` until it is done: they are shown as those of the new session.

        A hook may have refused it; the session then goes on.
        """
        events: list[Event] = []
        async with aclosing(turn):
            async for event in turn:
                events.append(event)  # noqa: PERF401 - a comprehension would not close the turn in time
        last = events[-1] if events else None
        if isinstance(last, RunDone) and last.local_command == CLEAR:
            prompts = [event.client_id or event.id for event in events if isinstance(event, Prompted)]
            await self.clear(prompts[-1] if prompts else "")
        for event in events:
            yield event


async def _open_next(before: AgentSession) -> AgentSession:
    """Open a session like another one, with an empty conversation and with what was changed since that began."""
    assert before.open_next is not None, "it was made by open_session"
    agent, chosen = before.driver.agent, before.state.chosen
    options = replace(
        before.options,
        continue_=False,
        resume=None,
        session_id=None,
        fork_session=False,
        resume_session_at=None,
        resume_drops_turn=None,
        name=None,
        permission_mode=before.mode,
        allow_dangerously_skip_permissions=before.can_bypass,
        model=chosen if chosen and chosen != agent.model else before.options.model,
    )
    spent = before.state.cost - agent.spent_before
    session = await before.open_next(options, predecessor=Predecessor(spent))
    settings = session.driver.agent.settings
    settings.thinking, settings.effort = agent.settings.thinking, agent.settings.effort
    if before.output_style != session.output_style:
        with suppress(ValueError):  # there is none of that name any more
            session.set_output_style(before.output_style)
    session.set_host_library(*before.host_library)
    if before.host_servers:
        await session.set_host_servers(before.host_servers)
    return session
