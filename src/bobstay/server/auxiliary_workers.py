"""Auxiliary workers of sessions: terminals and diff watchers, started on demand."""

import asyncio
import logging
from collections import Counter
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from typing import Any

from bobstay.config.environment import Environment
from bobstay.model.event import Durable
from bobstay.model.ids import new_id
from bobstay.model.session_events import WorkerExited
from bobstay.redaction.redactor import Redactor
from bobstay.server.errors import ApiError
from bobstay.server.root_directories import RootDirectories
from bobstay.server.runner import Runner
from bobstay.server.session_secrets import SessionSecrets
from bobstay.server.sessions.session_registry import SessionRegistry
from bobstay.server.sessions.session_view import SessionView
from bobstay.server.sessions.worker_view import WorkerView
from bobstay.server.streams.bus import Bus
from bobstay.server.workers.diff_watcher import GitDiffWorker
from bobstay.server.workers.process.spawner import WorkerFiles
from bobstay.server.workers.terminal_command import resume_command
from bobstay.server.workers.terminal_transcript import import_terminal_turns
from bobstay.server.workers.terminal_worker import TerminalWorker
from bobstay.server.workers.worker import WorkerError
from bobstay.sessions.log import LogError

log = logging.getLogger(__name__)
MOST_TERMINALS = 16
"""Terminals of one session."""
MOST_ENDED = 16
"""Ended terminals whose output is kept, of all sessions together."""


class AuxiliaryWorkers:
    def __init__(
        self,
        registry: SessionRegistry,
        runner: Runner,
        bus: Bus,
        roots: RootDirectories,
        secrets: SessionSecrets,
        environment: Environment,
        engines: Mapping[str, tuple[str, ...]],
    ) -> None:
        self._registry = registry
        self._runner = runner
        self._bus = bus
        self._roots = roots
        self._secrets = secrets
        self._environment = environment
        self._engines = engines
        self._terminals: dict[str, TerminalWorker] = {}
        self._opening: Counter[str] = Counter()
        """By session: number of terminals that are being started."""
        self._watchers: dict[str, GitDiffWorker] = {}
        """By session: one diff watcher each."""
        self._recording: set[asyncio.Task[None]] = set()

    async def open_terminal(self, session_id: str, *, resume: bool = False) -> WorkerView:
        """Open a terminal in the session's directory; with `resume`, one that runs its external engine.

        Raises:
            ApiError
        """
        view = self._registry.view(session_id)
        alive = sum(one.session_id == session_id and one.alive() for one in self._terminals.values())
        count = alive + self._opening[session_id]
        if count >= MOST_TERMINALS:
            raise ApiError("too_many", f"The session has {count} terminals already. Close one.")
        conversation = self._engine_conversation(view) if resume else ""
        command = resume_command(self._engines, view.config.engine, conversation) if conversation else ()
        if conversation:
            await self._runner.stop_agent(session_id)  # two processes must not continue one conversation
        worker = TerminalWorker(
            f"terminal-{new_id()[:8]}",
            1,
            session_id,
            lambda event: self._on_terminal_event(session_id, event),
            cwd=view.cwd,
            environment=self._environment.children,
            command=command,
            engine_session=conversation,
        )
        self._opening[session_id] += 1
        try:
            await self._start_terminal(worker)
            self._terminals[worker.id] = worker
        finally:
            self._opening[session_id] -= 1
            if not self._opening[session_id]:
                del self._opening[session_id]
        return WorkerView(worker.id, "terminal", "running", worker.epoch, worker.pid)

    async def watch(self, session_id: str) -> WorkerView:
        """Start publishing changes in the session's directory to its subscribers."""
        watcher = self._watchers.get(session_id)
        if watcher is None or not watcher.alive():
            view = self._registry.view(session_id)
            watcher = GitDiffWorker(
                f"diff-{new_id()[:8]}",
                1,
                session_id,
                # It only reads: principals with read access can start it, and no log is written for it.
                lambda event: self._on_watcher_event(session_id, event),
                self._bus,
                cwd=view.cwd,
                bounds=self._roots.allowed(),
                environment=self._environment.children,
                base=view.config.base,
            )
            self._watchers[session_id] = watcher
            try:
                await watcher.start()
            except WorkerError as error:
                self._watchers.pop(session_id, None)
                raise ApiError("cannot_start", str(error)) from error
        return WorkerView(watcher.id, "git_diff", "running", watcher.epoch)

    def terminal(self, worker_id: str) -> TerminalWorker:
        """Raises:
        ApiError: there is no terminal with this id.
        """
        found = self._terminals.get(worker_id)
        if found is None:
            raise ApiError("not_found", "There is no such terminal: it was closed, or the server was restarted.")
        return found

    def session_of(self, worker_id: str) -> str:
        """The session of a terminal; empty if there is no such terminal."""
        found = self._terminals.get(worker_id)
        return found.session_id if found is not None else ""

    async def stop(self, worker_id: str) -> None:
        watcher = next((one for one in self._watchers.values() if one.id == worker_id), None)
        if watcher is not None:
            self._watchers.pop(watcher.session_id, None)
            await watcher.stop()
        else:
            await self.terminal(worker_id).stop()
            self._terminals.pop(worker_id, None)
        await self.wait_until_recorded()

    def is_active_in(self, session_id: str) -> bool:
        """Whether a terminal or a diff watcher of this session runs."""
        workers: list[TerminalWorker | GitDiffWorker] = [*self._terminals.values(), *self._watchers.values()]
        return any(worker.session_id == session_id and worker.alive() for worker in workers)

    async def stop_session(self, session_id: str) -> None:
        """Stop all terminals and watchers of a session that is deleted."""
        ids = [one.id for one in self._terminals.values() if one.session_id == session_id]
        if session_id in self._watchers:
            ids.append(self._watchers[session_id].id)
        await asyncio.gather(*(self.stop(id) for id in ids))

    async def close(self) -> None:
        workers: list[TerminalWorker | GitDiffWorker] = [*self._terminals.values(), *self._watchers.values()]
        await asyncio.gather(*(worker.stop() for worker in workers))
        await self.wait_until_recorded()

    async def wait_until_recorded(self) -> None:
        """Wait until the ends of terminals are recorded."""
        if self._recording:
            await asyncio.wait(tuple(self._recording))

    def _engine_conversation(self, view: SessionView) -> str:
        """The engine's id of the conversation that a terminal can resume."""
        engine = next((worker.engine_session for worker in reversed(view.workers) if worker.engine_session), "")
        if not engine:
            raise ApiError(
                "wrong_state", "This session has no external engine whose conversation a terminal could resume."
            )
        if view.config.ephemeral:
            raise ApiError(
                "wrong_state", "This session is ephemeral: its engine kept nothing that a terminal could resume."
            )
        if self._runner.worker(view.id) is not None and view.activity != "idle":
            raise ApiError("wrong_state", "The session's agent is working. Stop it first.", status=view.status)
        return engine

    async def _start_terminal(self, worker: TerminalWorker) -> None:
        with suppress(LogError):  # a session of another process can have a terminal too; it is not recorded
            await self._registry.acquire(worker.session_id)
        try:
            await worker.start()
        except WorkerError as error:
            raise ApiError("cannot_start", str(error)) from error

    def _on_watcher_event(self, session_id: str, event: Durable) -> None:
        watcher = self._watchers.get(session_id)
        if isinstance(event, WorkerExited) and watcher is not None and watcher.id == event.worker:
            del self._watchers[session_id]  # it had no subscribers left; the next one starts another watcher

    def _on_terminal_event(self, session_id: str, event: Durable) -> None:
        self._record(session_id, event)
        if isinstance(event, WorkerExited):
            terminal = self._terminals.get(event.worker)
            if terminal is not None and terminal.engine_session:
                self._schedule(self._import_terminal_turns(session_id))
            ended = [id for id, one in self._terminals.items() if not one.alive()]
            for id in ended[: max(len(ended) - MOST_ENDED, 0)]:  # the oldest ones
                del self._terminals[id]

    def _record(self, session_id: str, event: Durable) -> None:
        """Record an event in the session's log, which may have to be opened first."""
        session = self._registry.get_open(session_id)
        if session is None:
            self._schedule(self._record_later(session_id, event))
            return
        session.record(event)
        self._runner.release(session_id)

    def _schedule(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._recording.add(task)
        task.add_done_callback(self._recording.discard)

    async def _import_terminal_turns(self, session_id: str) -> None:
        """Import the turns of a terminal into the session."""
        environment = self._environment
        own = WorkerFiles(self._secrets.variables_of(session_id))

        def is_at_work() -> bool:
            return self._runner.worker(session_id) is not None and session.view.status_fold.in_turn

        try:
            session = await self._registry.acquire(session_id)
            await import_terminal_turns(
                session, environment.paths, Redactor(environment.secrets | own.secrets()), is_at_work
            )
        except LogError as error:  # the next engine process retries
            log.warning("session %s: %s", session_id, error)
            return
        self._runner.release(session_id)

    async def _record_later(self, session_id: str, event: Durable) -> None:
        try:
            (await self._registry.acquire(session_id)).record(event)
        except LogError as error:  # the next server records it
            log.warning("session %s: %s", session_id, error)
            return
        self._runner.release(session_id)  # so that other processes can write it
