"""Database errors: an enumerated kind for programs, and a message with a remedy for people."""

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from typing import Literal, TypeAlias

from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from bobstay.server.errors import ApiError

Kind: TypeAlias = Literal[
    "bad_url",
    "no_driver",
    "newer",
    "in_use",
    "other_home",
    "locked",
    "read_only",
    "full",
    "corrupt",
    "incomplete",
    "unreachable",
    "no_access",
    "disk",
    "refused",
]

SUMMARY: dict[Kind, str] = {
    "bad_url": "The address of the database cannot be used",
    "no_driver": "The driver for this database is not installed",
    "newer": "The database was made by a newer version of bobstay",
    "in_use": "Another bobstay process uses this database",
    "other_home": "The database holds the sessions of another bobstay home",
    "locked": "The database is locked by another program",
    "read_only": "The database can be read but not written",
    "full": "There is no room left for the database",
    "corrupt": "The database file is damaged",
    "incomplete": "Tables are missing in the database",
    "unreachable": "The database does not answer",
    "no_access": "The database may not be opened",
    "disk": "The disk failed under the database",
    "refused": "The database rejected the data",
}
REMEDY: dict[Kind, str] = {
    "bad_url": "Use sqlite:///path or postgresql://user@host/name.",
    "no_driver": "Install it: pip install 'bobstay[postgres]'.",
    "newer": "Use that version again, or name another database with --db. The sessions' logs are unchanged.",
    "in_use": "Stop the server that uses it first.",
    "other_home": "Name another database with --db. If that home no longer exists: `bobstay reindex --adopt --db URL`.",
    "locked": "End the other program, then try again. Nothing is lost: the logs are kept separately.",
    "read_only": "Make the file and its folder writable for you. Nothing is lost: the logs are kept separately.",
    "full": "Free some space. Missing rows are then read from the logs.",
    "corrupt": "Run `bobstay reindex --set-aside`: it keeps the damaged file and builds a new one from the logs.",
    "incomplete": "Restart the server: it creates them. The data of sessions is then read from the logs.",
    "unreachable": "Start it, or check its address. Missing rows are then read from the logs.",
    "no_access": "Check the user, password and name in its address, and the permissions.",
    "disk": "Check the disk. If the file is damaged, run `bobstay reindex --set-aside`.",
    "refused": "This is a bug in bobstay: please report it. The logs hold everything.",
}
TRANSIENT: frozenset[Kind] = frozenset({"locked", "unreachable", "in_use"})
"""Problems that a retry may solve."""

_SQLITE: dict[int, Kind] = {
    sqlite3.SQLITE_BUSY: "locked",
    sqlite3.SQLITE_LOCKED: "locked",
    sqlite3.SQLITE_PROTOCOL: "locked",
    sqlite3.SQLITE_READONLY: "read_only",
    sqlite3.SQLITE_FULL: "full",
    sqlite3.SQLITE_TOOBIG: "refused",
    sqlite3.SQLITE_CORRUPT: "corrupt",
    sqlite3.SQLITE_NOTADB: "corrupt",
    sqlite3.SQLITE_CANTOPEN: "no_access",
    sqlite3.SQLITE_PERM: "no_access",
    sqlite3.SQLITE_AUTH: "no_access",
    sqlite3.SQLITE_IOERR: "disk",
}
_POSTGRES: dict[str, Kind] = {
    "25006": "read_only",
    "53100": "full",
    "53200": "full",
    "53400": "full",
    "3D000": "no_access",
    "42501": "no_access",
    "55P03": "locked",
    "55006": "locked",
    "40P01": "locked",
    "40001": "locked",
    "42P01": "incomplete",
    "58030": "disk",
    "XX001": "corrupt",
    "XX002": "corrupt",
}
_POSTGRES_CLASSES: dict[str, Kind] = {"08": "unreachable", "57": "unreachable", "53": "unreachable", "28": "no_access"}


class DatabaseProblem(ApiError):  # noqa: N818 - reads as what it is
    """A database operation failed. `kind` says why; the message also says what to do."""

    def __init__(self, kind: Kind, detail: str = "") -> None:
        self.kind: Kind = kind
        message = f"{SUMMARY[kind]}{f' ({detail[:300]})' if detail else ''}. {REMEDY[kind]}"
        super().__init__("unavailable" if kind in TRANSIENT else "storage", message, kind=kind)

    @property
    def is_about_data(self) -> bool:
        """Whether the data is at fault and not the database: a retry would fail again."""
        return self.kind == "refused"


@contextmanager
def translate_errors() -> Generator[None]:
    """Raise errors of the database libraries as `DatabaseProblem`."""
    try:
        yield
    except DatabaseProblem:
        raise
    except BaseException as error:
        problem = to_problem(error)
        if problem is None:
            raise
        raise problem from error


def to_problem(error: BaseException) -> DatabaseProblem | None:
    """The problem that `error` stands for, if it came from a database."""
    match error:
        case DatabaseProblem():
            return error
        case PoolTimeout():
            return DatabaseProblem("locked", "all connections are in use")
        case DBAPIError():
            return _from_driver(error)
        case SQLAlchemyError():
            return DatabaseProblem("refused", _first_line(error))
        case sqlite3.Error():
            return DatabaseProblem(_sqlite_kind(error), _first_line(error))
        case OSError():  # asyncpg passes network errors on; a timeout is one of them
            return DatabaseProblem("unreachable", _first_line(error))
        case _ if type(error).__module__.startswith("asyncpg"):
            return DatabaseProblem(_postgres_kind(getattr(error, "sqlstate", None)), _first_line(error))
        case _:
            return None


def _from_driver(error: DBAPIError) -> DatabaseProblem:
    origin = error.orig
    if isinstance(origin, sqlite3.Error):
        return DatabaseProblem(_sqlite_kind(origin), _first_line(origin))
    if isinstance(origin, OSError):
        return DatabaseProblem("unreachable", _first_line(origin))
    if error.connection_invalidated:
        return DatabaseProblem("unreachable", "the connection was lost")
    state: str | None = getattr(origin, "sqlstate", None)
    cause = getattr(origin, "__cause__", None) or origin or error
    return DatabaseProblem(_postgres_kind(state), _first_line(cause))


def _sqlite_kind(error: sqlite3.Error) -> Kind:
    code = getattr(error, "sqlite_errorcode", None)
    if not isinstance(code, int):
        return "corrupt" if type(error) is sqlite3.DatabaseError else "refused"
    if code == sqlite3.SQLITE_ERROR and str(error).startswith("no such table"):
        return "incomplete"
    return _SQLITE.get(code & 0xFF, "refused")


def _postgres_kind(state: str | None) -> Kind:
    if state is None:
        return "unreachable"
    return _POSTGRES.get(state) or _POSTGRES_CLASSES.get(state[:2], "refused")


def _first_line(error: BaseException) -> str:
    """The first line of an error, without the statements and values that libraries append: these may hold secrets."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
