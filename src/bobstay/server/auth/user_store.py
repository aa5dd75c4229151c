"""Store of users: their names, scopes, and passwords as Argon2 hashes."""

import asyncio
import re
from collections.abc import Callable, Iterable
from time import monotonic
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from sqlalchemy import Row, delete, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncEngine

from bobstay.server.auth.principal import Principal, Scope, scopes_of, scopes_text
from bobstay.server.db.own_tables import USERS

if TYPE_CHECKING:
    from argon2 import PasswordHasher

NAME = re.compile(r"[a-z0-9][a-z0-9._@+-]{0,63}", re.A)
RESERVED = frozenset({"owner", "local"})
SHORTEST_PASSWORD = 10
LONGEST_PASSWORD = 1_024
PREFIX = "user:"
"""Prefix of the client id of a user whom a reverse proxy authenticated."""
FRESH = 0.5
MOST_CACHED = 4_096


class User(Struct, frozen=True):
    name: str
    scopes: frozenset[Scope]
    created_at: float
    created_by: str
    has_password: bool

    @property
    def principal(self) -> Principal:
        """The principal of this user behind a trusted reverse proxy."""
        return Principal(self.name, self.scopes, PREFIX + self.name)


class UserStore:
    def __init__(self, engine: AsyncEngine, clock: Callable[[], float]) -> None:
        self._engine = engine
        self._clock = clock
        self._cache: dict[str, tuple[float, User]] = {}
        self._decoy = ""
        # A hash takes 19 MiB and a core for a while: more at once would be a denial of service.
        self._slots = asyncio.Semaphore(2)

    async def put(self, name: str, scopes: Iterable[Scope], password: str | None, by: str) -> User:
        """Create a user, or change their scopes. Without a password they keep the one they have.

        Raises:
            ValueError: the name or the password is invalid. The text is for people.
        """
        if NAME.fullmatch(name) is None or name in RESERVED:
            raise ValueError(
                "A name has up to 64 lowercase letters, digits and . _ @ + -, and is not `owner` or `local`."
            )
        values: dict[str, Any] = {"scopes": scopes_text(scopes)}
        if password is not None:
            values["password_hash"] = await self._hash(check_password(password))
        made = {"name": name, "created_at": self._clock(), "created_by": by}
        changed = update(USERS).where(USERS.c.name == name).values(values)
        try:
            async with self._engine.begin() as connection:
                if (await connection.execute(changed)).rowcount == 0:
                    await connection.execute(USERS.insert().values({**made, **values}))
        except IntegrityError:
            # The same name was created concurrently: the last write wins.
            async with self._engine.begin() as connection:
                await connection.execute(changed)
        self._cache.clear()
        user = await self.get(name)
        if user is None:
            raise ValueError(f"{name} was removed at the same time. Try again.")
        return user

    async def get(self, name: str) -> User | None:
        if NAME.fullmatch(name) is None:
            return None
        until, user = self._cache.get(name, (0.0, None))
        if user is not None and monotonic() < until:
            return user
        until = monotonic() + FRESH
        row = await self._row(name)
        if row is None:
            self._cache.pop(name, None)
            return None
        if len(self._cache) >= MOST_CACHED:
            self._cache.clear()
        self._cache[name] = (until, _user(row))
        return _user(row)

    async def list_users(self) -> list[User]:
        async with self._engine.connect() as connection:
            return [_user(row) for row in await connection.execute(select(USERS).order_by(USERS.c.name))]

    async def remove(self, name: str) -> bool:
        if NAME.fullmatch(name) is None:
            return False
        async with self._engine.begin() as connection:
            gone = (await connection.execute(delete(USERS).where(USERS.c.name == name))).rowcount
        self._cache.clear()
        return gone > 0

    async def verify(self, name: str, password: str) -> User | None:
        """The user, if name and password are right. Takes equally long for a name that does not exist."""
        if len(password) > LONGEST_PASSWORD:
            return None
        row = await self._row(name) if NAME.fullmatch(name) else None
        stored = row.password_hash if row is not None else None
        if not self._decoy:
            self._decoy = await self._hash("nobody has this password")
        async with self._slots:
            right = await asyncio.to_thread(_matches, stored or self._decoy, password)
        return _user(row) if right and row is not None and stored else None

    async def _row(self, name: str) -> "Row[Any] | None":
        async with self._engine.connect() as connection:
            return (await connection.execute(select(USERS).where(USERS.c.name == name))).first()

    async def _hash(self, password: str) -> str:
        async with self._slots:
            return await asyncio.to_thread(lambda: _hasher().hash(_bytes(password)))


def check_password(password: str) -> str:
    """Raises:
    ValueError: it is too short or too long. The text is for people.
    """
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise ValueError(f"A password has {SHORTEST_PASSWORD} to {LONGEST_PASSWORD} characters.")
    return password


def _matches(stored: str, password: str) -> bool:
    from argon2.exceptions import InvalidHashError, VerificationError

    try:
        return _hasher().verify(stored, _bytes(password))
    except (VerificationError, InvalidHashError):
        return False


def _hasher() -> "PasswordHasher":
    from argon2 import PasswordHasher

    return PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)


def _bytes(password: str) -> bytes:
    return password.encode("utf-8", "surrogatepass")


def _user(row: "Row[Any]") -> User:
    scopes = scopes_of(row.scopes.split(","))
    return User(row.name, scopes, row.created_at, row.created_by, row.password_hash is not None)
