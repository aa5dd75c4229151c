"""The audit log over HTTP, for admins."""

import asyncio
from contextlib import suppress
from typing import Annotated

from msgspec import Meta, Struct

from bobstay.server.api.endpoint import ApiCall, Endpoint
from bobstay.server.db.audit_reader import MOST_ENTRIES, AuditPage, read_audit_log

Name = Annotated[str, Meta(max_length=200)]


class AuditQuery(Struct, frozen=True):
    before: Annotated[int, Meta(ge=1)] | None = None
    """Only entries older than the one with this id; take it from `before` of the previous page."""
    limit: Annotated[int, Meta(ge=1, le=MOST_ENTRIES)] = 100
    """Maximum number of entries."""
    who: Name = ""
    """Only actions of this person; empty for everybody."""
    what: Name = ""
    """Only actions of this kind, such as `create` or `refused`; empty for all."""
    session_id: Name = ""
    """Only actions on this session; empty for all."""


async def get_audit(call: ApiCall) -> AuditPage:
    """List the entries of the audit log, newest first."""
    query: AuditQuery = call.query
    database = call.services.database
    with suppress(TimeoutError):  # so that people see their own last action, unless the database is slow
        await asyncio.wait_for(database.audit.wait_until_written(), 1.0)
    return await read_audit_log(
        database, query.before, query.limit, who=query.who, what=query.what, session=query.session_id
    )


ENDPOINTS = (Endpoint("GET", "/audit", get_audit, scope="admin", query=AuditQuery, returns=AuditPage),)
