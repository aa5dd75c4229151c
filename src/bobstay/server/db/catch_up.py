"""Catch-up: reads a log from where the tables stopped, or from its beginning if they no longer match it."""

import asyncio

from msgspec import Struct
from sqlalchemy import select

from bobstay.server.db.database_engines import Engines
from bobstay.server.db.database_errors import translate_errors
from bobstay.server.db.log_tail import LogFile, offset_after
from bobstay.server.db.projected_tables import sessions
from bobstay.server.db.session_row import read_view
from bobstay.server.sessions.session_view import SessionView


class LogSource(Struct, frozen=True):
    """The path of a session's log, and whether it is in the archive."""

    path: str
    stored: bool = False


class CatchUpReading(Struct):
    """A log that is being read to catch up."""

    file: LogFile
    view: SessionView
    stored: bool
    rebuild: bool
    """The existing rows must be deleted first."""


def fold_rest(reading: CatchUpReading) -> SessionView:
    """The view after the rest of the log.

    Raises:
        OSError
    """
    try:
        while True:
            piece = reading.file.read()
            for envelope in piece.entries:
                reading.view = reading.view.apply(envelope)
            if piece.last:
                return reading.view
    finally:
        reading.file.close()


async def indexed_sequences(engines: Engines) -> dict[str, int]:
    """The last indexed sequence number of each session.

    Raises:
        DatabaseProblem: the tables cannot be read.
    """
    with translate_errors():
        async with engines.read.connect() as connection:
            rows = await connection.execute(select(sessions.c.id, sessions.c.seq))
            return {row.id: row.seq for row in rows}


async def begin_catch_up(engines: Engines, session_id: str, source: LogSource) -> CatchUpReading:
    """Raises:
    DatabaseProblem: the tables cannot be read.
    """
    query = select(sessions.c.seq, sessions.c.entry, sessions.c.view).where(sessions.c.id == session_id)
    with translate_errors():
        async with engines.read.connect() as connection:
            row = (await connection.execute(query)).one_or_none()
    if row is not None and not source.stored:
        view = read_view(row.view)
        offset = await asyncio.to_thread(offset_after, source.path, row.seq, row.entry)
        if view is not None and offset is not None:
            return CatchUpReading(LogFile(source.path, offset, row.seq), view, stored=False, rebuild=False)
    return CatchUpReading(LogFile(source.path), SessionView(session_id), source.stored, rebuild=row is not None)
