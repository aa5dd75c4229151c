"""Store of one-time codes, each of which is exchanged once for a cookie."""

from collections.abc import Callable, Iterable

from msgspec import Struct
from sqlalchemy import delete, update
from sqlalchemy.ext.asyncio import AsyncEngine

from bobstay.server.auth.credential_hashes import digest, new_code
from bobstay.server.auth.principal import Scope, scopes_of, scopes_text
from bobstay.server.db.own_tables import CODES

DAY = 86_400.0
COOKIE_LIFETIME = 30 * DAY


class IssuedCode(Struct, frozen=True):
    """The client that a code creates when it is redeemed."""

    who: str
    label: str
    scopes: frozenset[Scope]
    created_by: str
    lifetime: float


class OneTimeCodes:
    def __init__(self, engine: AsyncEngine, clock: Callable[[], float]) -> None:
        self._engine = engine
        self._clock = clock

    async def issue(
        self, who: str, scopes: Iterable[Scope], *, label: str, by: str, expires_in: float, lifetime: float
    ) -> tuple[str, float]:
        """A new code and when it expires. The cookie it is exchanged for lasts `lifetime` seconds."""
        now = self._clock()
        secret = new_code()
        row = {
            "code_sha256": digest(secret),
            "who": who,
            "label": label,
            "scopes": scopes_text(scopes),
            "created_by": by,
            "expires_at": now + expires_in,
            "lifetime": lifetime,
        }
        async with self._engine.begin() as connection:
            await connection.execute(delete(CODES).where(CODES.c.expires_at < now - DAY))
            await connection.execute(CODES.insert().values(row))
        return secret, now + expires_in

    async def revoke_unused(self, label: str) -> None:
        """Delete the unused codes with this label."""
        statement = delete(CODES).where(CODES.c.label == label, CODES.c.used_at.is_(None))
        async with self._engine.begin() as connection:
            await connection.execute(statement)

    async def redeem(self, secret: str) -> IssuedCode | None:
        """Use up a code. Of concurrent requests with the same code one succeeds, decided by the update."""
        now = self._clock()
        unused = (CODES.c.used_at.is_(None), CODES.c.expires_at > now)
        statement = update(CODES).where(CODES.c.code_sha256 == digest(secret), *unused).values(used_at=now)
        async with self._engine.begin() as connection:
            row = (await connection.execute(statement.returning(CODES))).first()
        if row is None:
            return None
        return IssuedCode(row.who, row.label, scopes_of(row.scopes.split(",")), row.created_by, row.lifetime)
