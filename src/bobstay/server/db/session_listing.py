"""Lists of sessions and of interactions from the tables, filtered, sorted and in pages."""

from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct
from sqlalchemy import and_, or_, select, tuple_

from bobstay.server.db.database import Database
from bobstay.server.db.fulltext_dialects import matches
from bobstay.server.db.projected_tables import documents, interactions, sessions
from bobstay.server.db.search_terms import terms
from bobstay.server.db.session_row import read_view
from bobstay.server.db.storable_values import exact, exactly
from bobstay.server.errors import ApiError
from bobstay.server.sessions.session_view import SessionView

MOST_LISTED = 200


class SessionPage(Struct, frozen=True):
    sessions: tuple[SessionView, ...]
    """Those that changed last first."""
    stored: tuple[str, ...]
    """Ids of those whose logs are in the archive."""
    cursor: str | None


async def list_sessions(
    database: Database,
    *,
    status: str = "",
    project: str = "",
    words: str = "",
    archived: bool | None = None,
    cursor: str = "",
    limit: int = 50,
) -> SessionPage:
    """A page of sessions.

    Raises:
        ApiError: `invalid`, the cursor is none of ours.
    """
    limit = max(1, min(limit, MOST_LISTED))
    query = select(sessions.c.id, sessions.c.updated_at, sessions.c.stored, sessions.c.view)
    if status:
        query = query.where(sessions.c.status == status.replace("\0", ""))
    if project:
        query = query.where(sessions.c.project == project.replace("\0", ""))
    if archived is not None:
        query = query.where(sessions.c.archived == archived)
    if words:
        wanted = terms(words)
        if not wanted:
            return SessionPage((), (), None)
        named = select(documents.c.session_id).where(documents.c.kind == "title")
        query = query.where(sessions.c.id.in_(named.where(matches(database.engines.dialect, wanted))))
    if cursor:
        at, id = _read_cursor(cursor)
        query = query.where(or_(sessions.c.updated_at < at, and_(sessions.c.updated_at == at, sessions.c.id < id)))
    query = query.order_by(sessions.c.updated_at.desc(), sessions.c.id.desc()).limit(limit + 1)
    async with database.reading() as connection:
        rows = (await connection.execute(query)).all()
    last = rows[limit - 1] if len(rows) > limit else None
    views = tuple(view for row in rows[:limit] if (view := read_view(row.view)) is not None)
    stored = tuple(row.id for row in rows[:limit] if row.stored)
    return SessionPage(views, stored, None if last is None else f"{exactly(last.updated_at)}_{last.id}")


State: TypeAlias = Literal["", "open", "decided", "allowed", "denied", "cancelled"]
"""Which interactions; empty for all. Those that are decided were allowed, denied or cancelled."""


class InteractionRow(Struct, frozen=True):
    """Something a person was needed for, with how it ended."""

    session_id: str
    session_title: str
    cwd: str
    id: str
    kind: Literal["permission", "question", "plan"]
    state: Literal["open", "allowed", "denied", "cancelled"]
    call_id: str
    tool: str
    input: Any
    input_sha256: str
    agent: str
    reason: str
    description: str
    opened_seq: int
    opened_at: float
    by: str
    message: str
    changed_input: Any
    closed_seq: int
    closed_at: float


class InteractionPage(Struct, frozen=True):
    interactions: tuple[InteractionRow, ...]
    """Those opened last first."""
    cursor: str | None = None


async def list_interactions(
    database: Database, *, state: State = "", session_id: str = "", cursor: str = "", limit: int = 100
) -> InteractionPage:
    """A page of interactions. One whose turn is over without an answer counts as cancelled.

    Raises:
        ApiError: `invalid`, the cursor is none of ours.
    """
    limit = max(1, min(limit, MOST_LISTED))
    about = (sessions.c.over_seq, sessions.c.title, sessions.c.cwd)
    query = select(interactions, *about).join(sessions, sessions.c.id == interactions.c.session_id)
    query = query.where(interactions.c.opened_seq.is_not(None))
    unanswered = interactions.c.closed_seq.is_(None)
    lapsed = interactions.c.opened_seq < sessions.c.over_seq
    if state == "open":
        query = query.where(unanswered, or_(sessions.c.over_seq.is_(None), ~lapsed))
    elif state == "decided":
        query = query.where(or_(interactions.c.outcome.is_not(None), and_(unanswered, lapsed)))
    elif state == "cancelled":
        query = query.where(or_(interactions.c.outcome == state, and_(unanswered, lapsed)))
    elif state:
        query = query.where(interactions.c.outcome == state)
    if session_id:
        query = query.where(interactions.c.session_id == session_id)
    place = tuple_(interactions.c.opened_at, interactions.c.opened_seq, interactions.c.session_id)
    if cursor:
        query = query.where(place < tuple_(*_read_place(cursor)))
    order = (column.desc() for column in place.clauses)
    async with database.reading() as connection:
        rows = (await connection.execute(query.order_by(*order).limit(limit + 1))).mappings().all()
    last = rows[limit - 1] if len(rows) > limit else None
    more = None if last is None else f"{exactly(last['opened_at'])}_{last['opened_seq']}_{last['session_id']}"
    return InteractionPage(tuple(_interaction(row) for row in rows[:limit]), more)


def _interaction(row: Any) -> InteractionRow:
    over = row["over_seq"] is not None and row["opened_seq"] < row["over_seq"]
    state: Any = row["outcome"] or ("cancelled" if over else "open")
    words = ("call_id", "tool", "input_sha256", "agent", "reason", "description", "by", "message")
    return InteractionRow(
        session_id=row["session_id"],
        session_title=row["title"],
        cwd=row["cwd"],
        id=row["id"],
        kind=row["kind"] or "permission",
        state=state,
        input=msgspec.json.decode(row["input"] or "null"),
        changed_input=msgspec.json.decode(row["changed_input"] or "null"),
        opened_seq=row["opened_seq"],
        opened_at=row["opened_at"],
        closed_seq=row["closed_seq"] or 0,
        closed_at=row["closed_at"] or 0.0,
        **{name: row[name] or "" for name in words},
    )


def _read_place(cursor: str) -> tuple[float, int, str]:
    moment, _, rest = cursor.replace("\0", "").partition("_")
    seq, _, session_id = rest.partition("_")
    try:
        return exact(moment), min(int(seq[:18]), 2**62), session_id
    except (ValueError, OverflowError):
        raise ApiError("invalid", "This cursor was not given by a list of interactions. Begin without one.") from None


def _read_cursor(cursor: str) -> tuple[float, str]:
    moment, _, id = cursor.replace("\0", "").partition("_")
    try:
        return exact(moment), id
    except (ValueError, OverflowError):
        raise ApiError("invalid", "This cursor was not given by a list of sessions. Begin without one.") from None
