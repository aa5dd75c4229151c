"""Puts what entries change into the tables, within one transaction that the caller holds.

Each statement is a put that goes well with what is there: a column either keeps its first value, or takes the last one
that is not null, or adds up. So it does not matter how entries are cut into batches.
"""

import logging
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Insert, Table, bindparam, delete, func, insert, text
from sqlalchemy.dialects.postgresql import insert as postgres_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from bobstay.server.db import fulltext_dialects
from bobstay.server.db.projected_tables import (
    PROJECTIONS,
    artifacts,
    documents,
    interactions,
    messages,
    parts,
    sessions,
    surroundings,
    tasks,
    tool_calls,
    usage,
)
from bobstay.server.db.projection import CALL, INTERACTION, project
from bobstay.server.db.row_changes import LogEntry, Row, RowChanges
from bobstay.server.db.session_row import finished, title_document

log = logging.getLogger(__name__)
_FIRST = {"interactions": frozenset(INTERACTION), "messages": frozenset({"seq", "at", "kind", "origin"})}
"""Columns that keep their first value: an outcome is immutable, and a message does not move."""
_LAST_KNOWN = {
    "tool_calls": frozenset(CALL),
    "messages": frozenset({"model", "stop", "usage", "cost", "data"}),
    "sessions": frozenset({"turn_seq", "over_seq"}),
}
_ADDED = {"tool_calls": frozenset({"rev"})}
_CALL_ONCE = frozenset({"called_seq", "called_at"})
"""A call that is told of again stays where it was in the transcript (S002-13)."""


def projected(entries: Iterable[LogEntry]) -> RowChanges:
    """All that `entries` change, in order."""
    into = RowChanges()
    for entry in entries:
        project(entry, into)
    for session_id, row in into.sessions.items():
        into.documents.append(title_document(session_id, row))
        into.sessions[session_id] = finished(session_id, row)
    return into


def apply(connection: Connection, changes: RowChanges) -> None:
    _put(connection, messages, changes.messages)
    _put(connection, parts, changes.parts)
    _put(connection, tool_calls, changes.calls)
    _put(connection, interactions, changes.interactions)
    _put(connection, usage, changes.usage)
    _put(connection, artifacts, changes.artifacts)
    _put(connection, surroundings, changes.surroundings)
    _put(connection, documents, changes.documents, ("session_id", "kind", "ref"))
    _replace_tasks(connection, changes.tasks)
    _put(connection, sessions, list(changes.sessions.values()))


def forget(connection: Connection, session_id: str) -> None:
    """Remove all that was made from the log of one session."""
    for table in PROJECTIONS:
        owner = table.c.id if table is sessions else table.c.session_id
        connection.execute(delete(table).where(owner == session_id))
    connection.execute(delete(tasks).where(tasks.c.session_id == session_id, tasks.c.source == "sdk"))


def empty(connection: Connection) -> None:
    """Remove all that was made from logs, and nothing else."""
    fulltext_dialects.empty(connection)
    for table in PROJECTIONS:
        if table is not documents:
            connection.execute(delete(table))
    connection.execute(delete(tasks).where(tasks.c.source == "sdk"))


def upsert(dialect: str, table: Table, key: Sequence[str] = ()) -> Insert:
    """A statement that puts a row into `table`, over the one of the same key if there is one."""
    make = postgres_insert if dialect == "postgresql" else sqlite_insert
    statement = make(table)
    keys = list(key) or [column.name for column in table.primary_key]
    changed: dict[str, Any] = {
        column.name: _merged(table, column.name, statement.excluded[column.name])
        for column in table.c
        if column.name not in keys and not column.primary_key
    }
    return statement.on_conflict_do_update(index_elements=keys, set_=changed)


def _put(connection: Connection, table: Table, rows: list[Row], key: Sequence[str] = ()) -> None:
    if rows:
        connection.execute(upsert(connection.dialect.name, table, key), rows)


def _merged(table: Table, name: str, new: ColumnElement[Any]) -> ColumnElement[Any]:
    old = table.c[name]
    if name in _ADDED.get(table.name, ()):
        return old + new
    if name in _FIRST.get(table.name, ()) or (table is tool_calls and name in _CALL_ONCE):
        return func.coalesce(old, new)
    if name in _LAST_KNOWN.get(table.name, ()):
        return func.coalesce(new, old)
    return new


def _replace_tasks(connection: Connection, lists: dict[str, list[Row]]) -> None:
    """S002-7: the agents' lists are replaced whole; rows of people are never touched."""
    if not lists:
        return
    gone = delete(tasks).where(tasks.c.session_id == bindparam("of"), tasks.c.source == text("'sdk'"))
    connection.execute(gone, [{"of": session_id} for session_id in lists])
    rows = [row for todos in lists.values() for row in todos]
    if rows:
        connection.execute(insert(tasks), rows)
    for session_id, todos in lists.items():
        log.debug("session %s: its tasks in the tables are replaced by %d", session_id, len(todos))
