"""Store of clients: creates, looks up and revokes tokens and browser cookies, of which only hashes are stored."""

from collections.abc import Callable, Iterable
from time import monotonic
from typing import Any, Literal, TypeAlias

from msgspec import Struct
from sqlalchemy import Row, or_, select, update
from sqlalchemy.ext.asyncio import AsyncEngine

from bobstay.server.auth.credential_hashes import digest, hashes_equal, is_id, new_id, new_secret
from bobstay.server.auth.principal import Principal, Scope, scopes_of, scopes_text
from bobstay.server.db.own_tables import CLIENTS

Kind: TypeAlias = Literal["token", "browser"]
FRESH = 0.5
"""Seconds a looked-up client is cached. Another process may revoke it."""
MOST_CACHED = 4_096


class AuthClient(Struct, frozen=True):
    id: str
    kind: Kind
    who: str
    label: str
    scopes: frozenset[Scope]
    created_at: float
    created_by: str
    expires_at: float | None = None
    last_seen: float | None = None

    @property
    def principal(self) -> Principal:
        return Principal(self.who, self.scopes, self.id)


class ClientStore:
    def __init__(self, engine: AsyncEngine, clock: Callable[[], float]) -> None:
        self._engine = engine
        self._clock = clock
        self._cache: dict[str, tuple[float, AuthClient]] = {}
        self._seen: dict[str, float] = {}

    async def create(
        self, kind: Kind, who: str, scopes: Iterable[Scope], *, label: str, by: str, lifetime: float | None
    ) -> tuple[AuthClient, str]:
        """A new client and its secret, which cannot be read again. `lifetime` None means until it is revoked."""
        now = self._clock()
        secret = new_secret()
        expires = None if lifetime is None else now + lifetime
        client = AuthClient(new_id(), kind, who, label, frozenset(scopes), now, by, expires)
        row = {
            "id": client.id,
            "kind": kind,
            "who": who,
            "label": label,
            "secret_sha256": digest(secret),
            "scopes": scopes_text(scopes),
            "created_at": now,
            "created_by": by,
            "expires_at": expires,
        }
        async with self._engine.begin() as connection:
            await connection.execute(CLIENTS.insert().values(row))
        return client, secret

    async def by_secret(self, secret: str, kind: Kind) -> AuthClient | None:
        """The active client with this secret. A token is not accepted as a cookie, nor a cookie as a token."""
        key = digest(secret)
        client = await self._cached("secret_sha256", key)
        return client if client is not None and client.kind == kind else None

    async def by_id(self, id: str) -> AuthClient | None:
        return await self._cached("id", id) if is_id(id) else None

    async def active_ids(self, ids: Iterable[str]) -> set[str]:
        """Those of `ids` that are neither revoked nor expired, read from the tables."""
        wanted = list(ids)
        found: set[str] = set()
        async with self._engine.connect() as connection:
            for start in range(0, len(wanted), 500):
                query = select(CLIENTS.c.id).where(CLIENTS.c.id.in_(wanted[start : start + 500]), *self._alive())
                found.update((await connection.execute(query)).scalars())
        return found

    async def list_clients(self, who: str | None = None) -> list[AuthClient]:
        """Active clients, newest first; of one person, if one is given."""
        query = select(CLIENTS).where(*self._alive()).order_by(CLIENTS.c.created_at.desc()).limit(1_000)
        if who is not None:
            query = query.where(CLIENTS.c.who == who)
        async with self._engine.connect() as connection:
            return [_client(row) for row in await connection.execute(query)]

    async def revoke(self, id: str) -> bool:
        """Revoke a client. Returns whether it was active."""
        return is_id(id) and bool(await self._revoke(CLIENTS.c.id == id))

    async def revoke_all_of(self, who: str) -> list[str]:
        """Revoke all clients of a person. Returns their ids."""
        return await self._revoke(CLIENTS.c.who == who)

    async def store_last_seen(self) -> None:
        """Store when each client was last seen."""
        seen, self._seen = self._seen, {}
        if seen:
            async with self._engine.begin() as connection:
                for id, at in seen.items():
                    await connection.execute(update(CLIENTS).where(CLIENTS.c.id == id).values(last_seen=at))

    async def _cached(self, column: Literal["secret_sha256", "id"], key: str) -> AuthClient | None:
        until, client = self._cache.get(f"{column}:{key}", (0.0, None))
        if client is None or monotonic() >= until:
            client = await self._look_up(column, key)
        if client is None or (client.expires_at is not None and client.expires_at <= self._clock()):
            return None
        self._seen[client.id] = self._clock()
        return client

    async def _look_up(self, column: Literal["secret_sha256", "id"], key: str) -> AuthClient | None:
        # Counted from before the query: a client revoked meanwhile must not be cached for longer.
        until = monotonic() + FRESH
        async with self._engine.connect() as connection:
            row = (await connection.execute(select(CLIENTS).where(CLIENTS.c[column] == key, *self._alive()))).first()
        if row is None or not hashes_equal(getattr(row, column), key):
            self._cache.pop(f"{column}:{key}", None)
            return None
        if len(self._cache) >= MOST_CACHED:
            self._cache.clear()
        client = _client(row)
        self._cache[f"{column}:{key}"] = (until, client)
        return client

    async def _revoke(self, condition: Any) -> "list[str]":
        statement = update(CLIENTS).where(condition, *self._alive()).values(revoked_at=self._clock())
        async with self._engine.begin() as connection:
            gone = list((await connection.execute(statement.returning(CLIENTS.c.id))).scalars())
        self._cache.clear()
        return gone

    def _alive(self) -> tuple[Any, Any]:
        unexpired = or_(CLIENTS.c.expires_at.is_(None), CLIENTS.c.expires_at > self._clock())
        return CLIENTS.c.revoked_at.is_(None), unexpired


def _client(row: "Row[Any]") -> AuthClient:
    return AuthClient(
        row.id,
        row.kind,
        row.who,
        row.label,
        scopes_of(row.scopes.split(",")),
        row.created_at,
        row.created_by,
        row.expires_at,
        row.last_seen,
    )
