"""Pages of a session's transcript, newest first: messages, tool calls with their results, and notices."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct
from sqlalchemy import RowMapping, and_, literal, select, union_all
from sqlalchemy.ext.asyncio import AsyncConnection

from bobstay.model.message import Usage
from bobstay.server.db.database import Database
from bobstay.server.db.projected_tables import messages, parts, sessions, tool_calls

MOST_ROWS = 200
SHOWN = 16 * 1024
"""Characters of one text or output in a page; `read_call` and the log have more."""

CallStatus: TypeAlias = Literal[
    "pending", "running", "completed", "error", "denied", "interrupted", "no_result", "no_call"
]
RowKind: TypeAlias = Literal["user", "harness", "assistant", "notice", "turn", "artifact", "raw", "result"]


class CallRow(Struct, frozen=True, omit_defaults=True):
    """A tool call: one row per id, however often the call or its result was reported."""

    id: str
    name: str
    status: CallStatus
    """`no_result`: the turn ended without one. `no_call`: there is a result, but no call."""
    input: Any = None
    input_length: int = 0
    """Of the whole input as JSON; long strings in `input` may be cut."""
    output: str = ""
    output_length: int = 0
    display: Any = None
    is_error: bool = False
    duration_ms: int = 0
    rev: int = 0
    """Number of results; the last one is shown."""
    agent: str = ""
    parent_call: str = ""
    seq: int = 0
    result_seq: int = 0
    at: float = 0.0


class PartRow(Struct, frozen=True, omit_defaults=True):
    place: int
    kind: Literal["text", "thinking", "image", "tool_call", "tool_reply"]
    seq: int
    text: str = ""
    length: int = 0
    """Of the whole; `text` may be cut."""
    media_type: str = ""
    partial: bool = False
    call: CallRow | None = None


class TranscriptRow(Struct, frozen=True, omit_defaults=True):
    seq: int
    """Its position in the session, and the cursor for older rows."""
    id: str
    kind: RowKind
    at: float
    changed: int
    """The last entry that changed it: later events of a stream are newer."""
    origin: str = ""
    agent: str = ""
    parent_call: str = ""
    model: str = ""
    stop: str = ""
    usage: Usage | None = None
    cost: float = 0.0
    parts: tuple[PartRow, ...] = ()
    data: Any = None


class Transcript(Struct, frozen=True):
    rows: tuple[TranscriptRow, ...]
    """Newest first."""
    seq: int
    """The last entry of the session that is included: a stream continues after it."""
    before: int | None
    """Cursor of the next, older page; none if this was the last."""


async def read_page(database: Database, session_id: str, before: int | None = None, limit: int = 50) -> Transcript:
    """One page of a session's transcript."""
    limit = max(1, min(limit, MOST_ROWS))
    async with database.read_transaction() as connection:
        turn = await _turn(connection, session_id)
        if turn is None:
            return Transcript((), 0, None)
        spots = await _spots(connection, session_id, before, limit)
        ids = [id for _, kind, id in spots if kind == "message"]
        found = {row["id"]: row for row in await _read(connection, _of(messages, session_id, "id", ids))}
        pieces = await _read(connection, _of(parts, session_id, "message_id", ids).order_by(parts.c.place))
        call_ids = [row["call_id"] for row in pieces if row["call_id"]]
        call_ids += [id for _, kind, id in spots if kind == "result"]
        called = await _read(connection, _of(tool_calls, session_id, "call_id", call_ids))
        calls = {row["call_id"]: row for row in called}
    made: list[TranscriptRow] = []
    for _, kind, id in spots:
        if kind == "result":
            made.append(_result_row(calls[id], turn))
        else:
            own = [row for row in pieces if row["message_id"] == id]
            made.append(_message_row(found[id], own, calls, turn))
    older = spots[-1][0] if len(spots) == limit else None
    return Transcript(tuple(made), turn["seq"], older)


async def read_call(database: Database, session_id: str, call_id: str) -> CallRow | None:
    """A call with all of the input and output that the tables keep."""
    async with database.read_transaction() as connection:
        turn = await _turn(connection, session_id)
        found = await _read(connection, _of(tool_calls, session_id, "call_id", [call_id]))
    return call_row(found[0], turn, shown=10**9) if turn is not None and found else None


def call_row(row: RowMapping, turn: RowMapping, shown: int = SHOWN) -> CallRow:
    output = row["output"] or ""
    return CallRow(
        id=row["call_id"],
        name=row["name"] or "",
        status=status_of(row, turn),
        input=_read_json(row["input"]) if row["input"] is not None and len(row["input"]) <= shown else _cut(row, shown),
        input_length=row["input_length"] or 0,
        output=output[:shown],
        output_length=row["output_length"] or 0,
        display=_read_json(row["display"]) if row["display"] and len(row["display"]) <= shown else None,
        is_error=bool(row["is_error"]),
        duration_ms=row["duration_ms"] or 0,
        rev=row["rev"],
        agent=row["agent"] or "",
        parent_call=row["parent_call"] or "",
        seq=row["called_seq"] or 0,
        result_seq=row["result_seq"] or 0,
        at=row["called_at"] or row["result_at"] or 0.0,
    )


def status_of(row: RowMapping, turn: RowMapping) -> CallStatus:
    """The status of a call. One without a result is pending only while its own turn runs."""
    if row["called_seq"] is None and row["started_seq"] is None:
        return "no_call"
    if row["result_seq"] is None:
        if not turn["in_turn"] or (row["called_seq"] or row["started_seq"]) < (turn["turn_seq"] or 0):
            return "no_result"
        return "pending" if row["started_seq"] is None else "running"
    if row["denied"]:
        return "denied"
    if row["interrupted"]:
        return "interrupted"
    return "error" if row["is_error"] else "completed"


async def _turn(connection: AsyncConnection, session_id: str) -> RowMapping | None:
    query = select(sessions.c.seq, sessions.c.in_turn, sessions.c.turn_seq).where(sessions.c.id == session_id)
    return (await connection.execute(query)).mappings().one_or_none()


async def _spots(
    connection: AsyncConnection, session_id: str, before: int | None, limit: int
) -> Sequence[tuple[int, str, str]]:
    """The rows on a page: messages, and results without a call, which would not be shown otherwise."""
    of_messages = select(messages.c.seq.label("seq"), literal("message").label("kind"), messages.c.id.label("id"))
    of_messages = of_messages.where(messages.c.session_id == session_id)
    of_results = select(tool_calls.c.result_seq, literal("result"), tool_calls.c.call_id)
    of_results = of_results.where(
        tool_calls.c.session_id == session_id,
        tool_calls.c.called_seq.is_(None),
        tool_calls.c.started_seq.is_(None),
        tool_calls.c.result_seq.is_not(None),
    )
    if before is not None:
        of_messages = of_messages.where(messages.c.seq < before)
        of_results = of_results.where(tool_calls.c.result_seq < before)
    spots = union_all(of_messages, of_results).subquery()
    query = select(spots.c.seq, spots.c.kind, spots.c.id).order_by(spots.c.seq.desc(), spots.c.id).limit(limit)
    return [(row.seq, row.kind, row.id) for row in await connection.execute(query)]


def _of(table: Any, session_id: str, column: str, ids: Iterable[str]) -> Any:
    return select(table).where(and_(table.c.session_id == session_id, table.c[column].in_(list(ids))))


async def _read(connection: AsyncConnection, query: Any) -> Sequence[RowMapping]:
    return (await connection.execute(query)).mappings().all()


def _message_row(
    row: RowMapping, pieces: list[RowMapping], calls: dict[str, RowMapping], turn: RowMapping
) -> TranscriptRow:
    made = tuple(_part_row(piece, calls, turn) for piece in pieces)
    changes = [row["changed"], *(part.seq for part in made)]
    changes += [max(part.call.seq, part.call.result_seq) for part in made if part.call is not None]
    return TranscriptRow(
        seq=row["seq"],
        id=row["id"],
        kind=row["kind"],
        at=row["at"],
        changed=max(changes),
        origin=row["origin"],
        agent=row["agent"],
        parent_call=row["parent_call"],
        model=row["model"] or "",
        stop=row["stop"] or "",
        usage=msgspec.json.decode(row["usage"], type=Usage) if row["usage"] else None,
        cost=row["cost"] or 0.0,
        parts=made,
        data=_read_json(row["data"]),
    )


def _part_row(piece: RowMapping, calls: dict[str, RowMapping], turn: RowMapping) -> PartRow:
    call = calls.get(piece["call_id"] or "")
    return PartRow(
        place=piece["place"],
        kind=piece["kind"],
        seq=piece["seq"],
        text=piece["text"][:SHOWN],
        length=piece["length"],
        media_type=piece["media_type"] or "",
        partial=piece["partial"],
        call=call_row(call, turn) if call is not None else None,
    )


def _result_row(row: RowMapping, turn: RowMapping) -> TranscriptRow:
    call = call_row(row, turn)
    part = PartRow(0, "tool_reply", call.result_seq, call=call)
    return TranscriptRow(call.result_seq, call.id, "result", call.at, call.result_seq, parts=(part,))


def _cut(row: RowMapping, shown: int) -> Any:
    """An input that is too long for a page, with its strings cut further."""
    from bobstay.server.db.storable_values import shorten_json

    whole = _read_json(row["input"])
    return None if whole is None else _read_json(shorten_json(whole, shown)[0])


def _read_json(text: str | None) -> Any:
    if text is None:
        return None
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None
