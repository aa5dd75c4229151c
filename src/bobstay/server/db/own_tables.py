"""Tables that are not projections: users, tokens, drafts and others. A rebuild keeps them."""

from sqlalchemy import Boolean, Column, Double, Index, Integer, String, Table, Text, UniqueConstraint, text
from sqlalchemy import false as sql_false
from sqlalchemy.ext.asyncio import AsyncEngine

from bobstay.server.db.projected_tables import (
    METADATA,
    amount_column,
    count_column,
    key_column,
    row_number,
    text_column,
)

recent_dirs = Table(
    "recent_dirs",
    METADATA,
    Column("path", String(2000), primary_key=True),
    amount_column("used_at"),
    count_column("uses"),
)
"""Of the first schema, and no longer used: recent directories are computed from the sessions."""

idempotency = Table(
    "idempotency",
    METADATA,
    key_column("who"),
    key_column("key"),
    Column("fingerprint", String(64), nullable=False, doc="Of the request: one key is good for one request."),
    amount_column("at"),
    Column("status", Integer, doc="Empty while the first request still runs."),
    Column("body", Text),
)
Index("ix_idempotency_at", idempotency.c.at)

audit = Table(
    "audit",
    METADATA,
    Column("id", row_number, primary_key=True, autoincrement=True),
    amount_column("at"),
    text_column("who"),
    text_column("what"),
    text_column("session_id"),
    Column("detail", Text, nullable=False, server_default=text("'{}'")),
)
Index("ix_audit_session", audit.c.session_id, audit.c.id)

session_env = Table(
    "session_env",
    METADATA,
    key_column("session_id"),
    key_column("name"),
    text_column("value"),
)

push_subscriptions = Table(
    "push_subscriptions",
    METADATA,
    key_column("id"),
    text_column("who"),
    Column("endpoint", String(2000), nullable=False),
    text_column("keys"),
    amount_column("created_at"),
    Column("client", Text, nullable=False, server_default=text("''"), doc="Its owner: removed when that is revoked."),
    text_column("label"),
    Column(
        "completed", Boolean, nullable=False, server_default=sql_false(), doc="Also notifies when work is completed."
    ),
    UniqueConstraint("endpoint"),
)

settings = Table(
    "settings",
    METADATA,
    key_column("name"),
    text_column("value"),
    amount_column("updated_at"),
    text_column("by"),
)
"""What the database knows about itself: `index.version` and `index.home`."""

CLIENTS = Table(
    "auth_clients",
    METADATA,
    Column("id", String(32), primary_key=True),
    Column("kind", String(16), nullable=False),
    Column("who", String(200), nullable=False),
    Column("label", String(200), nullable=False),
    Column("secret_sha256", String(64), nullable=False, unique=True),
    Column("scopes", String(100), nullable=False),
    Column("created_at", Double, nullable=False),
    Column("created_by", String(200), nullable=False),
    Column("expires_at", Double, nullable=True),
    Column("last_seen", Double, nullable=True),
    Column("revoked_at", Double, nullable=True),
    Index("auth_clients_who", "who"),
)
"""Tokens of scripts and cookies of browsers."""

CODES = Table(
    "auth_codes",
    METADATA,
    Column("code_sha256", String(64), primary_key=True),
    Column("who", String(200), nullable=False),
    Column("label", String(200), nullable=False),
    Column("scopes", String(100), nullable=False),
    Column("created_by", String(200), nullable=False),
    Column("expires_at", Double, nullable=False),
    Column("lifetime", Double, nullable=False),
    Column("used_at", Double, nullable=True),
)
"""One-time codes. `lifetime` is that of the cookie a code is exchanged for."""

USERS = Table(
    "auth_users",
    METADATA,
    Column("name", String(64), primary_key=True),
    Column("password_hash", String(256), nullable=True),
    Column("scopes", String(100), nullable=False),
    Column("created_at", Double, nullable=False),
    Column("created_by", String(200), nullable=False),
)
"""Users of a team. Users without a password can only sign in through a trusted reverse proxy."""

drafts = Table(
    "drafts",
    METADATA,
    key_column("who"),
    key_column("session_id"),
    text_column("text"),
    amount_column("updated_at"),
)
"""Unsent messages of a person to a session; nobody else sees them."""

OWN: tuple[Table, ...] = (
    recent_dirs,
    idempotency,
    audit,
    session_env,
    push_subscriptions,
    settings,
    CLIENTS,
    CODES,
    USERS,
    drafts,
)
"""All such tables; with people's rows in `tasks`, all that must be salvaged from a damaged database."""


async def prepare(engine: AsyncEngine) -> None:
    """Create the tables of authentication where they are missing."""
    async with engine.begin() as connection:
        await connection.run_sync(METADATA.create_all, tables=[CLIENTS, CODES, USERS], checkfirst=True)
