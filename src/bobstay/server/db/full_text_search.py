"""Full-text search over the transcripts of all sessions."""

from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import RowMapping, Table, and_, or_, select, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from bobstay.server.db.database import Database
from bobstay.server.db.fulltext_dialects import matches
from bobstay.server.db.projected_tables import artifacts, documents, parts, sessions, tool_calls
from bobstay.server.db.search_terms import Excerpt, excerpt, terms
from bobstay.server.db.storable_values import collect_strings, decode_moment, encode_moment
from bobstay.server.errors import ApiError

MOST_HITS = 100


class SearchHit(Struct, frozen=True):
    session_id: str
    session_title: str
    seq: int
    """The entry in the session's log."""
    kind: str
    """`title`, `text`, `thinking`, `call`, `result` or `artifact`."""
    ref: str
    """The message and its part, the call or the artifact."""
    at: float
    excerpt: Excerpt
    stored: bool = False
    """The session's log is in the archive."""


class SearchResults(Struct, frozen=True):
    hits: tuple[SearchHit, ...]
    """Newest first."""
    words: tuple[str, ...]
    """The normalised search terms; nothing is found if there are none."""
    cursor: str | None = None
    """Cursor of the next page; none if this was the last."""


async def search(
    database: Database, query: str, session_id: str = "", cursor: str = "", limit: int = 20
) -> SearchResults:
    """Search for all words of `query`, in one session if it is named. No query is invalid.

    Raises:
        ApiError: `invalid`, the cursor is malformed.
    """
    limit = max(1, min(limit, MOST_HITS))
    wanted = terms(query)
    if not wanted:
        return SearchResults((), ())
    asked = select(documents, sessions.c.title, sessions.c.stored, sessions.c.view).join(
        sessions, sessions.c.id == documents.c.session_id
    )
    asked = asked.where(matches(database.engines.dialect, wanted))
    if session_id:
        asked = asked.where(documents.c.session_id == session_id)
    if cursor:
        at, id = _read_cursor(cursor)
        asked = asked.where(or_(documents.c.at < at, and_(documents.c.at == at, documents.c.id < id)))
    asked = asked.order_by(documents.c.at.desc(), documents.c.id.desc()).limit(limit + 1)
    async with database.read_transaction() as connection:
        rows = (await connection.execute(asked)).mappings().all()
        texts = await _texts(connection, rows[:limit])
    hits = tuple(
        SearchHit(
            row["session_id"],
            row["title"],
            row["seq"],
            row["kind"],
            row["ref"],
            row["at"],
            excerpt(text, wanted),
            row["stored"],
        )
        for row, text in zip(rows, texts, strict=False)
    )
    last = rows[limit - 1] if len(rows) > limit else None
    words = tuple(" ".join(term.words) for term in wanted)
    return SearchResults(hits, words, None if last is None else f"{encode_moment(last['at'])}_{last['id']}")


def _read_cursor(cursor: str) -> tuple[float, int]:
    moment, _, id = cursor.partition("_")
    try:
        return decode_moment(moment), min(int(id[:18]), 2**62)
    except (ValueError, OverflowError):
        raise ApiError("invalid", "This cursor was not given by a search. Begin without one.") from None


async def _texts(connection: AsyncConnection, rows: Any) -> list[str]:
    """The texts of the hits, each read from the table of its kind."""
    of_parts = await _fetch(connection, parts, ("message_id", "place"), rows, ("text", "thinking"))
    of_calls = await _fetch(connection, tool_calls, ("call_id",), rows, ("call", "result"))
    of_artifacts = await _fetch(connection, artifacts, ("id",), rows, ("artifact",))
    found: list[str] = []
    for row in rows:
        where = (row["session_id"], row["ref"])
        match row["kind"]:
            case "text" | "thinking":
                found.append(of_parts[where]["text"] if where in of_parts else "")
            case "call" | "result":
                found.append(_of_call(of_calls.get(where), row["kind"]))
            case "artifact":
                known = of_artifacts.get(where)
                found.append("" if known is None else f"{known['title']}\n{known['text']}")
            case _:
                found.append(_of_title(row))
    return found


async def _fetch(
    connection: AsyncConnection, table: Table, columns: tuple[str, ...], rows: Any, kinds: tuple[str, ...]
) -> dict[tuple[str, str], RowMapping]:
    keys: set[tuple[Any, ...]] = set()
    for row in rows:
        if row["kind"] in kinds:
            ref = row["ref"]
            key = (ref,) if len(columns) == 1 else (ref.rpartition("/")[0], int(ref.rpartition("/")[2]))
            keys.add((row["session_id"], *key))
    if not keys:
        return {}
    columns_of_key = [table.c.session_id, *(table.c[name] for name in columns)]
    query = select(table).where(tuple_(*columns_of_key).in_(sorted(keys)))
    found = (await connection.execute(query)).mappings().all()
    return {(row["session_id"], "/".join(str(row[name]) for name in columns)): row for row in found}


def _of_call(row: RowMapping | None, kind: str) -> str:
    if row is None:
        return ""
    if kind == "result":
        return row["output"] or ""
    try:
        given = msgspec.json.decode(row["input"] or "null")
    except (msgspec.DecodeError, RecursionError):
        given = None
    return f"{row['name'] or ''}\n{collect_strings(given)}"


def _of_title(row: RowMapping) -> str:
    from bobstay.server.db.session_row import read_view

    view = read_view(row["view"])
    return row["title"] if view is None else f"{view.title}\n{view.first_prompt}"
