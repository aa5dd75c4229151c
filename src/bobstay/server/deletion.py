"""Deletes sessions: to the trash, back from it, and permanently."""

import asyncio
import os

from bobstay.model.session_events import SessionChanged
from bobstay.server.console import Console
from bobstay.server.db.draft_table import drop_drafts
from bobstay.server.session_commands import change_metadata
from bobstay.server.sessions.abandoned_view import observed_view
from bobstay.server.sessions.session_registry import fold_file
from bobstay.server.sessions.session_trash import Trash
from bobstay.server.sessions.session_view import SessionView
from bobstay.sessions.expiry import remove_session_files


async def discard(console: Console, session_id: str) -> None:
    """Delete a session: its log is moved to the trash, from which it can be restored.

    Raises:
        LogError: it cannot be moved. The session then stays as it was.
    """
    await console.registry.acquire(session_id)
    await console.auxiliary_workers.stop_session(session_id)
    await console.runner.stop_agent(session_id, "stopped")
    await asyncio.to_thread(trash_of(console).put, console.registry.store.path(session_id), session_id)
    await remove_records(console, session_id)


async def remove_records(console: Console, session_id: str) -> None:
    """Remove all records of a session whose log is gone."""
    console.registry.forget(session_id)
    await console.registry.index.forget(session_id)
    await drop_drafts(console.database, session_id)
    if console.variables is not None:
        await console.variables.delete(console.database, session_id)  # they may be secret


async def undelete(console: Console, session_id: str, *, by: str = "") -> SessionView:
    """Restore a session from the trash.

    Raises:
        SessionMissing, SessionExists, LogError
    """
    registry = console.registry
    await asyncio.to_thread(trash_of(console).restore, session_id, registry.store.path(session_id))
    registry.update_view(observed_view(registry.store, await asyncio.to_thread(fold_file, registry.store, session_id)))
    if registry.view(session_id).status == "discarded":  # by an older version, which recorded it in the log
        await change_metadata(console, session_id, SessionChanged(discarded=False, by=by))
    console.database.refresh(session_id)
    return registry.view(session_id)


async def remove_for_good(console: Console, session_id: str) -> None:
    """Remove a deleted session and its saved outputs permanently.

    Raises:
        SessionMissing, LogError
    """
    await asyncio.to_thread(trash_of(console).remove, session_id)
    if not console.registry.store.exists(session_id):  # a new session may have the same id
        await asyncio.to_thread(remove_session_files, console.environment.paths.bobstay, session_id)


def trash_of(console: Console) -> Trash:
    return Trash(os.path.join(console.config.state, "trash"))
