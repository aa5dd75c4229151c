"""Quarantines a damaged SQLite database and salvages the rows that are in no log."""

import os
import sqlite3
import time

from msgspec import Struct
from sqlalchemy import insert

from bobstay.server.db.database import Database
from bobstay.server.db.database_claim import HOME_SETTING, LOCK, acquire_lock_file
from bobstay.server.db.database_errors import DatabaseProblem, translate_errors
from bobstay.server.db.own_tables import OWN
from bobstay.server.db.projected_tables import tasks
from bobstay.system.atomic_file import move


class SalvageReport(Struct, frozen=True):
    path: str
    """The new path of the damaged file."""
    saved: dict[str, int] = {}
    """Number of salvaged rows, by table."""
    lost: tuple[str, ...] = ()
    """Tables with rows that could not be read."""


def quarantine_database(path: str, state_dir: str) -> str:
    """Rename a database file with its companions; returns the new path, or nothing if there is no file.

    Raises:
        DatabaseProblem: it is in use, or cannot be moved.
    """
    if not os.path.lexists(path):
        return ""
    held = acquire_lock_file(os.path.join(state_dir, LOCK))
    try:
        return _rename(path)
    finally:
        os.close(held)


def _rename(path: str) -> str:
    moment = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    target, number = f"{path}.broken-{moment}", 1
    while os.path.lexists(target):
        number += 1
        target = f"{path}.broken-{moment}-{number}"
    try:
        for suffix in ("", "-wal", "-shm"):
            if os.path.lexists(path + suffix):
                move(path + suffix, target + suffix)
    except OSError as error:
        raise DatabaseProblem("no_access", f"{path} cannot be renamed: {error.strerror}") from None
    return target


async def salvage(database: Database, broken: str) -> SalvageReport:
    """Copy the tables that are not projections from the file `broken` into `database`, as far as they can be read."""
    saved: dict[str, int] = {}
    lost: list[str] = []
    for table in (*OWN, tasks):
        rows, whole = _rows(broken, table.name, [column.name for column in table.c])
        if table.name == "tasks":
            rows = [row for row in rows if row["source"] == "user"]
        if table.name == "settings":
            rows = [row for row in rows if row["name"] not in ("index.version", HOME_SETTING)]
        if not whole:
            lost.append(table.name)
        for row in rows:
            try:
                with translate_errors():
                    async with database.engines.own.begin() as connection:
                        await connection.execute(insert(table), [row])
            except DatabaseProblem as problem:
                if not problem.is_about_data:
                    raise
                lost.append(table.name)
            else:
                saved[table.name] = saved.get(table.name, 0) + 1
    return SalvageReport(broken, saved, tuple(dict.fromkeys(lost)))


def _rows(path: str, table: str, columns: list[str]) -> tuple[list[dict[str, object]], bool]:
    """The rows of a table that can be read, and whether these are all."""
    found: list[dict[str, object]] = []
    try:
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    except sqlite3.Error:
        return found, False
    try:
        names = ", ".join(f'"{column}"' for column in columns)
        for row in connection.execute(f'SELECT {names} FROM "{table}"'):  # noqa: S608 - names of our own tables
            found.append(dict(zip(columns, row, strict=True)))  # noqa: PERF401 - what came before an error is kept
    except (sqlite3.Error, UnicodeError):
        return found, False
    finally:
        connection.close()
    return found, True
