"""Lists interactions from the tables, filtered, sorted and in pages."""

from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct
from sqlalchemy import and_, or_, select, tuple_

from bobstay.server.db.database import Database
from bobstay.server.db.projected_tables import interactions, sessions
from bobstay.server.db.storable_values import decode_moment, encode_moment
from bobstay.server.errors import ApiError

MOST_LISTED = 200


State: TypeAlias = Literal["", "open", "decided", "allowed", "denied", "cancelled"]
"""Which interactions; empty for all. Those that are decided were allowed, denied or cancelled."""


class InteractionRow(Struct, frozen=True):
    """An interaction with its outcome."""

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
    """Most recently opened first."""
    cursor: str | None = None


async def list_interactions(
    database: Database, *, state: State = "", session_id: str = "", cursor: str = "", limit: int = 100
) -> InteractionPage:
    """A page of interactions. One whose turn ended without an answer counts as cancelled.

    Raises:
        ApiError: `invalid`, the cursor is malformed.
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
    position = tuple_(interactions.c.opened_at, interactions.c.opened_seq, interactions.c.session_id)
    if cursor:
        query = query.where(position < tuple_(*_read_cursor(cursor)))
    order = (column.desc() for column in position.clauses)
    async with database.read_transaction() as connection:
        rows = (await connection.execute(query.order_by(*order).limit(limit + 1))).mappings().all()
    last = rows[limit - 1] if len(rows) > limit else None
    more = None if last is None else f"{encode_moment(last['opened_at'])}_{last['opened_seq']}_{last['session_id']}"
    return InteractionPage(tuple(_interaction(row) for row in rows[:limit]), more)


def _interaction(row: Any) -> InteractionRow:
    over = row["over_seq"] is not None and row["opened_seq"] < row["over_seq"]
    state: Any = row["outcome"] or ("cancelled" if over else "open")
    texts = ("call_id", "tool", "input_sha256", "agent", "reason", "description", "by", "message")
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
        **{name: row[name] or "" for name in texts},
    )


def _read_cursor(cursor: str) -> tuple[float, int, str]:
    moment, _, rest = cursor.replace("\0", "").partition("_")
    seq, _, session_id = rest.partition("_")
    try:
        return decode_moment(moment), min(int(seq[:18]), 2**62), session_id
    except (ValueError, OverflowError):
        raise ApiError("invalid", "This cursor was not given by a list of interactions. Begin without one.") from None
