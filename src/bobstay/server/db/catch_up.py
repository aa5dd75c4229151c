"""Takes up a log where the tables stopped, or from its beginning where they do not fit it any more."""

import asyncio

from msgspec import Struct
from sqlalchemy import select

from bobstay.server.db.database_engines import Engines
from bobstay.server.db.database_errors import translated
from bobstay.server.db.log_tail import LogFile, place_after
from bobstay.server.db.projected_tables import sessions
from bobstay.server.db.session_row import read_view
from bobstay.server.sessions.session_view import SessionView


class LogSource(Struct, frozen=True):
    """Where a session's log is, and whether that is the archive."""

    path: str
    stored: bool = False


class CatchUpReading(Struct):
    """A log that is being read again."""

    file: LogFile
    view: SessionView
    stored: bool
    anew: bool
    """The rows there are must go first."""


def fold_rest(reading: CatchUpReading) -> SessionView:
    """The view after all that is left to read.

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


async def reach(engines: Engines) -> dict[str, int]:
    """How far each session is in the tables.

    Raises:
        DatabaseProblem: they cannot be asked.
    """
    with translated():
        async with engines.read.connect() as connection:
            rows = await connection.execute(select(sessions.c.id, sessions.c.seq))
            return {row.id: row.seq for row in rows}


async def begin(engines: Engines, session_id: str, source: LogSource) -> CatchUpReading:
    """Raises:
    DatabaseProblem: how far the tables are cannot be asked.
    """
    query = select(sessions.c.seq, sessions.c.entry, sessions.c.view).where(sessions.c.id == session_id)
    with translated():
        async with engines.read.connect() as connection:
            row = (await connection.execute(query)).one_or_none()
    if row is not None and not source.stored:
        view = read_view(row.view)
        place = await asyncio.to_thread(place_after, source.path, row.seq, row.entry)
        if view is not None and place is not None:
            return CatchUpReading(LogFile(source.path, place, row.seq), view, stored=False, anew=False)
    return CatchUpReading(LogFile(source.path), SessionView(session_id), source.stored, anew=row is not None)
