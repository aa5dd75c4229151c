"""Native worker: runs a session's turns with bobstay's own engine, in this process."""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from bobstay.assembly.build_session import StartError, open_session
from bobstay.assembly.server_presence import HostPorts
from bobstay.assembly.session import AgentSession
from bobstay.assembly.session_log import OpenedLog
from bobstay.assembly.session_modes import BypassNotLaunched, UnknownMode
from bobstay.assembly.start_context import Predecessor
from bobstay.assembly.stop_background import stop_background
from bobstay.config.environment import Environment
from bobstay.config.options import Options
from bobstay.library.command_call import CLEAR
from bobstay.model.agent_events import AgentEnded, AgentStarted
from bobstay.model.event import Envelope, Event, InteractionOpened, Noted, RunDone
from bobstay.model.ids import new_id
from bobstay.model.live_events import LIVE
from bobstay.model.session_events import ArtifactMade, WorkerExited, WorkerStarted
from bobstay.server.capacity import Capacity, CapacitySeat
from bobstay.server.errors import ApiError
from bobstay.server.inbox import Inbox
from bobstay.server.sessions.open_session import OpenSession
from bobstay.server.workers.bypass_timer import BypassTimer
from bobstay.server.workers.inbox_requests import InboxRequests
from bobstay.server.workers.worker import Kind, WorkerError
from bobstay.server.workflows import (
    MODES,
    allowed_tools,
    allows_mode,
    denied_tools,
    is_read_only,
    permission_mode,
    system_text,
)
from bobstay.sessions.log import LogError

if TYPE_CHECKING:
    from bobstay.mcp.mcp_servers import McpServers

log = logging.getLogger(__name__)
CLEARED = "The conversation was cleared: the agent begins anew, and what came before stays here to read."
GRACE = 5.0
"""Seconds an interrupted turn may take to end by itself."""


class NativeServices(Struct, frozen=True):
    """Services that all native workers of a server share."""

    environment: Environment
    inbox: Inbox
    capacity: Capacity
    mcp_config: str = ""
    """The configuration of MCP servers of one session, as JSON."""


class NativeWorker:
    kind: Kind = "native"

    def __init__(self, id: str, epoch: int, session: OpenSession, parts: NativeServices) -> None:
        self.id = id
        self.epoch = epoch
        self.last_active = time.monotonic()
        self._open = session
        self._parts = parts
        self._inner: AgentSession | None = None
        self._task: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        self._in_turn = False
        self._bypass = BypassTimer(self._end_bypass)
        self._seat = CapacitySeat(parts.capacity)
        self._requests = InboxRequests(session, parts.inbox, self._seat)

    async def start(self) -> None:
        branch = await self._open.begin_engine()
        try:
            self._inner = await self._open_inner(branch)
        except StartError as error:
            self._open.detach_engine()
            self._open.record(WorkerExited(self.id, "native", self.epoch, why="not_started", error=str(error)))
            raise WorkerError(str(error)) from error
        pending = {entry.id for entry in self._open.view.interactions}
        for event in (envelope.event for envelope in branch if pending):
            if isinstance(event, InteractionOpened) and event.id in pending:
                self._parts.inbox.observe(self._open.id, event)  # it can be answered before the turn reaches it
        self._attach(self._inner)
        self._open.record(WorkerStarted(self.id, "native", self.epoch))
        self._requests.close_orphaned_elicitations()
        self._bypass.set(self._inner.mode, self._open.view.config.bypass_until)
        for warning in self._inner.warnings:
            self._open.record(Noted(warning, "warning"))
        self._task = asyncio.create_task(self._work(), name=f"native {self._open.id}")

    async def _open_inner(self, branch: list[Envelope], predecessor: Predecessor | None = None) -> AgentSession:
        return await open_session(
            self._options(),
            self._requests,
            environment=self._parts.environment,
            history=OpenedLog(self._open, branch, []),
            ports=HostPorts(elicit=self._elicit),
            predecessor=predecessor,
        )

    def _attach(self, inner: AgentSession) -> None:
        self._open.attach_engine(inner.driver.journal)
        inner.background.listeners.append(lambda _: self.nudge())
        inner.agents.listeners.append(self._on_agent_event)
        if inner.servers is not None:
            inner.servers.subscribe(self._open.show_inventory_change)

    async def stop(self, why: Literal["stopped", "asleep", "killed"] = "stopped", reason: str = "") -> None:
        task, self._task = self._task, None
        if task is None:
            return
        if self._inner is not None:
            self._inner.driver.interrupt()
        if self._in_turn and why == "stopped":
            await asyncio.wait([task], timeout=GRACE)
        task.cancel()
        await asyncio.wait([task])
        await self._end(WorkerExited(self.id, "native", self.epoch, why=why, error=reason))

    async def suspend(self) -> bool:
        """End without recording it if the session waits for a person: the next server resumes the interaction."""
        task = self._task
        if task is None or not self._open.view.interactions:
            return False
        self._task = None
        self._bypass.cancel()
        self._open.release()  # nothing more is written: the log stays as after a crash
        task.cancel()
        await asyncio.wait([task])
        inner, self._inner = self._inner, None
        if inner is not None:
            await inner.close()
        return True

    def alive(self) -> bool:
        return self._task is not None and not self._task.done()

    @property
    def busy(self) -> bool:
        return self._in_turn

    @property
    def expects_notice(self) -> bool:
        return self._inner is not None and self._inner.background.is_awaited

    @property
    def servers(self) -> "McpServers | None":
        return self._inner.servers if self._inner is not None else None

    async def stop_background(self, id: str) -> bool:
        return self._inner is not None and await stop_background(self._inner, id)

    async def _elicit(self, request: dict[str, Any]) -> dict[str, Any] | None:
        if self._inner is None:
            return None  # it is starting or ending: nobody can answer yet or any more
        return await self._requests.elicit(request, self._inner.redactor)

    def nudge(self) -> None:
        self.last_active = time.monotonic()
        self._wake.set()

    def _on_agent_event(self, started: AgentStarted, event: Event) -> None:
        if isinstance(event, LIVE):
            self._open.show(event, started.parent_call)
        elif isinstance(event, AgentEnded):
            self.nudge()

    async def interrupt(self, *, force: bool = False) -> None:
        if self._inner is None or not self.alive():
            return
        if not self._in_turn or force:
            await self.stop("killed" if force else "stopped")
            return
        await self._inner.interrupt()
        self._requests.withdraw_elicitations()

    async def set_mode(self, mode: str) -> None:
        if not allows_mode(self._open.view.config, mode):
            label = MODES[self._open.view.config.workflow].label
            raise ApiError("wrong_state", f"A session in {label} mode cannot be put into {mode}.")
        assert self._inner is not None
        self._inner.can_bypass = self._open.view.config.bypass_until > time.time()
        try:
            await self._inner.set_mode(mode)
        except (UnknownMode, BypassNotLaunched) as error:
            raise ApiError("invalid", str(error)) from error
        self._bypass.set(mode, self._open.view.config.bypass_until)

    async def set_model(self, model: str) -> None:
        assert self._inner is not None
        try:
            await self._inner.set_model(model)
        except ValueError as error:
            raise ApiError("invalid", str(error)) from error

    def _end_bypass(self) -> None:
        """The time is over, possibly during a turn: the next call needs approval."""
        if self._inner is not None:
            self._inner.driver.set_mode("default")
            self._open.record(Noted("The time for bypassing permissions is over: from now on approval is required."))

    # ------------------------------------------------------------ the work

    async def _work(self) -> None:
        inner = self._inner
        assert inner is not None
        try:
            if self._open.view.status_fold.in_turn:
                async with self._seat.hold():
                    await self._turn(inner, inner.resume_turn())
            # `stop` waits for the end of a turn, not for the whole queue. Another session follows after /clear.
            while self._task is not None and (inner := self._inner) is not None:
                queued = inner.next_queued()
                if queued is None and not inner.background.has_wake_notice:
                    self._wake.clear()
                    await self._wake.wait()
                    continue
                async with self._seat.hold():
                    await self._turn(inner, inner.run_queued(queued) if queued is not None else inner.run_notices())
        except LogError as error:
            await self._end(WorkerExited(self.id, "native", self.epoch, why="exit", code=1, error=str(error)))
        except asyncio.CancelledError:
            raise
        except Exception as error:  # the boundary of a worker: its failure must not end the server
            log.exception("the native worker of %s failed", self._open.id)
            text = f"The engine failed: {type(error).__name__}: {error}. The session is kept and can be continued."
            await self._end(WorkerExited(self.id, "native", self.epoch, why="exit", code=1, error=text))

    async def _turn(self, inner: AgentSession, events: AsyncGenerator[Event, None]) -> None:
        self._in_turn = True
        last: Event | None = None
        try:
            async with aclosing(events):
                async for event in events:
                    last = event
                    if isinstance(event, LIVE):
                        self._open.show(event)
        finally:
            self._in_turn = False
            self.last_active = time.monotonic()
        if isinstance(last, RunDone):
            if last.error == "log":
                raise LogError(last.text)
            if last.local_command == CLEAR:
                await self._clear(inner)
            self._save_artifact(last)

    async def _clear(self, before: AgentSession) -> None:
        """Begin a new conversation on a branch of its own: it is the same session, and the old branch stays in its log.

        Raises:
            StartError: the engine cannot be started again.
        """
        root = (await asyncio.to_thread(self._open.branch))[0].id
        await before.close("clear")
        # Nothing is awaited from here to `begin_engine`, so that a message that comes now is on the new branch.
        self._open.detach_engine()
        self._open.append(Noted(CLEARED, "notice"), parent=root)
        for entry in before.state.queued:
            self._open.append(entry, sync=True)
        spent = before.state.cost - before.driver.agent.spent_before
        branch = await self._open.begin_engine()
        self._inner = await self._open_inner(branch, Predecessor(spent))
        self._attach(self._inner)

    def _save_artifact(self, done: RunDone) -> None:
        """Record the artifact of the workflow mode for the next one."""
        kind = MODES[self._open.view.config.workflow].leaves
        if done.ending != "completed" or not kind or not done.text.strip():
            return
        title = done.text.strip().splitlines()[0].lstrip("# ")[:200]
        self._open.record(ArtifactMade(new_id(), kind, title, done.text))

    async def _end(self, exited: WorkerExited) -> None:
        inner, self._inner = self._inner, None
        self._bypass.cancel()
        self._open.detach_engine()
        self._parts.inbox.withdraw(self._open.id)
        if inner is not None:
            await inner.close()
        try:
            if self._open.view.status_fold.in_turn:
                self._open.record(RunDone("interrupted_tools", text=exited.error))
            self._open.record(exited)
        except LogError as error:
            log.warning("%s", error)

    def _options(self) -> Options:
        view = self._open.view
        config = view.config
        return Options(
            cwd=view.cwd,
            model=view.model or None,
            permission_mode=permission_mode(config) or None,
            allow_dangerously_skip_permissions=config.bypass_until > time.time(),
            max_turns=config.max_turns or None,
            max_budget_usd=config.max_budget_usd,
            system_prompt=config.system_prompt or None,
            append_system_prompt=system_text(config) or None,
            allowed_tools=allowed_tools(config),
            disallowed_tools=denied_tools(config),
            read_only=is_read_only(config),
            mcp_config=(self._parts.mcp_config,) if self._parts.mcp_config else (),
        )
