"""Exclusive access to a database: one process writes it, and one home of sessions fills it."""

import os
import time

from sqlalchemy import select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from bobstay.model.ids import new_id
from bobstay.server.db.apply_changes import upsert
from bobstay.server.db.database_engines import Engines
from bobstay.server.db.database_errors import DatabaseProblem, translate_errors
from bobstay.server.db.own_tables import settings
from bobstay.system.file_lock import lock

LOCK = "index.lock"
HOME_FILE = "home-id"
HOME_SETTING = "index.home"
ADVISORY = 0x626F6273
"""The key of our advisory lock among those of other programs in a PostgreSQL database."""


class DatabaseClaim:
    """The right to write a database: one process at a time, released by the system when that process dies."""

    def __init__(self, fd: int, engines: Engines) -> None:
        self._fd = fd
        self._engines = engines
        self._connection: AsyncConnection | None = None

    @classmethod
    async def acquire(cls, engines: Engines, state_dir: str) -> "DatabaseClaim":
        """Raises:
        DatabaseProblem: another process has it (`in_use`), or the database cannot be reached.
        """
        claim = cls(acquire_lock_file(os.path.join(state_dir, LOCK)), engines)
        try:
            await claim.confirm()
        except BaseException:
            await claim.release()
            raise
        return claim

    async def confirm(self) -> None:
        """Make sure that the claim is held. PostgreSQL drops the lock when it restarts: it is then acquired again.

        Raises:
            DatabaseProblem: another process has acquired it (`in_use`), or the database cannot be reached.
        """
        if self._engines.dialect != "postgresql" or await self._is_held():
            return
        with translate_errors():
            await self._drop()
            self._connection = await self._engines.write.connect()
            await self._connection.execution_options(isolation_level="AUTOCOMMIT")
            if not await self._connection.scalar(text("SELECT pg_try_advisory_lock(:key)"), {"key": ADVISORY}):
                await self._drop()
                raise DatabaseProblem("in_use", "the same PostgreSQL database")

    async def release(self) -> None:
        try:
            with translate_errors():
                await self._drop()
        finally:
            if self._fd >= 0:
                os.close(self._fd)
                self._fd = -1

    async def _is_held(self) -> bool:
        """The lock lives as long as its connection: a connection that answers still has it."""
        if self._connection is None:
            return False
        try:
            with translate_errors():
                return bool(await self._connection.scalar(text("SELECT 1")))
        except DatabaseProblem:
            return False

    async def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.invalidate()
            await connection.close()


async def check_home(engines: Engines, state_dir: str, *, adopt: bool = False) -> None:
    """Refuse a database that was filled from another home: its sessions would be regarded as deleted.

    `adopt` assigns it to this home instead.

    Raises:
        DatabaseProblem: `other_home`
    """
    home = _home_id(os.path.join(state_dir, HOME_FILE))
    with translate_errors():
        async with engines.own.begin() as connection:
            known = await connection.scalar(select(settings.c.value).where(settings.c.name == HOME_SETTING))
            if known == home:
                return
            if known and not adopt and not _is_in(engines.file, state_dir):
                raise DatabaseProblem("other_home")
            row = {"name": HOME_SETTING, "value": home, "updated_at": time.time(), "by": ""}
            await connection.execute(upsert(engines.dialect, settings), [row])


def _is_in(file: str, folder: str) -> bool:
    """Whether the database file is inside the home, so that no other home can have filled it."""
    return os.path.dirname(file) == os.path.abspath(folder)


def _home_id(path: str) -> str:
    try:
        with open(path, encoding="ascii") as file:
            if known := file.read(100).strip():
                return known
    except FileNotFoundError:
        pass
    except (OSError, UnicodeError) as error:
        raise DatabaseProblem("no_access", f"{path}: {error}") from None
    home_id = new_id()
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "w") as file:
            file.write(f"{home_id}\n")
    except OSError as error:
        raise DatabaseProblem("no_access", f"{path}: {error.strerror}") from None
    return home_id


def acquire_lock_file(path: str) -> int:
    """Acquire the lock file beside the database; closing the descriptor releases it.

    Raises:
        DatabaseProblem: another process has it.
    """
    try:
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise DatabaseProblem("no_access", f"{path}: {error.strerror}") from None
    try:
        lock(fd)
    except OSError:
        holder = os.read(fd, 20).decode("ascii", "replace").strip()
        os.close(fd)
        raise DatabaseProblem("in_use", f"process {holder}" if holder.isdigit() else "") from None
    os.ftruncate(fd, 0)
    os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
    return fd
