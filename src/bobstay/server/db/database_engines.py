"""SQLAlchemy engines for a database URL: SQLite in a file, or PostgreSQL."""

import errno
import os
from typing import Any
from urllib.parse import quote

from msgspec import Struct
from sqlalchemy import event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from bobstay.server.db.database_errors import DatabaseProblem

FILE = "index.sqlite"
BUSY_SECONDS = 2.0
"""How long SQLite waits for another process before it reports that the database is locked."""
READERS = 4
PRAGMAS = (
    "journal_mode=WAL",
    "synchronous=NORMAL",
    "journal_size_limit=67108864",
    "temp_store=MEMORY",
    "secure_delete=ON",  # variables of sessions may be secret: what is deleted is overwritten
)


class Engines(Struct):
    """Engines for one database, each for one purpose. For PostgreSQL they are the same."""

    url: URL
    write: AsyncEngine
    """For the single writer of projections: its transactions take the write lock at once and cannot fail half-way."""
    read: AsyncEngine
    """For reads."""
    own: AsyncEngine
    """For tables that are not projections: short transactions of many writers."""

    @property
    def dialect(self) -> str:
        return self.write.dialect.name

    @property
    def file(self) -> str:
        """The path of the database, if it is a file."""
        return (self.url.database or "") if self.dialect == "sqlite" else ""

    async def dispose(self) -> None:
        await self.write.dispose()
        if self.read is not self.write:
            await self.read.dispose()
            await self.own.dispose()


def resolve(address: str, state_dir: str) -> URL:
    """The URL of the database in SQLAlchemy's form.

    Raises:
        DatabaseProblem: it is not supported.
    """
    if not address:
        return URL.create("sqlite+aiosqlite", database=os.path.join(os.path.abspath(state_dir), FILE))
    try:
        url = make_url(address)
    except (ArgumentError, ValueError):
        raise DatabaseProblem("bad_url", "it is not a URL") from None
    kind = url.drivername.partition("+")[0]
    if kind == "sqlite":
        if not url.database or url.database == ":memory:":
            raise DatabaseProblem("bad_url", "a database in memory would be lost with the server")
        return url.set(drivername="sqlite+aiosqlite", database=os.path.abspath(url.database))
    if kind in ("postgresql", "postgres"):
        return url.set(drivername="postgresql+asyncpg")
    raise DatabaseProblem("bad_url", f"{kind[:40]!r} is neither sqlite nor postgresql")


def connect(url: URL) -> Engines:
    """Engines for `url`. Nothing is opened yet, but a missing file is created, readable by its owner only.

    Raises:
        DatabaseProblem: no engine can be created.
    """
    if url.drivername.startswith("sqlite"):
        _make_file(url.database or "")
        write = _sqlite(url, 1, "BEGIN IMMEDIATE")
        read = _sqlite(url, READERS, "BEGIN", read_only=True)
        return Engines(url, write, read, _sqlite(url, 2, "BEGIN"))
    try:
        engine = create_async_engine(
            url,
            pool_size=READERS + 1,
            max_overflow=0,
            pool_pre_ping=True,
            connect_args={"timeout": 5.0, "command_timeout": 60.0, "server_settings": {"application_name": "bobstay"}},
        )
    except ImportError:
        raise DatabaseProblem("no_driver", "asyncpg") from None
    return Engines(url, engine, engine, engine)


def read_only_engine(url: URL) -> AsyncEngine:
    """An engine for inspection only: nothing is created, changed or locked.

    Raises:
        DatabaseProblem: no engine can be created.
    """
    if not url.drivername.startswith("sqlite"):
        return connect(url).read
    path = url.database or ""
    try:
        has_wal = os.path.getsize(f"{path}-wal") > 0
    except OSError:
        has_wal = False
    # Without a write-ahead log the file can be read as it is. Otherwise SQLite's usual files exist beside it already.
    query = {"uri": "true", "mode": "ro"} | ({} if has_wal else {"immutable": "1"})
    file_url = URL.create(url.drivername, database=f"file:{quote(path)}", query=query)
    return create_async_engine(file_url, connect_args={"timeout": BUSY_SECONDS})


def _make_file(path: str) -> None:
    folder = os.path.dirname(path)
    try:
        os.makedirs(folder, 0o700, exist_ok=True)
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        if error.errno in (errno.EROFS, errno.EACCES) and os.path.isfile(path):
            raise DatabaseProblem("read_only", path) from None
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DatabaseProblem("full", path) from None
        raise DatabaseProblem("no_access", f"{path}: {error.strerror}") from None
    os.close(fd)


def _sqlite(url: URL, connections: int, begin: str, *, read_only: bool = False) -> AsyncEngine:
    """Transactions begin explicitly, and not when Python's sqlite3 module decides to."""
    arguments = {"timeout": BUSY_SECONDS}
    engine = create_async_engine(url, pool_size=connections, max_overflow=0, pool_timeout=15, connect_args=arguments)

    def configure(connection: Any, _: Any) -> None:
        connection.isolation_level = None
        cursor = connection.cursor()
        for pragma in PRAGMAS:
            cursor.execute(f"PRAGMA {pragma}")
        if read_only:
            cursor.execute("PRAGMA query_only=ON")
        cursor.close()

    def begin_transaction(connection: Any) -> None:
        connection.exec_driver_sql(begin)

    event.listen(engine.sync_engine, "connect", configure)
    event.listen(engine.sync_engine, "begin", begin_transaction)
    return engine


def truncate_wal(file: str) -> None:
    """Checkpoint and truncate the write-ahead log; if the database is busy, that is left for the next time."""
    import sqlite3
    from contextlib import closing, suppress

    with suppress(sqlite3.Error), closing(sqlite3.connect(file, timeout=2.0)) as connection:
        connection.execute("PRAGMA secure_delete=ON")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
