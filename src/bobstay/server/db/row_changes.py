"""Row changes: the rows that entries of a log insert or update, by table."""

from typing import Any

from msgspec import Struct

from bobstay.model.event import Envelope
from bobstay.server.sessions.session_view import SessionView

Row = dict[str, Any]


class LogEntry(Struct, frozen=True):
    """One entry of a session's log, and the view of the session after it."""

    session_id: str
    envelope: Envelope
    view: SessionView


class RowChanges(Struct):
    """Rows to upsert, in order. A row has all columns of its table; None keeps the stored value."""

    messages: list[Row] = []
    parts: list[Row] = []
    calls: list[Row] = []
    interactions: list[Row] = []
    usage: list[Row] = []
    artifacts: list[Row] = []
    inventories: list[Row] = []
    documents: list[Row] = []
    tasks: dict[str, list[Row]] = {}
    """Agents' task lists by session, each replacing the previous one."""
    sessions: dict[str, Row] = {}
