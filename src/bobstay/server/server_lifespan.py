"""Starts the services of the server in order, and stops them in reverse."""

import asyncio
import logging

from msgspec import Struct

from bobstay.server.api.services import Services
from bobstay.server.crash_recovery import CrashRecovery
from bobstay.server.db import state_tables
from bobstay.server.db.database_errors import DatabaseProblem
from bobstay.server.db.retention import DAY
from bobstay.server.external_sessions import ExternalSessions
from bobstay.server.rpc.rpc_server import RpcServer
from bobstay.server.session_expiry import SessionExpiry
from bobstay.server.session_loading import SessionLoading

log = logging.getLogger(__name__)


class BackgroundServices(Struct, frozen=True, kw_only=True):
    """Services that run by themselves; no request needs them."""

    loading: SessionLoading
    recovery: CrashRecovery
    expiry: SessionExpiry
    external: ExternalSessions
    rpc: RpcServer


class ServerLifespan:
    def __init__(self, services: Services, background: BackgroundServices) -> None:
        self._services = services
        self._background = background
        self._recovering: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        services, background = self._services, self._background
        await state_tables.delete_unfinished_requests(services.database)
        await background.loading.begin()
        await services.notifier.begin(services.registry.views.values())
        await self._sweep()
        await services.auth.start()
        await background.external.begin()
        await background.rpc.start()
        services.runner.begin()
        self._recovering = asyncio.create_task(self._recover())

    async def end(self) -> None:
        services, background = self._services, self._background
        if self._recovering is not None:
            self._recovering.cancel()
            await asyncio.wait([self._recovering])
        await background.rpc.close()
        await background.external.close()
        await services.auxiliary_workers.close()
        await services.mcp.close()
        await services.runner.close()
        await services.versions.close()
        await services.notifier.close()
        await services.auth.close()
        await services.database.close()

    async def _sweep(self) -> None:
        """Clean up after an earlier server, before clients can start anything that looks like its remains."""
        try:
            await self._background.recovery.end_orphans()
        except Exception:  # a boundary: remains of an earlier server must not prevent the start
            log.exception("cleaning up after an earlier server failed")

    async def _recover(self) -> None:
        background = self._background
        late = bool(self._services.registry.pending)
        try:
            await background.loading.finish()
        except DatabaseProblem as problem:  # the logs are complete; the tables catch up when they can be written
            log.warning("the database is behind: %s", problem)
        if late:
            await self._sweep()
        recovered = await background.recovery.recover()
        if recovered:
            log.info("recovered %d interrupted sessions", len(recovered))
        await self._prune()
        while True:
            await background.expiry.run()
            await asyncio.sleep(DAY)

    async def _prune(self) -> None:
        """Remove worktrees without changes whose session no longer exists."""
        if not self._background.loading.is_complete:
            log.warning("worktrees without a session are not looked for, because some sessions could not be read")
            return
        views = self._services.registry.views.values()
        known = {view.config.worktree for view in views if view.config.worktree}
        gone, kept = await self._services.worktrees.prune(known)
        if gone or kept:
            log.info("worktrees without a session: %d removed, %d kept for their changes", len(gone), len(kept))
