"""Cache of recently identified principals, trusted for minutes without the admin scope while the database is down."""

import asyncio
from collections.abc import Awaitable, Callable
from time import monotonic

from msgspec.structs import replace

from bobstay.server.auth.credential_hashes import digest
from bobstay.server.auth.origin_policy import RequestOrigin
from bobstay.server.auth.principal import SCOPES, Principal
from bobstay.server.db.database_errors import DatabaseProblem

TRUSTED_SECONDS = 300.0
"""Seconds after the last lookup in which a principal is trusted without the database."""
LOOKUP_TIMEOUT = 5.0
"""Seconds the database has to answer if the cache knows the principal."""
MOST = 4_096


class RecentPrincipals:
    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._known: dict[str, tuple[float, Principal]] = {}

    async def identify(self, shown: list[str], look_up: Callable[[], Awaitable[Principal | None]]) -> Principal | None:
        """The principal that `look_up` returns; if the database fails, the one who recently had the same credentials.

        Raises:
            DatabaseProblem: it failed, and no recent principal had these credentials.
        """
        keys = [digest(one) for one in shown]
        remembered = next((who for key in keys if (who := self._remembered(key)) is not None), None)
        try:
            async with asyncio.timeout(LOOKUP_TIMEOUT if remembered is not None else None):
                found = await look_up()
        except TimeoutError:
            return remembered
        except DatabaseProblem:
            if remembered is None:
                raise
            return remembered
        if found is None:
            for key in keys:
                self._known.pop(key, None)
        elif keys:
            if len(self._known) >= MOST:
                self._known.clear()
            for key in (*keys, digest(found.client)):
                self._known[key] = (self._clock(), found)
        return found

    def forget(self, client: str) -> None:
        """Remove a revoked client."""
        self._known = {key: entry for key, entry in self._known.items() if entry[1].client != client}

    def _remembered(self, key: str) -> Principal | None:
        seen, principal = self._known.get(key, (0.0, None))
        if principal is None or self._clock() - seen > TRUSTED_SECONDS:
            return None
        scopes = frozenset(scope for scope in SCOPES if scope != "admin" and principal.may(scope))
        return replace(principal, scopes=scopes, confirmed=False)


def presented_credentials(request: RequestOrigin, secrets: list[str]) -> list[str]:
    """The credentials of a request, of the strongest kind only."""
    if request.ticket:
        return [request.ticket_holder] if request.ticket_holder else []
    if request.bearer is not None:
        return [f"bearer {request.bearer}"] if request.bearer else []
    if request.user:
        return [f"user {request.user}"]
    return [f"cookie {secret}" for secret in secrets]
