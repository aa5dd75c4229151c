"""A sub-agent at work: the same engine with another `Agent`, on a journal of its own in the log of its session."""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Literal

from msgspec import Struct

from bobstay.engine.driver import Driver
from bobstay.engine.journal import Journal
from bobstay.engine.toolbox import Toolbox
from bobstay.engine.turn_hooks import before_agent
from bobstay.model.agent_events import AgentEnded, AgentStarted, AgentStatus
from bobstay.model.event import Ending, Event, InputQueued, MessageDone, RunDone, ToolDone
from bobstay.model.ids import new_id
from bobstay.model.message import Block, Text, Usage

log = logging.getLogger(__name__)

GRACE = 5.0
"""Seconds a sub-agent that is stopped may take to answer its open calls."""
_LIMIT = "\n\n[It stopped here because it reached a limit: {text}]"
_KILLED: frozenset[Ending] = frozenset({"interrupted_streaming", "interrupted_tools"})
_PARTIAL: frozenset[Ending] = frozenset({"max_turns", "max_tokens", "max_output", "max_time"})
"""Endings after which what it has written so far is a result."""


class ParentAgent(Struct, frozen=True):
    """The agent that starts a sub-agent: the session's own, or a sub-agent."""

    journal: Journal
    depth: int = 0
    above: "ParentAgent | None" = None


class ChildEngine(Struct, frozen=True):
    """The engine of a sub-agent."""

    driver: Driver
    wait: Callable[[], Awaitable[bool]]
    """Waits until something that it runs in the background ends; False if there is nothing to wait for."""
    close: Callable[[], Awaitable[str]]
    """Releases what it holds. Returns the worktree that is left, if any."""
    prepare: Callable[[], Awaitable[None]] | None = None
    """Called before its first turn: waits for servers of its own."""


class RunningAgents:
    """The sub-agents of a session that run, by id."""

    def __init__(self) -> None:
        self.by_id: dict[str, RunningAgent] = {}

    def of(self, parent: str) -> "list[RunningAgent]":
        """Those that the agent with this id started; "" for the session's own."""
        return [each for each in self.by_id.values() if each.parent.journal.agent == parent]


class RunningAgent:
    """Made by `AgentTree`. `ended` is done when its end is recorded."""

    def __init__(
        self,
        started: AgentStarted,
        parent: ParentAgent,
        engine: ChildEngine,
        report: Callable[[AgentStarted, Event], None],
        on_ended: "Callable[[RunningAgent, AgentEnded], None]",
    ) -> None:
        """`report` is called with each event; `on_ended` stores the end."""
        self.started = started
        self.parent = parent
        self.ended: asyncio.Future[AgentEnded] = asyncio.get_running_loop().create_future()
        self._engine = engine
        self._report = report
        self._on_ended = on_ended
        self._task: asyncio.Task[None] | None = None
        self._usage = Usage()
        self._tool_uses = 0
        self._tell_later = False
        self._has_message = asyncio.Event()
        self._is_closing = False

    @property
    def takes_messages(self) -> bool:
        """Whether it still reads what is queued. If not, its end is about to be stored."""
        return not self._is_closing

    @property
    def toolbox(self) -> Toolbox:
        return self._engine.driver.agent.toolbox

    def begin(self, prompt: str | None) -> None:
        """Work on a prompt; without one, continue the turn that was interrupted."""
        self._task = asyncio.ensure_future(self._work(prompt))

    def queue(self, message: str) -> None:
        """Give it a message, which it reads after its current tool calls. Stored when this returns."""
        self._engine.driver.queue(InputQueued(new_id(), (Text(message),)))
        self._has_message.set()

    async def stop(self, *, tell_later: bool = False) -> None:
        """End its turn; its calls are stopped and answered. `tell_later`: its parent is told with its next prompt."""
        assert self._task is not None
        self._tell_later = tell_later
        await asyncio.sleep(0)  # a task that is cancelled before it began could not store its end
        if self._engine.driver.interrupt():
            await asyncio.wait([self._task], timeout=GRACE)
        # Else no turn runs, whose calls would need an answer: it must not begin one.
        if not self._is_closing:  # what it holds is being released, and then its end is stored
            self._task.cancel()
        await asyncio.wait([self._task])

    async def _work(self, prompt: str | None) -> None:
        began, done = time.monotonic(), RunDone("interrupted_tools")
        try:
            done = await self._turns(prompt)
        except asyncio.CancelledError:
            pass  # it was stopped, and took too long
        except Exception as error:  # boundary: a defect in a sub-agent must not end the one that started it
            log.exception("the sub-agent %s failed", self.started.id)
            done = RunDone("failed", text=f"{type(error).__name__}: {error}")
        self._is_closing = True
        status = _status(done.ending)
        worktree = await self._close()
        ended = self._build_end(done, status, worktree, int((time.monotonic() - began) * 1000))
        self._on_ended(self, ended)
        self.ended.set_result(ended)

    async def _close(self) -> str:
        try:
            return await self._engine.close()
        except Exception:  # boundary: its parent waits for its end, whatever cannot be released
            log.exception("what the sub-agent %s held could not be released", self.started.id)
            return self.started.worktree

    async def _turns(self, prompt: str | None) -> RunDone:
        driver = self._engine.driver
        if self._engine.prepare is not None:
            await self._engine.prepare()
        done = await self._consume(driver.resume_turn() if prompt is None else driver.turn(await self._blocks(prompt)))
        while done.ending not in _KILLED and done.error != "log" and await self._has_more():
            self._has_message.clear()
            done = await self._consume(driver.turn((), waited=0.0))
        self._is_closing = True
        return done

    async def _has_more(self) -> bool:
        """Wait until there is something to tell it: a message, or the end of what it runs in the background."""
        if self._engine.driver.state.queued:
            return True
        waiting = asyncio.ensure_future(self._engine.wait())
        message = asyncio.ensure_future(self._has_message.wait())
        try:
            await asyncio.wait((waiting, message), return_when=asyncio.FIRST_COMPLETED)
            return bool(self._engine.driver.state.queued) or (waiting.done() and waiting.result())
        finally:
            for task in (waiting, message):
                task.cancel()
            await asyncio.wait((waiting, message))

    async def _blocks(self, prompt: str) -> tuple[Block, ...]:
        """Return the prompt, and what SubagentStart hooks add."""
        outcome = await before_agent(self._engine.driver.agent.toolbox)
        context = tuple(Text(f"<system-reminder>\n{text}\n</system-reminder>") for text in outcome.context if text)
        return (*context, Text(prompt))

    async def _consume(self, events: AsyncGenerator[Event, None]) -> RunDone:
        done = RunDone("failed", text="The turn has no end.")
        async with aclosing(events):
            async for event in events:
                if isinstance(event, RunDone):
                    done = event
                elif isinstance(event, MessageDone):
                    self._usage += event.usage
                elif isinstance(event, ToolDone):
                    self._tool_uses += 1
                self._report(self.started, event)
        return done

    def _build_end(self, done: RunDone, status: AgentStatus, worktree: str, duration_ms: int) -> AgentEnded:
        started = self.started
        text = done.text or self._engine.driver.state.last_text
        if done.ending in _PARTIAL:
            text = (self._engine.driver.state.last_text + _LIMIT.format(text=done.text)).strip()
        tell: Literal["wake", "next_turn", "no"]
        tell = "next_turn" if self._tell_later else "wake" if started.background and status != "killed" else "no"
        return AgentEnded(
            started.id,
            started.call_id,
            started.agent_type,
            started.description,
            status,
            text=text,
            usage=self._usage,
            tool_uses=self._tool_uses,
            duration_ms=duration_ms,
            worktree=worktree,
            notice="" if tell == "no" else new_id(),
            tell=tell,
        )


def _status(ending: Ending) -> AgentStatus:
    if ending in _KILLED:
        return "killed"
    return "completed" if ending == "completed" or ending in _PARTIAL else "failed"
