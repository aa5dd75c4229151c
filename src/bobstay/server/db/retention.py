"""Retention: moves the logs of old archived sessions to the archive. Nothing is deleted here."""

import asyncio
import logging
import time

from msgspec import Struct
from sqlalchemy import select

from bobstay.server.db.database import Database
from bobstay.server.db.projected_tables import sessions
from bobstay.sessions.log import LogError, SessionBusy

log = logging.getLogger(__name__)
DAY = 86_400.0


class PackedLogs(Struct, frozen=True):
    sessions: tuple[str, ...]
    busy: tuple[str, ...]
    """Not moved, because another process writes them."""
    failed: dict[str, str]
    """Not moved because of an error, by session."""


async def archive_older_than(database: Database, days: float, *, by: str = "retention") -> PackedLogs:
    """Move the logs of archived sessions that did not change for `days` to the archive, compressed.

    Their rows stay: they are listed and found as before, marked as stored. Each move is recorded in the audit log.
    """
    since = time.time() - max(days, 0.0) * DAY
    query = select(sessions.c.id, sessions.c.seq).where(
        sessions.c.archived.is_(True), sessions.c.stored.is_(False), sessions.c.updated_at < since
    )
    async with database.read_transaction() as connection:
        old = [(row.id, row.seq) for row in await connection.execute(query)]
    moved: list[str] = []
    busy: list[str] = []
    failed: dict[str, str] = {}
    for session_id, _ in old:
        try:
            await asyncio.to_thread(database.archive.pack, database.store.path(session_id))
        except SessionBusy:
            busy.append(session_id)
        except LogError as error:
            failed[session_id] = str(error)
            log.warning("the log of session %s was not archived: %s", session_id, error)
        else:
            await database.mark_stored(session_id, stored=True)
            database.audit.record(by, "session.stored", {"days": days}, session_id)
            moved.append(session_id)
    return PackedLogs(tuple(moved), tuple(busy), failed)
