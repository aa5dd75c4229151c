"""Tables of the doors: who may come in. They are nobody's projection, and hold no secret, only hashes."""

from sqlalchemy import Column, Double, Index, String, Table
from sqlalchemy.ext.asyncio import AsyncEngine

from bobstay.server.index.tables import METADATA

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
"""People of a team. Without a password only a trusted reverse proxy can bring them in."""


async def prepare(engine: AsyncEngine) -> None:
    """See to it that the tables are there: a database may have been made by a command that knew nothing of doors."""
    async with engine.begin() as connection:
        await connection.run_sync(METADATA.create_all, tables=[CLIENTS, CODES, USERS], checkfirst=True)
