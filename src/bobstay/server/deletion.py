"""Deleting sessions: into the trash, back from it, and for good."""

import asyncio
import os

from bobstay.model.session_events import SessionChanged
from bobstay.server.console import Console
from bobstay.server.db.draft_table import drop_drafts
from bobstay.server.session_commands import describe
from bobstay.server.sessions.abandoned_view import as_seen
from bobstay.server.sessions.session_registry import fold_file
from bobstay.server.sessions.session_trash import Trash
from bobstay.server.sessions.session_view import SessionView
from bobstay.sessions.expiry import remove_belongings


async def discard(console: Console, session_id: str) -> None:
    """Delete a session: its log goes to the trash, from which it can be restored. If it cannot, nothing is hidden.

    Raises:
        LogError: it cannot be moved. The session is then where it was.
    """
    await console.registry.take(session_id)
    await console.crew.leave(session_id)
    await console.runner.rest(session_id, "stopped")
    await asyncio.to_thread(trash_of(console).put, console.registry.store.path(session_id), session_id)
    await forget(console, session_id)


async def forget(console: Console, session_id: str) -> None:
    """The log of a session is gone: drop all that is known of it beside the log."""
    console.registry.forget(session_id)
    await console.registry.index.forget(session_id)
    await drop_drafts(console.database, session_id)
    if console.variables is not None:
        await console.variables.take_away(console.database, session_id)  # they may be secret


async def undelete(console: Console, session_id: str, *, by: str = "") -> SessionView:
    """Bring a session back from the trash.

    Raises:
        SessionMissing, SessionExists, LogError
    """
    registry = console.registry
    await asyncio.to_thread(trash_of(console).restore, session_id, registry.store.path(session_id))
    registry.learn(as_seen(registry.store, await asyncio.to_thread(fold_file, registry.store, session_id)))
    if registry.view(session_id).status == "discarded":  # by an older version, which wrote it down
        await describe(console, session_id, SessionChanged(discarded=False, by=by))
    console.database.look_again(session_id)
    return registry.view(session_id)


async def remove_for_good(console: Console, session_id: str) -> None:
    """Remove a deleted session with all the output it kept. There is no way back.

    Raises:
        SessionMissing, LogError
    """
    await asyncio.to_thread(trash_of(console).remove, session_id)
    if not console.registry.store.exists(session_id):  # a new session may have taken the id
        await asyncio.to_thread(remove_belongings, console.environment.paths.bobstay, session_id)


def trash_of(console: Console) -> Trash:
    return Trash(os.path.join(console.config.state, "trash"))
