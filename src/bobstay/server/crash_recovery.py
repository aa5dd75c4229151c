"""Crash recovery: ends orphaned processes of an earlier server, and resumes or closes its interrupted sessions."""

import asyncio
import logging

from bobstay.model.session_events import WorkerExited
from bobstay.server.errors import ApiError
from bobstay.server.inbox import Inbox
from bobstay.server.runner import SERVER_ENDED, Runner, close_orphaned, is_waiting_for_person
from bobstay.server.sessions.orphan_sweep import Orphan, SweepReport, find_orphans, sweep
from bobstay.server.sessions.session_registry import SessionRegistry
from bobstay.server.sessions.session_status import AGENTS, BUSY
from bobstay.server.sessions.worker_view import UP
from bobstay.sessions.log import LogError
from bobstay.sessions.log_reader import read_interactions
from bobstay.sessions.session_logs import EntryReader

log = logging.getLogger(__name__)
SEPARATE_PROCESSES = ("process", "terminal")
"""Kinds of workers that are processes of their own: they may outlive their server."""
WITHIN_SERVER = ("native", "git_diff")
"""Kinds that end with their server. Older versions recorded watchers in the log."""


class CrashRecovery:
    def __init__(self, registry: SessionRegistry, runner: Runner, inbox: Inbox) -> None:
        self._registry = registry
        self._runner = runner
        self._inbox = inbox

    async def end_orphans(self) -> None:
        """End the orphaned processes of earlier servers, identified by group, start time and mark.

        Everything with the mark of such a session is ended: nothing must be started in it before this is done.
        """
        left: list[Orphan] = []
        for view in tuple(self._registry.views.values()):
            if any(worker.state in UP and worker.kind in SEPARATE_PROCESSES for worker in view.workers):
                left += await self._find_orphaned(view.id)
        for swept in await sweep(left):
            if swept.outcome in ("killed", "unknown"):
                log.warning("session %s: worker %s of an earlier server: %s", *_log_fields(swept))
            if swept.started.kind == "terminal" or self._is_idle(swept.session_id):
                await self._record_exit(swept)

    async def _find_orphaned(self, session_id: str) -> list[Orphan]:
        try:
            return await asyncio.to_thread(_orphaned_workers, self._registry.reader(session_id), session_id)
        except Exception:  # a boundary: one session must not affect the others
            log.exception("session %s: orphaned processes cannot be found, because its log cannot be read", session_id)
            return []

    def _is_idle(self, session_id: str) -> bool:
        if self._runner.worker(session_id) is not None or self._runner.is_moving(session_id):
            return False  # it was started again meanwhile
        return self._registry.view(session_id).status not in BUSY

    async def recover(self) -> list[str]:
        """Resume sessions that waited for a person; mark others as interrupted. Returns the ids of the sessions."""
        cut_off = [view for view in self._registry.views.values() if view.status in BUSY and not view.elsewhere]
        for view in cut_off:
            if self._runner.worker(view.id) is not None or self._runner.is_moving(view.id):
                continue  # it was started again meanwhile and must not be ended
            try:
                await self._recover_session(view.id)
            except (ApiError, LogError) as error:
                log.warning("session %s cannot be recovered: %s", view.id, error)
            except Exception:  # a boundary: one session must not affect the others
                log.exception("session %s cannot be recovered", view.id)
            await asyncio.sleep(0)
        await self._close_finished()
        return [view.id for view in cut_off]

    async def _close_finished(self) -> None:
        """Record the end of in-process workers that still count as running in finished sessions."""
        for view in tuple(self._registry.views.values()):
            left = [worker for worker in view.workers if worker.state in UP and worker.kind in WITHIN_SERVER]
            if not left or view.status in BUSY or view.elsewhere or view.stored:
                continue
            if self._runner.worker(view.id) is not None or self._runner.is_moving(view.id):
                continue  # it runs again
            try:
                session = await self._registry.acquire(view.id)
                if session.view.status not in BUSY and self._runner.worker(view.id) is None:
                    for worker in left:
                        session.record(WorkerExited(worker.id, worker.kind, worker.epoch, why="lost"))
                self._runner.release(view.id)
            except LogError as error:
                log.warning("session %s: %s", view.id, error)

    async def _recover_session(self, session_id: str) -> None:
        session = await self._registry.acquire(session_id)
        if await is_waiting_for_person(session):
            for opened in await asyncio.to_thread(read_interactions, session.reader, session.view.interactions):
                self._inbox.observe(session_id, opened)
            await self._runner.wake(session_id)
            return
        if session.view.queued and session.view.status == "starting":
            await self._runner.wake(session_id)
            return
        session = await self._registry.acquire(session_id)  # it may have been released meanwhile
        close_orphaned(session, SERVER_ENDED, gone=(*AGENTS, "git_diff"))
        self._runner.release(session_id)

    async def _record_exit(self, swept: SweepReport) -> None:
        """Record the end of a terminal or an idle agent; `recover` handles agents that were working."""
        try:
            (await self._registry.acquire(swept.session_id)).record(swept.exited)
            self._runner.release(swept.session_id)
        except LogError as error:
            log.warning("session %s: %s", swept.session_id, error)


def _orphaned_workers(reader: EntryReader, session_id: str) -> list[Orphan]:
    return [left for left in find_orphans(session_id, reader.read()) if left.started.kind in SEPARATE_PROCESSES]


def _log_fields(swept: SweepReport) -> tuple[str, str, str]:
    return swept.session_id, swept.started.worker, swept.outcome
