"""Reads the audit log, newest entries first."""

from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import select

from bobstay.server.db.database import Database
from bobstay.server.db.own_tables import audit

MOST_ENTRIES = 500


class AuditEntry(Struct, frozen=True):
    id: int
    at: float
    who: str
    what: str
    session_id: str
    detail: dict[str, Any]


class AuditPage(Struct, frozen=True):
    entries: tuple[AuditEntry, ...]
    """Newest first."""
    before: int | None
    """Cursor of the next, older page; none if this was the last."""


async def read_audit_log(
    database: Database, before: int | None = None, limit: int = 100, *, who: str = "", what: str = "", session: str = ""
) -> AuditPage:
    """A page of the audit log, optionally of one principal (`who`), one action (`what`) or one session."""
    limit = max(1, min(limit, MOST_ENTRIES))
    query = select(audit).order_by(audit.c.id.desc()).limit(limit)
    if before is not None:
        query = query.where(audit.c.id < min(max(before, 0), 2**62))
    for column, wanted in ((audit.c.who, who), (audit.c.what, what), (audit.c.session_id, session)):
        if wanted:
            query = query.where(column == wanted.replace("\0", ""))
    async with database.read_transaction() as connection:
        rows = (await connection.execute(query)).mappings().all()
    entries = tuple(AuditEntry(**{**row, "detail": msgspec.json.decode(row["detail"])}) for row in rows)
    return AuditPage(entries, entries[-1].id if len(entries) == limit else None)
