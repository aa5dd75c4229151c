"""Applies row changes to the tables, within a transaction of the caller.

Each statement is an upsert: a column keeps its first value, takes the last value that is not null, or is summed. The
result therefore does not depend on how entries are split into batches.
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
    inventory_table,
    messages,
    parts,
    sessions,
    tasks,
    tool_calls,
    usage,
)
from bobstay.server.db.projection import CALL, INTERACTION, project
from bobstay.server.db.row_changes import LogEntry, Row, RowChanges
from bobstay.server.db.session_row import complete_row, title_document

log = logging.getLogger(__name__)
_KEEP_FIRST = {"interactions": frozenset(INTERACTION), "messages": frozenset({"seq", "at", "kind", "origin"})}
"""Columns that keep their first value: an outcome is immutable, and a message does not move."""
_KEEP_LAST_KNOWN = {
    "tool_calls": frozenset(CALL),
    "messages": frozenset({"model", "stop", "usage", "cost", "data"}),
    "sessions": frozenset({"turn_seq", "over_seq"}),
}
_SUMMED = {"tool_calls": frozenset({"rev"})}
_CALL_KEEP_FIRST = frozenset({"called_seq", "called_at"})
"""A call that is reported twice keeps its position in the transcript."""


def collect_changes(entries: Iterable[LogEntry]) -> RowChanges:
    """The row changes of all `entries`, in order."""
    into = RowChanges()
    for entry in entries:
        project(entry, into)
    for session_id, row in into.sessions.items():
        into.documents.append(title_document(session_id, row))
        into.sessions[session_id] = complete_row(session_id, row)
    return into


def apply(connection: Connection, changes: RowChanges) -> None:
    _put(connection, messages, changes.messages)
    _put(connection, parts, changes.parts)
    _put(connection, tool_calls, changes.calls)
    _put(connection, interactions, changes.interactions)
    _put(connection, usage, changes.usage)
    _put(connection, artifacts, changes.artifacts)
    _put(connection, inventory_table, changes.inventories)
    _put(connection, documents, changes.documents, ("session_id", "kind", "ref"))
    _replace_tasks(connection, changes.tasks)
    _put(connection, sessions, list(changes.sessions.values()))


def delete_session(connection: Connection, session_id: str) -> None:
    """Delete all rows projected from the log of one session."""
    for table in PROJECTIONS:
        owner = table.c.id if table is sessions else table.c.session_id
        connection.execute(delete(table).where(owner == session_id))
    connection.execute(delete(tasks).where(tasks.c.session_id == session_id, tasks.c.source == "sdk"))


def clear_projections(connection: Connection) -> None:
    """Delete all projected rows, and nothing else."""
    fulltext_dialects.delete_documents(connection)
    for table in PROJECTIONS:
        if table is not documents:
            connection.execute(delete(table))
    connection.execute(delete(tasks).where(tasks.c.source == "sdk"))


def upsert(dialect: str, table: Table, key: Sequence[str] = ()) -> Insert:
    """An insert into `table` that updates the row with the same key, if there is one."""
    make = postgres_insert if dialect == "postgresql" else sqlite_insert
    statement = make(table)
    keys = list(key) or [column.name for column in table.primary_key]
    changed: dict[str, Any] = {
        column.name: _merge(table, column.name, statement.excluded[column.name])
        for column in table.c
        if column.name not in keys and not column.primary_key
    }
    return statement.on_conflict_do_update(index_elements=keys, set_=changed)


def _put(connection: Connection, table: Table, rows: list[Row], key: Sequence[str] = ()) -> None:
    if rows:
        connection.execute(upsert(connection.dialect.name, table, key), rows)


def _merge(table: Table, name: str, new: ColumnElement[Any]) -> ColumnElement[Any]:
    old = table.c[name]
    if name in _SUMMED.get(table.name, ()):
        return old + new
    if name in _KEEP_FIRST.get(table.name, ()) or (table is tool_calls and name in _CALL_KEEP_FIRST):
        return func.coalesce(old, new)
    if name in _KEEP_LAST_KNOWN.get(table.name, ()):
        return func.coalesce(new, old)
    return new


def _replace_tasks(connection: Connection, lists: dict[str, list[Row]]) -> None:
    """Agents' task lists are replaced as a whole; tasks of people are never touched."""
    if not lists:
        return
    old_tasks = delete(tasks).where(tasks.c.session_id == bindparam("of"), tasks.c.source == text("'sdk'"))
    connection.execute(old_tasks, [{"of": session_id} for session_id in lists])
    rows = [row for todos in lists.values() for row in todos]
    if rows:
        connection.execute(insert(tasks), rows)
    for session_id, todos in lists.items():
        log.debug("session %s: replaced its tasks by %d", session_id, len(todos))
