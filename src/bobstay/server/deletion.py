"""Deletes sessions: to the trash, back from it, and permanently."""

import asyncio

from bobstay.model.session_events import SessionChanged
from bobstay.server.auxiliary_workers import AuxiliaryWorkers
from bobstay.server.db.database import Database
from bobstay.server.db.draft_table import drop_drafts
from bobstay.server.runner import Runner
from bobstay.server.session_secrets import SessionSecrets
from bobstay.server.sessions.abandoned_view import observed_view
from bobstay.server.sessions.session_registry import SessionRegistry, fold_log
from bobstay.server.sessions.session_trash import Trash
from bobstay.server.sessions.session_view import SessionView
from bobstay.sessions.expiry import remove_session_files


class SessionDeletion:
    def __init__(
        self,
        registry: SessionRegistry,
        runner: Runner,
        auxiliary_workers: AuxiliaryWorkers,
        secrets: SessionSecrets,
        database: Database,
        *,
        trash: Trash,
        home: str,
    ) -> None:
        self._registry = registry
        self._runner = runner
        self._auxiliary_workers = auxiliary_workers
        self._secrets = secrets
        self._database = database
        self._home = home
        """The directory with the saved outputs of sessions."""
        self.trash = trash

    async def discard(self, session_id: str) -> None:
        """Delete a session: its log is moved to the trash, from which it can be restored.

        Raises:
            LogError: it cannot be moved. The session then stays as it was.
        """
        await self._registry.acquire(session_id)
        await self._auxiliary_workers.stop_session(session_id)
        await self._runner.stop_agent(session_id, "stopped")
        await asyncio.to_thread(self.trash.put, session_id)
        await self.remove_records(session_id)

    async def remove_records(self, session_id: str) -> None:
        """Remove all records of a session whose log is gone."""
        self._registry.forget(session_id)
        await self._registry.index.forget(session_id)
        await drop_drafts(self._database, session_id)
        await self._secrets.delete(session_id)  # they may be secret

    async def undelete(self, session_id: str, *, by: str = "") -> SessionView:
        """Restore a session from the trash.

        Raises:
            SessionMissing, SessionExists, LogError
        """
        registry = self._registry
        await asyncio.to_thread(self.trash.restore, session_id)
        registry.update_view(observed_view(registry.logs, await asyncio.to_thread(fold_log, registry.logs, session_id)))
        if registry.view(session_id).status == "discarded":  # by an older version, which recorded it in the log
            (await registry.acquire(session_id)).record(SessionChanged(discarded=False, by=by))
            self._runner.release(session_id)
        self._database.refresh(session_id)
        return registry.view(session_id)

    async def remove_for_good(self, session_id: str) -> None:
        """Remove a deleted session and its saved outputs permanently.

        Raises:
            SessionMissing, LogError
        """
        await asyncio.to_thread(self.trash.remove, session_id)
        if not self._registry.logs.exists(session_id):  # a new session may have the same id
            await asyncio.to_thread(remove_session_files, self._home, session_id)
