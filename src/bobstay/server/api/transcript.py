"""A session's transcript over HTTP, in pages and whole calls; and logs brought back from the archive."""

from typing import Annotated

from msgspec import Meta, Struct

from bobstay.server.api.table import Call, Endpoint
from bobstay.server.errors import ApiError
from bobstay.server.index import retention, transcript
from bobstay.server.index.transcript import CallRow, Transcript
from bobstay.server.recover import as_seen
from bobstay.server.sessions.registry import fold_file
from bobstay.server.sessions.view import SessionView

PATIENCE = 2.0


class RowsQuery(Struct, frozen=True):
    before: Annotated[int, Meta(ge=0, lt=2**53)] | None = None
    limit: Annotated[int, Meta(ge=1, le=200)] = 50


async def list_rows(call: Call) -> Transcript:
    """A page of the transcript, newest first."""
    view = call.console.registry.view(call.path["id"])
    await call.console.database.flushed(view.id, view.seq, PATIENCE)
    return await transcript.rows(call.console.database, view.id, call.query.before, call.query.limit)


async def show_call(call: Call) -> CallRow:
    """One call of a tool with its whole input and output."""
    view = call.console.registry.view(call.path["id"])
    await call.console.database.flushed(view.id, view.seq, PATIENCE)
    found = await transcript.whole_call(call.console.database, view.id, call.path["call_id"])
    if found is None:
        raise ApiError("not_found", "The session has no such call.")
    return found


async def restore(call: Call) -> SessionView:
    """Bring a session back from the archive of old ones."""
    registry, id = call.console.registry, call.path["id"]
    await retention.restore(call.console.database, registry.store, id, by=call.principal.name)
    registry.learn(as_seen(registry, fold_file(registry.store, id)))
    return registry.view(id)


ENDPOINTS = (
    Endpoint("GET", "/sessions/{id}/rows", list_rows, query=RowsQuery, returns=Transcript),
    Endpoint("GET", "/sessions/{id}/calls/{call_id}", show_call, returns=CallRow),
    Endpoint(
        "POST", "/sessions/{id}/restore", restore, "operate", None, None, SessionView, 200, ("conflict", "storage")
    ),
)
