"""Sessions with sub-agents: the calls that start them, who is asked, their turns, and what is in their log."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any, TypeAlias, TypeVar

from bobstay.assembly.session import AgentSession
from bobstay.engine.engine_ports import Answer
from bobstay.model.event import Envelope, InteractionOpened, RunDone, ToolDone
from tests.kit.waiting import DEADLINE
from tests.modelserver.script import Call

Kind = TypeVar("Kind")
OpenSession: TypeAlias = Callable[..., Awaitable[AgentSession]]


class Person:
    """Allows everything, and remembers what was asked."""

    can_ask = True

    def __init__(self) -> None:
        self.asked: list[InteractionOpened] = []

    async def ask(self, opened: InteractionOpened) -> Answer:
        self.asked.append(opened)
        return Answer(True)


def agent_call(prompt: str, id: str = "a1", **more: Any) -> Call:
    return Call("Agent", {"description": "look", "prompt": prompt, **more}, id)


def entries(session: AgentSession) -> list[Envelope]:
    return list(session.driver.journal.log.read())


def events_of(session: AgentSession, kind: type[Kind]) -> list[Kind]:
    return [each.event for each in entries(session) if isinstance(each.event, kind)]


def replies(session: AgentSession) -> dict[str, str]:
    """The texts of the results of calls, by the ids of these."""
    return {each.reply.call_id: each.reply.text for each in events_of(session, ToolDone)}


async def run(session: AgentSession, prompt: str) -> RunDone:
    async with asyncio.timeout(DEADLINE), aclosing(session.run(prompt)) as events:
        done = [event async for event in events][-1]
    assert isinstance(done, RunDone)
    return done


async def woken(session: AgentSession) -> RunDone:
    """The turn that a notice begins."""
    async with asyncio.timeout(DEADLINE):
        assert await session.background.wait(DEADLINE)
        async with aclosing(session.run_notices()) as events:
            done = [event async for event in events][-1]
    assert isinstance(done, RunDone)
    return done
