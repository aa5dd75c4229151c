"""The workers of sessions that are no agents: terminals and watchers of work trees, started when somebody wants one."""

import asyncio
import logging
from collections import Counter
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from bobstay.model.event import Durable
from bobstay.model.ids import new_id
from bobstay.model.session_events import WorkerExited
from bobstay.redaction.redactor import Redactor
from bobstay.server.console import Console
from bobstay.server.errors import ApiError
from bobstay.server.files.session_directory import bounds_of
from bobstay.server.sessions.session_view import SessionView, WorkerView
from bobstay.server.workers.diff_watcher import GitDiffWorker
from bobstay.server.workers.process.spawner import NOTHING, WorkerFiles
from bobstay.server.workers.terminal_command import resume_command
from bobstay.server.workers.terminal_transcript import bring_back
from bobstay.server.workers.terminal_worker import TerminalWorker
from bobstay.server.workers.worker import WorkerError
from bobstay.sessions.log import LogError

log = logging.getLogger(__name__)
MOST_TERMINALS = 16
"""Of one session."""
MOST_ENDED = 16
"""Terminals that have ended and whose last words are kept, of all sessions together."""


class AuxiliaryWorkers:
    def __init__(self) -> None:
        self.console: Console
        self._terminals: dict[str, TerminalWorker] = {}
        self._opening: Counter[str] = Counter()
        """By session: terminals that are being started."""
        self._watchers: dict[str, GitDiffWorker] = {}
        """By session: one watcher each."""
        self._recording: set[asyncio.Task[None]] = set()

    async def open_terminal(self, session_id: str, *, resume: bool = False) -> WorkerView:
        """A terminal in the session's directory; with `resume`, one in which its external engine goes on (S004-35).

        Raises:
            ApiError
        """
        view = self.console.registry.view(session_id)
        alive = sum(one.session_id == session_id and one.alive() for one in self._terminals.values())
        count = alive + self._opening[session_id]
        if count >= MOST_TERMINALS:
            raise ApiError("too_many", f"The session has {count} terminals already. Close one.")
        talk = self._talk(view) if resume else ""
        command = resume_command(self.console.config.engines, view.config.engine, talk) if talk else ()
        if talk:
            await self.console.runner.rest(session_id)  # two processes in one talk would not know of each other
        worker = TerminalWorker(
            f"terminal-{new_id()[:8]}",
            1,
            session_id,
            lambda event: self._terminal_told(session_id, event),
            cwd=view.cwd,
            environment=self.console.environment.children,
            command=command,
            engine_session=talk,
        )
        self._opening[session_id] += 1
        try:
            await self._started(worker)
            self._terminals[worker.id] = worker
        finally:
            self._opening[session_id] -= 1
            if not self._opening[session_id]:
                del self._opening[session_id]
        return WorkerView(worker.id, "terminal", "running", worker.epoch, worker.pid)

    async def watch(self, session_id: str) -> WorkerView:
        """Tell whoever follows the session of changes in its work tree."""
        watcher = self._watchers.get(session_id)
        if watcher is None or not watcher.alive():
            view = self.console.registry.view(session_id)
            watcher = GitDiffWorker(
                f"diff-{new_id()[:8]}",
                1,
                session_id,
                # It only looks: whoever may read can start it, and no log is written for that.
                lambda event: self._watcher_told(session_id, event),
                self.console.hub,
                cwd=view.cwd,
                bounds=bounds_of(self.console),
                environment=self.console.environment.children,
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
        ApiError: there is none of this id.
        """
        found = self._terminals.get(worker_id)
        if found is None:
            raise ApiError("not_found", "There is no such terminal: it was closed, or the server was started anew.")
        return found

    def session_of(self, worker_id: str) -> str:
        """The session a terminal is in; empty if there is no such terminal."""
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
        await self.recorded()

    def works_in(self, session_id: str) -> bool:
        """Whether a terminal or a watcher of this session is up."""
        workers: list[TerminalWorker | GitDiffWorker] = [*self._terminals.values(), *self._watchers.values()]
        return any(worker.session_id == session_id and worker.alive() for worker in workers)

    async def leave(self, session_id: str) -> None:
        """The session goes away, and with it all that lives in it."""
        ids = [one.id for one in self._terminals.values() if one.session_id == session_id]
        if session_id in self._watchers:
            ids.append(self._watchers[session_id].id)
        await asyncio.gather(*(self.stop(id) for id in ids))

    async def close(self) -> None:
        workers: list[TerminalWorker | GitDiffWorker] = [*self._terminals.values(), *self._watchers.values()]
        await asyncio.gather(*(worker.stop() for worker in workers))
        await self.recorded()

    async def recorded(self) -> None:
        """Wait until what is to be noted of terminals that have ended is noted."""
        if self._recording:
            await asyncio.wait(tuple(self._recording))

    def _talk(self, view: SessionView) -> str:
        """The engine's id of the talk that a terminal can go on with."""
        engine = next((worker.engine_session for worker in reversed(view.workers) if worker.engine_session), "")
        if not engine:
            raise ApiError("wrong_state", "This session has no external engine whose talk a terminal could go on with.")
        if view.config.ephemeral:
            raise ApiError(
                "wrong_state", "This session is ephemeral: its engine kept nothing a terminal could go on with."
            )
        if self.console.runner.worker(view.id) is not None and view.activity != "idle":
            raise ApiError("wrong_state", "The session's agent is at work. Stop it first.", status=view.status)
        return engine

    async def _started(self, worker: TerminalWorker) -> None:
        with suppress(LogError):  # of one that another process writes nothing is noted, but it can have a terminal
            await self.console.registry.take(worker.session_id)
        try:
            await worker.start()
        except WorkerError as error:
            raise ApiError("cannot_start", str(error)) from error

    def _watcher_told(self, session_id: str, event: Durable) -> None:
        watcher = self._watchers.get(session_id)
        if isinstance(event, WorkerExited) and watcher is not None and watcher.id == event.worker:
            del self._watchers[session_id]  # nobody looked any more; whoever comes back starts another one

    def _terminal_told(self, session_id: str, event: Durable) -> None:
        self._record(session_id, event)
        if isinstance(event, WorkerExited):
            terminal = self._terminals.get(event.worker)
            if terminal is not None and terminal.engine_session:
                self._later(self._bring_back(session_id))
            ended = [id for id, one in self._terminals.items() if not one.alive()]
            for id in ended[: max(len(ended) - MOST_ENDED, 0)]:  # those opened first
                del self._terminals[id]

    def _record(self, session_id: str, event: Durable) -> None:
        """Write to the session's log, which may have to be opened first."""
        session = self.console.registry.opened(session_id)
        if session is None:
            self._later(self._record_later(session_id, event))
            return
        session.record(event)
        self.console.runner.let_go(session_id)

    def _later(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._recording.add(task)
        task.add_done_callback(self._recording.discard)

    async def _bring_back(self, session_id: str) -> None:
        """What was said in a terminal follows in the session."""
        console, environment = self.console, self.console.environment
        own = WorkerFiles(console.variables.of(session_id)) if console.variables is not None else NOTHING

        def is_at_work() -> bool:
            return console.runner.worker(session_id) is not None and session.view.standing.in_turn

        try:
            session = await console.registry.take(session_id)
            await bring_back(session, environment.paths, Redactor(environment.secrets | own.secrets()), is_at_work)
        except LogError as error:  # the next process of the engine tries again
            log.warning("session %s: %s", session_id, error)
            return
        console.runner.let_go(session_id)

    async def _record_later(self, session_id: str, event: Durable) -> None:
        try:
            (await self.console.registry.take(session_id)).record(event)
        except LogError as error:  # it is told of by the next server
            log.warning("session %s: %s", session_id, error)
            return
        self.console.runner.let_go(session_id)  # a command line may want it
