"""Drafts of unsent messages, by person and session. Each person sees only their own; they are in no log."""

import time

from msgspec import Struct
from sqlalchemy import delete, select

from bobstay.server.db.apply_changes import upsert
from bobstay.server.db.database import Database
from bobstay.server.db.own_tables import drafts
from bobstay.server.db.storable_values import bounded_id, clean

LONGEST = 256 * 1024
"""Characters of one draft."""


class Draft(Struct, frozen=True):
    text: str = ""
    updated_at: float = 0.0


async def draft_of(database: Database, who: str, session_id: str) -> Draft:
    """The draft, or an empty one."""
    mine = (drafts.c.who == bounded_id(who)) & (drafts.c.session_id == session_id)
    async with database.read_transaction() as connection:
        row = (await connection.execute(select(drafts.c.text, drafts.c.updated_at).where(mine))).one_or_none()
    return Draft() if row is None else Draft(row.text, row.updated_at)


async def save_draft(database: Database, who: str, session_id: str, text: str) -> Draft:
    """Replace the draft; an empty text removes it."""
    mine = (drafts.c.who == bounded_id(who)) & (drafts.c.session_id == session_id)
    draft = Draft(clean(text, LONGEST), time.time()) if text else Draft()
    async with database.write_transaction() as connection:
        if not text:
            await connection.execute(delete(drafts).where(mine))
            return draft
        row = {"who": bounded_id(who), "session_id": session_id, "text": draft.text, "updated_at": draft.updated_at}
        await connection.execute(upsert(database.engines.dialect, drafts), [row])
    return draft


async def drop_drafts(database: Database, session_id: str) -> None:
    """Delete all drafts for a session that no longer exists."""
    async with database.write_transaction() as connection:
        await connection.execute(delete(drafts).where(drafts.c.session_id == session_id))
