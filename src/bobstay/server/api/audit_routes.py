"""The audit trail over HTTP, for those who run the server."""

import asyncio
from contextlib import suppress
from typing import Annotated

from msgspec import Meta, Struct

from bobstay.server.api.endpoint import ApiCall, Endpoint
from bobstay.server.db.audit_reader import MOST_ENTRIES, AuditPage, trail

Name = Annotated[str, Meta(max_length=200)]


class AuditQuery(Struct, frozen=True):
    before: Annotated[int, Meta(ge=1)] | None = None
    """Only entries older than the one with this id: `before` of the page that was answered last."""
    limit: Annotated[int, Meta(ge=1, le=MOST_ENTRIES)] = 100
    """Entries on a page at most."""
    who: Name = ""
    """Only what this person did; empty for everybody."""
    what: Name = ""
    """Only deeds of this kind, such as `create` or `refused`; empty for all."""
    session_id: Name = ""
    """Only what was done to this session; empty for all."""


async def get_audit(call: ApiCall) -> AuditPage:
    """List who did what, newest first."""
    query: AuditQuery = call.query
    database = call.console.database
    with suppress(TimeoutError):  # whoever did something sees it here, unless the database is slow
        await asyncio.wait_for(database.audit.written(), 1.0)
    return await trail(database, query.before, query.limit, who=query.who, what=query.what, session=query.session_id)


ENDPOINTS = (Endpoint("GET", "/audit", get_audit, scope="admin", query=AuditQuery, returns=AuditPage),)
