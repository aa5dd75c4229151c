"""Runner: hosts the agent workers of this server, starts and stops them, and reconciles desired with actual state."""

import asyncio
import logging
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Literal, TypeAlias
from weakref import WeakValueDictionary

from msgspec import Struct

from bobstay.engine.state import State
from bobstay.model.event import InteractionClosed, RunDone, ToolDone
from bobstay.model.ids import new_id
from bobstay.model.message import Text, ToolReply
from bobstay.model.session_events import WorkerExited
from bobstay.server.errors import ApiError
from bobstay.server.sessions.open_session import OpenSession
from bobstay.server.sessions.session_registry import SessionRegistry
from bobstay.server.sessions.session_status import AGENTS, BUSY
from bobstay.server.sessions.worker_view import UP
from bobstay.server.workers.worker import AgentWorker, AwaitsNotice, Renewable, Suspendable, WorkerError
from bobstay.sessions.log import LogError

log = logging.getLogger(__name__)
Desired: TypeAlias = Literal["running", "asleep"]
SERVER_ENDED = "The server ended while this ran."
NO_RESULT = "No result was received: the server ended while this ran. Check its effects before trying again."
MOST_FAILURES = 3

WorkerFactory: TypeAlias = Callable[[str, int, OpenSession], AgentWorker]
"""Creates the worker of a session from an id, its epoch and the session."""


class WorkerSlot(Struct):
    """The slot of one agent worker: its desired state, and how often it has failed."""

    worker: AgentWorker
    desired: Desired = "running"
    heartbeat: float = 0.0
    reconciled_at: float = 0.0
    failures: int = 0


class Runner:
    """`make` creates the kinds of workers; the runner decides when they run."""

    def __init__(
        self, registry: SessionRegistry, make: WorkerFactory, *, idle_seconds: float = 900.0, interval: float = 5.0
    ) -> None:
        self.slots: dict[str, WorkerSlot] = {}
        self._registry = registry
        self._make = make
        self._idle = idle_seconds
        self._interval = interval
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        """A lock lives as long as a task holds it or waits for it."""
        self._unclosed: dict[str, str] = {}
        """Sessions that were stopped while their logs could not be written, with who stopped them."""
        self._task: asyncio.Task[None] | None = None
        self._closing = False

    def begin(self) -> None:
        self._task = asyncio.create_task(self._watch(), name="reconciler")

    async def close(self) -> None:
        """Stop all agents; running turns are interrupted and can be resumed. No agent is started any more."""
        self._closing = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        await asyncio.gather(*(self._close_one(session_id) for session_id in tuple(self.slots)))

    async def _close_one(self, session_id: str) -> None:
        worker = self.slots[session_id].worker
        if isinstance(worker, Suspendable) and await worker.suspend():
            del self.slots[session_id]
            return
        status = self._registry.view(session_id).status
        cut_off = status in BUSY and status != "interrupting"
        await self.stop_agent(session_id, "stopped", SERVER_ENDED if cut_off else "")

    async def wake(self, session_id: str) -> AgentWorker:
        """Start the agent of a session if needed, and notify it that there is work.

        Raises:
            ApiError: it cannot be started.
            LogError: its log cannot be written.
        """
        lock = self._locks.setdefault(session_id, asyncio.Lock())
        async with lock:
            await self._close_pending(session_id)
            slot = self.slots.get(session_id)
            if slot is not None and await _is_outdated(slot.worker):
                await slot.worker.stop("asleep")
            if slot is None or not slot.worker.alive():
                if self._closing:
                    raise ApiError("unavailable", "The server is being stopped. The message is stored.")
                slot = await self._start(session_id, slot)
            slot.desired = "running"
            if not await self._is_interrupted(session_id, slot):
                slot.worker.nudge()
            return slot.worker

    async def _is_interrupted(self, session_id: str, slot: WorkerSlot) -> bool:
        """Apply an interrupt that arrived while the agent was starting."""
        if self._registry.view(session_id).status != "interrupting" or slot.worker.busy:
            return False
        await slot.worker.interrupt()
        if not slot.worker.alive():
            self.slots.pop(session_id, None)
            self._registry.release(session_id)
        return True

    def worker(self, session_id: str) -> AgentWorker | None:
        slot = self.slots.get(session_id)
        return slot.worker if slot is not None and slot.worker.alive() else None

    async def stop_agent(
        self, session_id: str, why: Literal["stopped", "asleep", "killed"] = "asleep", reason: str = ""
    ) -> None:
        """Stop the agent of a session and release its log."""
        lock = self._locks.setdefault(session_id, asyncio.Lock())
        async with lock:
            slot = self.slots.pop(session_id, None)
            if slot is not None:
                slot.desired = "asleep"
                await slot.worker.stop(why, reason)
            self._registry.release(session_id)

    def close_later(self, session_id: str, by: str) -> None:
        """Record that the agent of a session was stopped as soon as its log can be written again."""
        self._unclosed[session_id] = by

    async def _close_pending(self, session_id: str) -> None:
        """Raises:
        LogError: the log still cannot be written.
        """
        if session_id not in self._unclosed:
            return
        session = await self._registry.acquire(session_id)
        slot = self.slots.get(session_id)
        if slot is not None and slot.worker.alive() and slot.worker.busy:
            return  # its turn is still ending
        if session.view.status in BUSY:  # else its agent has recorded it after all
            close_orphaned(session, "Interrupted.", self._unclosed[session_id])
        self._unclosed.pop(session_id, None)

    def release(self, session_id: str) -> None:
        """Release the log of a session without an agent, so that other processes can write it.

        It is kept while an agent starts or stops.
        """
        if session_id not in self.slots and not self.is_moving(session_id):
            self._registry.release(session_id)

    def is_moving(self, session_id: str) -> bool:
        """Whether its agent is being started or stopped."""
        lock = self._locks.get(session_id)
        return lock is not None and lock.locked()

    async def _start(self, session_id: str, before: WorkerSlot | None) -> WorkerSlot:
        session = await self._registry.acquire(session_id)
        earlier = [worker for worker in session.view.workers if worker.kind in ("native", "process")]
        id = earlier[-1].id if earlier else f"agent-{new_id()[:8]}"
        epoch = max((worker.epoch for worker in earlier), default=0) + 1
        try:
            slot = WorkerSlot(self._make(id, epoch, session), failures=before.failures if before else 0)
            await slot.worker.start()
        except WorkerError as error:
            await _record_failed_start(session, id, epoch, str(error))
            if before is None:
                self._registry.release(session_id)
            raise ApiError("cannot_start", str(error)) from error
        slot.heartbeat = time.time()
        self.slots[session_id] = slot
        return slot

    # ------------------------------------------------------------ desired and actual

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(self._interval)
            for session_id in tuple(self.slots):
                try:
                    await self.reconcile(session_id)
                except (ApiError, LogError) as error:
                    log.warning("session %s: %s", session_id, error)
                except Exception:  # a boundary: one session must not affect the others
                    log.exception("session %s cannot be reconciled", session_id)
            for session_id in tuple(self._unclosed):
                with suppress(LogError):
                    await self._close_pending(session_id)
                    self.release(session_id)

    async def reconcile(self, session_id: str) -> None:
        """Bring the agent of a session to its desired state."""
        slot = self.slots.get(session_id)
        session = self._registry.get_open(session_id)
        if slot is None or session is None or self.is_moving(session_id):
            return
        now = time.time()
        slot.reconciled_at = now
        if slot.worker.alive():
            slot.heartbeat = now
            if session.view.status not in BUSY and not session.view.queued:
                slot.failures = 0  # its work is done; merely having started is not enough
            if self._is_idle(session, slot.worker):
                await self.stop_agent(session_id)
            return
        if session_id in self._unclosed:
            await self._close_pending(session_id)  # it was stopped: its turn is not resumed
        elif slot.desired == "running" and (session.view.queued or session.view.status in BUSY):
            slot.failures += 1
            if slot.failures <= MOST_FAILURES:
                await self.wake(session_id)
                return
            close_orphaned(session, "The agent ended repeatedly. Check its messages, then send one to try again.")
        self.slots.pop(session_id, None)
        self._registry.release(session_id)

    def _is_idle(self, session: OpenSession, worker: AgentWorker) -> bool:
        if worker.busy or session.view.queued or session.view.status in BUSY:
            return False
        if isinstance(worker, AwaitsNotice) and worker.expects_notice:
            return False
        return time.time() - session.view.updated_at > self._idle


async def _is_outdated(worker: AgentWorker) -> bool:
    if not isinstance(worker, Renewable) or not worker.alive() or worker.busy:
        return False
    return await worker.is_outdated() and not worker.busy


async def _record_failed_start(session: OpenSession, id: str, epoch: int, error: str) -> None:
    """Close what a failed start left open; open interactions stay, because the next worker resumes them."""
    if session.view.status == "waiting_input" and await is_waiting_for_person(session):
        return
    if session.view.interactions or session.view.open_calls:
        close_orphaned(session, error)
    if session.view.status in BUSY:
        session.record(WorkerExited(id, "process", epoch, why="not_started", error=error))


def close_orphaned(
    session: OpenSession, error: str, by: str = "server_restart", *, gone: Collection[str] = AGENTS
) -> None:
    """Close all open calls, interactions, turns and workers of a session without an agent.

    `gone` are the kinds of workers that have ended; a terminal runs on without an agent.
    """
    view = session.view
    for call_id in view.open_calls:
        reply = ToolReply(call_id, (Text(NO_RESULT),), is_error=True)
        session.record(ToolDone(reply, interrupted=True))
    for entry in view.interactions:
        session.record(InteractionClosed(entry.id, "cancelled", error, by))
    if session.view.status_fold.in_turn:
        session.record(RunDone("interrupted_tools", text=error))
    for worker in view.workers:
        if worker.state in UP and worker.kind in gone:
            session.record(WorkerExited(worker.id, worker.kind, worker.epoch, why="lost", error=error))
    if session.view.status in BUSY:
        session.record(RunDone("interrupted_streaming", text=error))


async def is_waiting_for_person(session: OpenSession) -> bool:
    """Whether a turn of the native engine waited for an answer, or for a call that is allowed but not started."""
    view = session.view
    if view.config.engine != "native" or not view.status_fold.in_turn:
        return False
    if view.interactions:
        return True
    state = State()
    for envelope in await asyncio.to_thread(session.branch):
        state = state.apply(envelope.event)
    return bool(set(state.granted) & {call.id for call in state.unanswered} - state.started)
