"""What an entry of a log changes in the tables, as data: which rows are put, in which table."""

from typing import Any

from msgspec import Struct

from bobstay.model.event import Envelope
from bobstay.server.sessions.session_view import SessionView

Row = dict[str, Any]


class LogEntry(Struct, frozen=True):
    """One entry of a session's log, and the session after it."""

    session_id: str
    envelope: Envelope
    view: SessionView


class RowChanges(Struct):
    """Rows to be put, in order. A row has all columns of its table; None leaves what is there."""

    messages: list[Row] = []
    parts: list[Row] = []
    calls: list[Row] = []
    interactions: list[Row] = []
    usage: list[Row] = []
    artifacts: list[Row] = []
    surroundings: list[Row] = []
    documents: list[Row] = []
    tasks: dict[str, list[Row]] = {}
    """The agents' lists by session, each replacing the one before."""
    sessions: dict[str, Row] = {}
