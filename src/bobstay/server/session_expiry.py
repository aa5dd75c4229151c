"""Archives and removes old sessions, once a day."""

import asyncio
import logging
import threading
import time

from bobstay.config.paths import Paths
from bobstay.config.settings_files import BrokenSettings, load
from bobstay.server.auxiliary_workers import AuxiliaryWorkers
from bobstay.server.db.database import Database
from bobstay.server.db.database_errors import DatabaseProblem
from bobstay.server.db.retention import DAY, archive_older_than
from bobstay.server.deletion import SessionDeletion
from bobstay.server.runner import Runner
from bobstay.server.sessions.session_registry import SessionRegistry
from bobstay.server.sessions.session_status import BUSY
from bobstay.server.sessions.session_view import SessionView
from bobstay.sessions.expiry import remove_older_than
from bobstay.sessions.log import LogError

log = logging.getLogger(__name__)


class SessionExpiry:
    def __init__(
        self,
        registry: SessionRegistry,
        runner: Runner,
        auxiliary_workers: AuxiliaryWorkers,
        deletion: SessionDeletion,
        database: Database,
        paths: Paths,
        *,
        archive_after_days: float,
    ) -> None:
        self._registry = registry
        self._runner = runner
        self._auxiliary_workers = auxiliary_workers
        self._deletion = deletion
        self._database = database
        self._paths = paths
        self._archive_after_days = archive_after_days

    async def run(self) -> None:
        """The daily work. What a database problem prevents is done the next time."""
        for work in (self._archive_old, self.remove_unused, self.remove_ephemeral):
            try:
                await work()
            except DatabaseProblem as problem:
                log.warning("old sessions will be processed tomorrow: %s", problem)

    async def _archive_old(self) -> None:
        """Move the logs of old archived sessions to the archive."""
        days = self._archive_after_days
        if days <= 0:
            return
        for session_id in (await archive_older_than(self._database, days)).sessions:
            if self._database.archived_log_path(session_id):  # else it was restored while the others were moved
                self._registry.pack(session_id)

    async def remove_unused(self) -> list[str]:
        """Remove sessions that were not used for `cleanupPeriodDays`, if it is set. Returns their ids.

        Sessions in the archive or in the trash stay: their logs are elsewhere.
        """
        paths = self._paths
        try:
            days = load(paths.home, paths, setting_sources=("user",)).settings.cleanup_period_days
        except BrokenSettings as error:
            log.warning("no old sessions are removed, because the settings cannot be read: %s", error)
            return []
        if days is None:
            return []
        spare = frozenset(view.id for view in self._registry.views.values() if self._is_live(view))
        stop = threading.Event()
        try:
            removed = await asyncio.to_thread(remove_older_than, paths.bobstay, days, spare, stop.is_set)
        finally:
            stop.set()  # a server that ends does not wait for the rest
        for session_id in removed:
            await self._deletion.remove_records(session_id)
            self._database.audit.record("retention", "session.removed", {"days": days}, session_id)
        if removed:
            log.warning("%d sessions were removed: not used for %d days (cleanupPeriodDays)", len(removed), days)
        return removed

    async def remove_ephemeral(self, before: float | None = None) -> list[str]:
        """Remove ephemeral sessions that did not change since `before`, by default a day ago. Returns their ids."""
        limit = time.time() - DAY if before is None else before
        removed: list[str] = []
        for id in [view.id for view in self._registry.views.values() if view.config.ephemeral]:
            try:
                if not await self._acquire_for_removal(id, limit):
                    continue
                try:
                    await self._deletion.discard(id)
                except (
                    DatabaseProblem
                ) as problem:  # the tables are corrected at the next start; the log must not stay in the trash
                    log.warning("the ephemeral session %s is still in the tables: %s", id, problem)
                await self._deletion.remove_for_good(id)
            except LogError as error:
                log.warning("the ephemeral session %s cannot be removed: %s", id, error)
                continue
            self._database.audit.record("retention", "session.removed", {"ephemeral": True}, id)
            removed.append(id)
        if removed:
            log.info("%d ephemeral sessions were removed", len(removed))
        return removed

    async def _acquire_for_removal(self, id: str, limit: float) -> bool:
        """Open a session that is due for removal; False if it is not. It may be used while it is opened.

        Raises:
            LogError: it cannot be opened.
        """

        def is_due() -> bool:
            view = self._registry.views.get(id)
            if view is None or view.pinned or view.elsewhere or view.updated_at >= limit:
                return False
            return not (view.status in BUSY or view.queued or self._is_worked_on(id))

        if not is_due() or self._registry.get_open(id) is not None:
            return False
        await self._registry.acquire(id)
        if is_due():
            return True
        self._runner.release(id)
        return False

    def _is_live(self, view: SessionView) -> bool:
        if view.status in BUSY or view.queued or view.stored or self._is_worked_on(view.id):
            return True
        return self._registry.get_open(view.id) is not None

    def _is_worked_on(self, id: str) -> bool:
        return self._runner.worker(id) is not None or self._auxiliary_workers.is_active_in(id)
