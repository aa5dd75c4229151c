"""The database: projections of the logs, written by one writer in batches, and tables with data of their own."""

import asyncio
import logging
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import bindparam, select, update
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from bobstay.model.event import Envelope
from bobstay.server.db import apply_changes
from bobstay.server.db.audit_writer import AuditWriter
from bobstay.server.db.catch_up import CatchUpReading, LogSource, begin_catch_up, fold_rest, indexed_sequences
from bobstay.server.db.database_claim import DatabaseClaim, check_home
from bobstay.server.db.database_engines import Engines, connect, resolve, truncate_wal
from bobstay.server.db.database_errors import DatabaseProblem, translate_errors
from bobstay.server.db.log_archive import Archive
from bobstay.server.db.log_tail import LogFile, offset_after
from bobstay.server.db.migration import migrate
from bobstay.server.db.own_tables import settings
from bobstay.server.db.projected_tables import sessions
from bobstay.server.db.projection import VERSION
from bobstay.server.db.projection_writer import ProjectionWriter
from bobstay.server.db.session_row import read_view
from bobstay.server.sessions.session_view import SessionView
from bobstay.sessions.jsonl_log import SUFFIX
from bobstay.sessions.log_store import LogStore, is_session_id

log = logging.getLogger(__name__)
DRAIN_SECONDS = 10.0


class Health(Struct, frozen=True):
    """State of the database, for the health check, the metrics and `bobstay doctor`."""

    ok: bool
    database: str
    waiting: int
    """Entries queued to be written."""
    behind: int
    """Sessions whose logs must be read to catch up."""
    skipped: int
    problem: str = ""


class Counts(Struct, frozen=True):
    """Counters of a catch-up or a rebuild."""

    sessions: int
    """All logs."""
    read: int
    """Logs that had entries to read."""
    entries: int
    removed: int = 0
    """Sessions whose logs are gone."""
    skipped: int = 0


class Database:
    """Created by `open`. Other modules of this package read the tables and write those that are not projections."""

    def __init__(self, engines: Engines, claim: DatabaseClaim, state_dir: str, store: LogStore) -> None:
        self.engines = engines
        self.archive = Archive(os.path.join(state_dir, "archive"))
        self.writer = ProjectionWriter(engines, claim, self._source)
        self.audit = AuditWriter(engines)
        self._claim = claim
        self.store = store
        """The logs of the sessions, from which the tables are made."""
        self._stale = False
        self._closed = False

    @classmethod
    async def open(cls, url: str, state_dir: str, store: LogStore, *, adopt: bool = False) -> "Database":
        """Open the database at `url` (SQLite in `state_dir` if empty) and bring its schema up to date.

        `store` holds the sessions' logs, from which entries that could not be written are recovered.
        `adopt`: use a database that was filled from the sessions of another home.

        Raises:
            DatabaseProblem: the database cannot be used. The message says why and what to do.
        """
        engines = connect(resolve(url, state_dir))
        claim = None
        try:
            claim = await DatabaseClaim.acquire(engines, state_dir)
            await migrate(engines)
            await check_home(engines, state_dir, adopt=adopt)
            database = cls(engines, claim, state_dir, store)
            await database._load()
        except BaseException:
            if claim is not None:
                await claim.release()
            await engines.dispose()
            raise
        return database

    def put(self, session_id: str, envelope: Envelope, view: SessionView) -> None:
        """Queue an entry of a log to be projected. See `session_index.Index`."""
        self.writer.put(session_id, envelope, view)

    async def truncate_wal(self) -> None:
        """Empty SQLite's write-ahead log, so that deleted rows do not remain there."""
        if file := self.engines.file:
            await asyncio.to_thread(truncate_wal, file)

    def refresh(self, session_id: str) -> None:
        """Read new entries of a log that another process wrote to."""
        self.writer.mark_behind(session_id)

    async def wait_until_indexed(self, session_id: str, seq: int, seconds: float = 5.0) -> bool:
        """Wait until entry `seq` of a session is in the tables; returns whether it is."""
        return await self.writer.wait_until_indexed(session_id, seq, seconds)

    async def forget(self, session_id: str) -> None:
        """Delete all rows projected from the log of a deleted session."""
        await self.writer.remove(session_id)

    def archived_log_path(self, session_id: str) -> str:
        """The path of a session's log in the archive; empty if it is not archived."""
        path = self.archive.path(session_id)
        return path if os.path.isfile(path) else ""

    async def unpack(self, session_id: str, by: str) -> None:
        """Restore a log from the archive.

        Raises:
            SessionMissing, SessionExists, LogError
        """
        await asyncio.to_thread(self.archive.restore, session_id, self.store.path(session_id))
        await self.mark_stored(session_id, stored=False)
        self.audit.record(by, "session.restored", {}, session_id)
        self.refresh(session_id)

    async def mark_stored(self, session_id: str, *, stored: bool) -> None:
        async with self.write_transaction() as connection:
            change = update(sessions).where(sessions.c.id == session_id)
            await connection.execute(change.values(stored=stored, log_size=None))

    async def catch_up(self) -> Counts:
        """Project the entries that are not in the tables yet; logs that did not change are not read.

        Raises:
            DatabaseProblem: the tables cannot be written.
        """
        if self._stale:
            return await self.rebuild()
        found, known = await self._logs(), await self._rows()
        gone = [session_id for session_id in known if session_id not in found]
        for session_id in gone:
            await self.forget(session_id)
        changed = [id for id, (source, size) in found.items() if not _is_current(known.get(id), source, size)]
        return await self._read(len(found), changed, len(gone))

    async def rebuild(self) -> Counts:
        """Delete all projections and rebuild them from the logs. Other tables are kept."""
        await self.writer.run_exclusively(apply_changes.clear_projections)
        self.writer.reset()
        found = await self._logs()
        counts = await self._read(len(found), list(found), 0)
        await self._save_version()
        return counts

    async def known_views(self) -> tuple[dict[str, SessionView], list[str]]:
        """Views of the sessions whose rows are up to date, and the ids of all other sessions."""
        found, rows = await self._logs(), {} if self._stale else await self._rows()
        views: dict[str, SessionView] = {}
        for session_id, (source, size) in found.items():
            row = rows.get(session_id)
            view = read_view(row.view) if row is not None and _is_current(row, source, size) else None
            if view is not None:
                views[session_id] = replace(view, stored=source.stored)
        return views, [session_id for session_id in found if session_id not in views]

    async def current_view(self, session_id: str) -> SessionView | None:
        """The view of a session as of its log: the stored view with newer entries applied. None if there is no log.

        Raises:
            OSError, DatabaseProblem
        """
        source = self._source(session_id)
        if source is None:
            return None
        if self._stale:
            reading = CatchUpReading(LogFile(source.path), SessionView(session_id), source.stored, rebuild=True)
        else:
            reading = await begin_catch_up(self.engines, session_id, source)
        return replace(await asyncio.to_thread(fold_rest, reading), stored=source.stored)

    @asynccontextmanager
    async def read_transaction(self) -> AsyncGenerator[AsyncConnection]:
        """A connection to read with. Errors are raised as `DatabaseProblem`."""
        with translate_errors():
            async with self.engines.read.connect() as connection:
                yield connection

    @asynccontextmanager
    async def write_transaction(self) -> AsyncGenerator[AsyncConnection]:
        """A transaction on the tables that are not projections."""
        with translate_errors():
            async with self.engines.own.begin() as connection:
                yield connection

    @property
    def engine(self) -> AsyncEngine:
        """The engine for packages that have tables of their own."""
        return self.engines.own

    def health(self) -> Health:
        writer = self.writer
        where = self.engines.url.render_as_string(hide_password=True)
        problem = str(writer.problem) if writer.problem is not None else ""
        return Health(not problem, where, *writer.waiting, writer.skipped, problem)

    async def close(self, seconds: float = DRAIN_SECONDS) -> None:
        """Write queued entries and release the database; idempotent. Unwritten entries are read next time."""
        if self._closed:
            return
        self._closed = True
        await self.writer.close(seconds)
        try:
            await self.audit.close(min(seconds, 3.0))
            await self._save_log_sizes()
        except DatabaseProblem as problem:
            log.warning("the sizes of the logs could not be saved: %s", problem)
        try:
            await self._claim.release()
        except DatabaseProblem:
            log.debug("the database was gone before its claim was released")
        await self.engines.dispose()

    # ------------------------------------------------------------ inside

    async def _load(self) -> None:
        indexed = await indexed_sequences(self.engines)
        async with self.read_transaction() as connection:
            version = await connection.scalar(select(settings.c.value).where(settings.c.name == "index.version"))
        self._stale = bool(indexed) and version != str(VERSION)
        if not indexed and version != str(VERSION):
            await self._save_version()
        self.writer.start(indexed)
        self.audit.start()

    async def _save_version(self) -> None:
        row: dict[str, Any] = {"name": "index.version", "value": str(VERSION), "updated_at": 0.0, "by": ""}
        async with self.write_transaction() as connection:
            await connection.execute(apply_changes.upsert(self.engines.dialect, settings), [row])
        self._stale = False

    async def _rows(self) -> dict[str, Any]:
        query = select(sessions.c.id, sessions.c.log_size, sessions.c.stored, sessions.c.view)
        async with self.read_transaction() as connection:
            return {row.id: row for row in await connection.execute(query)}

    async def _read(self, logs: int, changed: list[str], removed: int) -> Counts:
        before = {session_id: self.writer.indexed.get(session_id, 0) for session_id in changed}
        skipped = self.writer.skipped
        for session_id in changed:
            self.writer.mark_behind(session_id)
        await self.writer.idle()
        indexed = self.writer.indexed
        entries = sum(max(0, indexed.get(session_id, 0) - seq) for session_id, seq in before.items())
        read = sum(indexed.get(session_id, 0) != seq for session_id, seq in before.items())
        return Counts(logs, read, entries, removed, self.writer.skipped - skipped)

    async def _logs(self) -> dict[str, tuple[LogSource, int]]:
        """The source and the size of each session's log."""
        found = {name: (LogSource(path, stored=True), 0) for name, path in self.archive.all().items()}
        directory = self.store.directory
        try:
            with os.scandir(directory) as files:
                for file in files:
                    name = file.name.removesuffix(SUFFIX)
                    # Any other name, as of a copy that a person made, is no session: nothing could open it.
                    if name != file.name and is_session_id(name) and file.is_file():
                        found[name] = (LogSource(file.path), file.stat().st_size)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise DatabaseProblem("disk", f"the sessions cannot be listed: {error.strerror}") from None
        return found

    def _source(self, session_id: str) -> LogSource | None:
        path = os.path.join(self.store.directory, session_id + SUFFIX)
        if os.path.isfile(path):
            return LogSource(path)
        archived = self.archive.path(session_id)
        return LogSource(archived, stored=True) if os.path.isfile(archived) else None

    async def _save_log_sizes(self) -> None:
        """Save how much of each log is in the tables, so that the next start need not open it."""
        if self.writer.problem is not None:
            return
        async with self.read_transaction() as connection:
            rows = await connection.execute(select(sessions.c.id, sessions.c.seq, sessions.c.entry))
            ends = {row.id: (row.seq, row.entry) for row in rows if row.id in self.writer.touched}
        sizes: list[dict[str, Any]] = []
        for session_id, (seq, entry) in ends.items():
            source = self._source(session_id)
            if source is not None and not source.stored:
                sizes.append({"of": session_id, "size": offset_after(source.path, seq, entry)})
        if sizes:
            change = update(sessions).where(sessions.c.id == bindparam("of")).values(log_size=bindparam("size"))
            async with self.write_transaction() as connection:
                await connection.execute(change, sizes)


def _is_current(row: Any, source: LogSource, size: int) -> bool:
    """Whether the tables have all of a log. Archived logs do not grow."""
    return row is not None and row.stored == source.stored and (source.stored or row.log_size == size)
