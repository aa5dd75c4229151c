"""Moves a damaged SQLite database aside, and saves from it what no log holds, as far as it can still be read."""

import os
import sqlite3
import time

from msgspec import Struct
from sqlalchemy import insert

from bobstay.server.db.database import Database
from bobstay.server.db.database_claim import HOME_SETTING, LOCK, lock_file
from bobstay.server.db.database_errors import DatabaseProblem, translated
from bobstay.server.db.own_tables import OWN
from bobstay.server.db.projected_tables import tasks


class SalvageReport(Struct, frozen=True):
    path: str
    """Where the damaged file is now."""
    saved: dict[str, int] = {}
    """Rows that were saved from it, by table."""
    lost: tuple[str, ...] = ()
    """Tables of which something could not be read."""


def set_aside(path: str, state_dir: str) -> str:
    """Give a database file another name, with all that belongs to it; returns the new one, or nothing without a file.

    Raises:
        DatabaseProblem: it is in use, or cannot be moved.
    """
    if not os.path.lexists(path):
        return ""
    held = lock_file(os.path.join(state_dir, LOCK))
    try:
        return _renamed(path)
    finally:
        os.close(held)


def _renamed(path: str) -> str:
    moment = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    target, number = f"{path}.broken-{moment}", 1
    while os.path.lexists(target):
        number += 1
        target = f"{path}.broken-{moment}-{number}"
    try:
        for suffix in ("", "-wal", "-shm"):
            if os.path.lexists(path + suffix):
                os.rename(path + suffix, target + suffix)
    except OSError as error:
        raise DatabaseProblem("no_access", f"{path} cannot be moved aside: {error.strerror}") from None
    return target


async def salvage(database: Database, broken: str) -> SalvageReport:
    """Copy from the file `broken` what is nobody's projection into `database`, row by row, until it cannot be read."""
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
                with translated():
                    async with database.engines.own.begin() as connection:
                        await connection.execute(insert(table), [row])
            except DatabaseProblem as found:
                if not found.is_about_data:
                    raise
                lost.append(table.name)
            else:
                saved[table.name] = saved.get(table.name, 0) + 1
    return SalvageReport(broken, saved, tuple(dict.fromkeys(lost)))


def _rows(path: str, table: str, columns: list[str]) -> tuple[list[dict[str, object]], bool]:
    """What can be read of a table, and whether that is all."""
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
