"""Puts the logs of old archived sessions away and brings them back. Nothing is ever deleted here."""

import asyncio
import logging
import time

from msgspec import Struct
from sqlalchemy import select, update

from bobstay.server.index.database import Database
from bobstay.server.index.tables import sessions
from bobstay.sessions.log import LogError, SessionBusy
from bobstay.sessions.store import Store

log = logging.getLogger(__name__)
DAY = 86_400.0


class PutAway(Struct, frozen=True):
    sessions: tuple[str, ...]
    busy: tuple[str, ...]
    """Somebody writes them: not moved."""
    failed: dict[str, str]
    """Not moved either, and why."""


async def archive_older_than(database: Database, store: Store, days: float, *, by: str = "retention") -> PutAway:
    """Move the logs of sessions that were archived and did not change for `days` into the archive, packed.

    Their rows stay: they are listed and found as before, marked as stored. Each is noted in the audit trail.
    """
    since = time.time() - max(days, 0.0) * DAY
    query = select(sessions.c.id, sessions.c.seq).where(
        sessions.c.archived.is_(True), sessions.c.stored.is_(False), sessions.c.updated_at < since
    )
    async with database.reading() as connection:
        old = [(row.id, row.seq) for row in await connection.execute(query)]
    moved: list[str] = []
    busy: list[str] = []
    failed: dict[str, str] = {}
    for session_id, _ in old:
        try:
            await asyncio.to_thread(database.archive.put_away, store.path(session_id))
        except SessionBusy:
            busy.append(session_id)
        except LogError as error:
            failed[session_id] = str(error)
            log.warning("session %s was not put into the archive: %s", session_id, error)
        else:
            await _mark(database, session_id, stored=True)
            database.audit.record(by, "session.stored", {"days": days}, session_id)
            moved.append(session_id)
    return PutAway(tuple(moved), tuple(busy), failed)


async def restore(database: Database, store: Store, session_id: str, *, by: str) -> None:
    """Bring a log back from the archive.

    Raises:
        SessionMissing, SessionExists, LogError
    """
    path = store.path(session_id)
    await asyncio.to_thread(database.archive.bring_back, session_id, path)
    await _mark(database, session_id, stored=False)
    database.audit.record(by, "session.restored", {}, session_id)
    database.look_again(session_id)


async def _mark(database: Database, session_id: str, *, stored: bool) -> None:
    async with database.owning() as connection:
        change = update(sessions).where(sessions.c.id == session_id)
        await connection.execute(change.values(stored=stored, log_size=None))
