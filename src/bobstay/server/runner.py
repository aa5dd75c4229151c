"""Hosts the agents of this server: wakes them, puts them to sleep, and sees to it that what should run does run."""

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
from bobstay.server.sessions.session_view import UP
from bobstay.server.workers.worker import AgentWorker, Expecting, Patient, Renewable, WorkerError
from bobstay.sessions.log import LogError

log = logging.getLogger(__name__)
Desired: TypeAlias = Literal["running", "asleep"]
SERVER_ENDED = "The server ended while this ran."
NO_RESULT = "No result was received: the server ended while this was under way. Check before trying again."
MOST_FAILURES = 3

Maker: TypeAlias = Callable[[str, int, OpenSession], AgentWorker]
"""Makes the worker of a session from an id, its incarnation and the session."""


class WorkerSlot(Struct):
    """One agent's place: what should be, what is, and how often bringing the two together has failed."""

    worker: AgentWorker
    desired: Desired = "running"
    heartbeat: float = 0.0
    reconciled_at: float = 0.0
    failures: int = 0


class Runner:
    """`make` knows the kinds of workers; the runner knows when they are wanted."""

    def __init__(
        self, registry: SessionRegistry, make: Maker, *, idle_seconds: float = 900.0, interval: float = 5.0
    ) -> None:
        self.posts: dict[str, WorkerSlot] = {}
        self._registry = registry
        self._make = make
        self._idle = idle_seconds
        self._interval = interval
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        """They live as long as somebody holds one or waits for it: all who do have the same."""
        self._unsettled: dict[str, str] = {}
        """Sessions that were stopped while their logs could not be written, and by whom."""
        self._task: asyncio.Task[None] | None = None
        self._closing = False

    def begin(self) -> None:
        self._task = asyncio.create_task(self._watch(), name="reconciler")

    async def close(self) -> None:
        """Stop all; turns that run are interrupted, and can be gone on with. Nobody is woken any more."""
        self._closing = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        await asyncio.gather(*(self._close_one(session_id) for session_id in tuple(self.posts)))

    async def _close_one(self, session_id: str) -> None:
        worker = self.posts[session_id].worker
        if isinstance(worker, Patient) and await worker.leave():
            del self.posts[session_id]
            return
        status = self._registry.view(session_id).status
        cut_off = status in BUSY and status != "interrupting"
        await self.rest(session_id, "stopped", SERVER_ENDED if cut_off else "")

    async def wake(self, session_id: str) -> AgentWorker:
        """The agent of a session, up and told that there is something to do.

        Raises:
            ApiError: it cannot be started.
            LogError: its log cannot be written.
        """
        lock = self._locks.setdefault(session_id, asyncio.Lock())
        async with lock:
            await self._settle(session_id)
            post = self.posts.get(session_id)
            if post is not None and await _is_outdated(post.worker):
                await post.worker.stop("asleep")
            if post is None or not post.worker.alive():
                if self._closing:
                    raise ApiError("unavailable", "The server is being stopped. What was said is kept.")
                post = await self._start(session_id, post)
            post.desired = "running"
            if not await self._is_called_off(session_id, post):
                post.worker.nudge()
            return post.worker

    async def _is_called_off(self, session_id: str, post: WorkerSlot) -> bool:
        """An interrupt that came while the agent did is kept for it."""
        if self._registry.view(session_id).status != "interrupting" or post.worker.busy:
            return False
        await post.worker.interrupt()
        if not post.worker.alive():
            self.posts.pop(session_id, None)
            self._registry.shut(session_id)
        return True

    def worker(self, session_id: str) -> AgentWorker | None:
        post = self.posts.get(session_id)
        return post.worker if post is not None and post.worker.alive() else None

    async def rest(
        self, session_id: str, why: Literal["stopped", "asleep", "killed"] = "asleep", reason: str = ""
    ) -> None:
        """Stop the agent of a session and let go of its log."""
        lock = self._locks.setdefault(session_id, asyncio.Lock())
        async with lock:
            post = self.posts.pop(session_id, None)
            if post is not None:
                post.desired = "asleep"
                await post.worker.stop(why, reason)
            self._registry.shut(session_id)

    def settle_later(self, session_id: str, by: str) -> None:
        """The agent of a session was stopped, but its log could not say so: it will, once it can be written."""
        self._unsettled[session_id] = by

    async def _settle(self, session_id: str) -> None:
        """Raises:
        LogError: the log still cannot be written.
        """
        if session_id not in self._unsettled:
            return
        session = await self._registry.take(session_id)
        post = self.posts.get(session_id)
        if post is not None and post.worker.alive() and post.worker.busy:
            return  # its turn is still ending
        if session.view.status in BUSY:  # else its agent could write it down after all
            settle(session, "Interrupted.", self._unsettled[session_id])
        self._unsettled.pop(session_id, None)

    def let_go(self, session_id: str) -> None:
        """Let go of the log of a session without an agent, for a command line may want it.

        One whose agent comes up or goes down right now keeps it.
        """
        if session_id not in self.posts and not self.is_moving(session_id):
            self._registry.shut(session_id)

    def is_moving(self, session_id: str) -> bool:
        """Whether its agent comes up or goes down right now."""
        lock = self._locks.get(session_id)
        return lock is not None and lock.locked()

    async def _start(self, session_id: str, before: WorkerSlot | None) -> WorkerSlot:
        session = await self._registry.take(session_id)
        earlier = [worker for worker in session.view.workers if worker.kind in ("native", "process")]
        id = earlier[-1].id if earlier else f"agent-{new_id()[:8]}"
        epoch = max((worker.epoch for worker in earlier), default=0) + 1
        try:
            post = WorkerSlot(self._make(id, epoch, session), failures=before.failures if before else 0)
            await post.worker.start()
        except WorkerError as error:
            await _not_started(session, id, epoch, str(error))
            if before is None:
                self._registry.shut(session_id)
            raise ApiError("cannot_start", str(error)) from error
        post.heartbeat = time.time()
        self.posts[session_id] = post
        return post

    # ------------------------------------------------------------ desired and actual

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(self._interval)
            for session_id in tuple(self.posts):
                try:
                    await self.reconcile(session_id)
                except (ApiError, LogError) as error:
                    log.warning("session %s: %s", session_id, error)
                except Exception:  # the boundary of one session: the others are looked after all the same
                    log.exception("session %s cannot be looked after", session_id)
            for session_id in tuple(self._unsettled):
                with suppress(LogError):
                    await self._settle(session_id)
                    self.let_go(session_id)

    async def reconcile(self, session_id: str) -> None:
        """Bring one session's agent to where it should be."""
        post = self.posts.get(session_id)
        session = self._registry.opened(session_id)
        if post is None or session is None or self.is_moving(session_id):
            return
        now = time.time()
        post.reconciled_at = now
        if post.worker.alive():
            post.heartbeat = now
            if session.view.status not in BUSY and not session.view.queued:
                post.failures = 0  # it did what it was started for; to be up for a moment is not enough
            if self._is_idle(session, post.worker):
                await self.rest(session_id)
            return
        if session_id in self._unsettled:
            await self._settle(session_id)  # somebody stopped it: its turn is not taken up again
        elif post.desired == "running" and (session.view.queued or session.view.status in BUSY):
            post.failures += 1
            if post.failures <= MOST_FAILURES:
                await self.wake(session_id)
                return
            settle(session, "The agent ended again and again. Look at its messages, then send one to try once more.")
        self.posts.pop(session_id, None)
        self._registry.shut(session_id)

    def _is_idle(self, session: OpenSession, worker: AgentWorker) -> bool:
        if worker.busy or session.view.queued or session.view.status in BUSY:
            return False
        if isinstance(worker, Expecting) and worker.expects_notice:
            return False
        return time.time() - session.view.updated_at > self._idle


async def _is_outdated(worker: AgentWorker) -> bool:
    if not isinstance(worker, Renewable) or not worker.alive() or worker.busy:
        return False
    return await worker.is_outdated() and not worker.busy


async def _not_started(session: OpenSession, id: str, epoch: int, error: str) -> None:
    """Nothing is under way any more; but who is asked can still answer: the next one to start takes that up."""
    if session.view.status == "waiting_input" and await waits_for_a_person(session):
        return
    if session.view.interactions or session.view.open_calls:
        settle(session, error)
    if session.view.status in BUSY:
        session.record(WorkerExited(id, "process", epoch, why="not_started", error=error))


def settle(session: OpenSession, error: str, by: str = "server_restart", *, gone: Collection[str] = AGENTS) -> None:
    """Without an agent: no call stays open (FM-10), no status without a way out (FM-13).

    `gone` are the kinds of workers that are no more; a terminal goes on without an agent.
    """
    view = session.view
    for call_id in view.open_calls:
        reply = ToolReply(call_id, (Text(NO_RESULT),), is_error=True)
        session.record(ToolDone(reply, interrupted=True))
    for entry in view.interactions:
        session.record(InteractionClosed(entry.id, "cancelled", error, by))
    if session.view.standing.in_turn:
        session.record(RunDone("interrupted_tools", text=error))
    for worker in view.workers:
        if worker.state in UP and worker.kind in gone:
            session.record(WorkerExited(worker.id, worker.kind, worker.epoch, why="lost", error=error))
    if session.view.status in BUSY:
        session.record(RunDone("interrupted_streaming", text=error))


async def waits_for_a_person(session: OpenSession) -> bool:
    """Whether a turn of our own engine stood at a question, or at a call allowed and not begun: it can go on."""
    view = session.view
    if view.config.engine != "native" or not view.standing.in_turn:
        return False
    if view.interactions:
        return True
    state = State()
    for envelope in await asyncio.to_thread(session.branch):
        state = state.apply(envelope.event)
    return bool(set(state.granted) & {call.id for call in state.unanswered} - state.started)
