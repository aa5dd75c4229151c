"""A session's log and transcript over HTTP, in pages; single tool calls; and restoring archived logs."""

import asyncio
from typing import Annotated, Any

from msgspec import Meta, Struct

from bobstay.model.event import Envelope
from bobstay.server.api.endpoint import ApiCall, Endpoint
from bobstay.server.db import transcript_pages
from bobstay.server.db.transcript_pages import CallRow, Transcript
from bobstay.server.errors import ApiError
from bobstay.server.sessions.session_view import SessionView
from bobstay.server.streams.text_cutting import LEAST, Cut, cut_entry

FLUSH_TIMEOUT = 2.0
MOST_EVENTS = 2_000


class EventsQuery(Struct, frozen=True):
    after: Annotated[int, Meta(ge=0, lt=2**53)] = 0
    """Only entries with a greater `seq`; 0 begins with the first."""
    limit: Annotated[int, Meta(ge=1, le=MOST_EVENTS)] = 500
    """Maximum number of entries."""
    before: Annotated[int, Meta(ge=0, lt=2**53)] | None = None
    """The page that ends before this `seq`; replaces `after`."""
    cut: Annotated[int, Meta(ge=0, le=2**31)] = 0
    """Maximum characters of a text, 0 for all; `cuts` lists the texts that were cut. Messages up to 200 KB stay."""


class SnapshotQuery(Struct, frozen=True):
    limit: Annotated[int, Meta(ge=1, le=MOST_EVENTS)] = 200
    """Maximum number of entries, from the end of the log."""
    cut: Annotated[int, Meta(ge=0, le=2**31)] = 0
    """Maximum characters of a text, 0 for all; `cuts` lists the texts that were cut. Messages up to 200 KB stay."""


class EventPage(Struct, frozen=True):
    events: tuple[Envelope, ...]
    seq: int
    """`seq` of the last entry of the log."""
    cuts: tuple[Cut, ...] = ()
    """The texts of these entries whose middle was cut out."""


class Snapshot(Struct, frozen=True):
    session: SessionView
    events: tuple[Envelope, ...]
    """The last entries; read earlier ones from `seq` of the first backwards."""
    parts: tuple[dict[str, Any], ...]
    seq: int
    cuts: tuple[Cut, ...] = ()
    """The texts of these entries whose middle was cut out."""


class RowsQuery(Struct, frozen=True):
    before: Annotated[int, Meta(ge=0, lt=2**53)] | None = None
    """Only rows before this one; take it from `before` of the previous page."""
    limit: Annotated[int, Meta(ge=1, le=200)] = 50
    """Maximum number of rows."""


async def snapshot(call: ApiCall) -> Snapshot:
    """Show the current state of a session; subscribe to a stream from `seq` on for later events."""
    registry = call.services.registry
    view = registry.view(call.path["id"])
    parts = tuple(call.services.streams.publisher.open_parts(view.id))
    reader = registry.reader(view.id)
    query: SnapshotQuery = call.query

    def read() -> tuple[tuple[Envelope, ...], tuple[Cut, ...]]:
        found = reader.read(max(view.seq - query.limit, 0))
        return _cut(tuple(entry for entry in found if entry.seq <= view.seq), query.cut)  # consistent with the view

    events, cuts = await asyncio.to_thread(read)
    return Snapshot(view, events, parts, events[-1].seq if events else 0, cuts)


async def events(call: ApiCall) -> EventPage:
    """List a page of the entries of a session's log, oldest first."""
    query: EventsQuery = call.query
    view = call.services.registry.view(call.path["id"])
    limit = min(max(query.limit, 1), MOST_EVENTS)
    reader = call.services.registry.reader(view.id)
    before = query.before
    after = max(query.after if before is None else before - limit - 1, 0)

    def read() -> tuple[tuple[Envelope, ...], tuple[Cut, ...]]:
        found = reader.read(after, limit)
        return _cut(tuple(entry for entry in found if before is None or entry.seq < before), query.cut)

    found, cuts = await asyncio.to_thread(read)
    return EventPage(found, view.seq, cuts)


def _cut(entries: tuple[Envelope, ...], limit: int) -> tuple[tuple[Envelope, ...], tuple[Cut, ...]]:
    if not limit:
        return entries, ()
    made = [cut_entry(entry, max(limit, LEAST)) for entry in entries]
    return tuple(entry for entry, _ in made), tuple(cut for _, cuts in made for cut in cuts)


async def list_rows(call: ApiCall) -> Transcript:
    """List a page of the transcript, newest first."""
    view = call.services.registry.view(call.path["id"])
    await call.services.database.wait_until_indexed(view.id, view.seq, FLUSH_TIMEOUT)
    return await transcript_pages.read_page(call.services.database, view.id, call.query.before, call.query.limit)


async def show_call(call: ApiCall) -> CallRow:
    """Show a tool call with its whole input and output."""
    view = call.services.registry.view(call.path["id"])
    await call.services.database.wait_until_indexed(view.id, view.seq, FLUSH_TIMEOUT)
    found = await transcript_pages.read_call(call.services.database, view.id, call.path["call_id"])
    if found is None:
        raise ApiError("not_found", "The session has no such tool call.")
    return found


async def restore(call: ApiCall) -> SessionView:
    """Restore the compressed log of an archived session."""
    registry, id = call.services.registry, call.path["id"]
    if not registry.view(id).stored:
        raise ApiError("wrong_state", "This session is not in the archive.", status=registry.view(id).status)
    await registry.unpack(id, by=call.principal.name)
    return registry.view(id)


ENDPOINTS = (
    Endpoint("GET", "/sessions/{id}/snapshot", snapshot, query=SnapshotQuery, returns=Snapshot),
    Endpoint("GET", "/sessions/{id}/events", events, query=EventsQuery, returns=EventPage),
    Endpoint("GET", "/sessions/{id}/rows", list_rows, query=RowsQuery, returns=Transcript),
    Endpoint("GET", "/sessions/{id}/calls/{call_id}", show_call, returns=CallRow),
    Endpoint(
        "POST",
        "/sessions/{id}/restore",
        restore,
        "operate",
        None,
        None,
        SessionView,
        200,
        ("conflict", "storage", "wrong_state"),
    ),
)
