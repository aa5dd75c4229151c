"""Who came in lately: believed for some minutes while the database cannot be asked, but for what only admins may do."""

import asyncio
from collections.abc import Awaitable, Callable
from time import monotonic

from msgspec.structs import replace

from bobstay.server.auth.credential_hashes import digest
from bobstay.server.auth.origin_policy import RequestOrigin
from bobstay.server.auth.principal import SCOPES, Principal
from bobstay.server.db.database_errors import DatabaseProblem

LATELY = 300.0
"""Seconds after the database last knew somebody in which they are believed without it."""
LONGEST_WAIT = 5.0
"""Seconds the database has to say who somebody is, where we would know it without."""
MOST = 4_096


class RecentPrincipals:
    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._known: dict[str, tuple[float, Principal]] = {}

    async def identified(
        self, shown: list[str], look_up: Callable[[], Awaitable[Principal | None]]
    ) -> Principal | None:
        """Who `look_up` says it is; if the database cannot be asked, who showed the same lately.

        Raises:
            DatabaseProblem: it cannot be asked, and nobody came in with this lately.
        """
        keys = [digest(one) for one in shown]
        believed = next((who for key in keys if (who := self._believed(key)) is not None), None)
        try:
            async with asyncio.timeout(LONGEST_WAIT if believed is not None else None):
                found = await look_up()
        except TimeoutError:
            return believed
        except DatabaseProblem:
            if believed is None:
                raise
            return believed
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
        """Somebody was revoked."""
        self._known = {key: entry for key, entry in self._known.items() if entry[1].client != client}

    def _believed(self, key: str) -> Principal | None:
        seen, principal = self._known.get(key, (0.0, None))
        if principal is None or self._clock() - seen > LATELY:
            return None
        scopes = frozenset(scope for scope in SCOPES if scope != "admin" and principal.may(scope))
        return replace(principal, scopes=scopes, confirmed=False)


def shown_by(visit: RequestOrigin, secrets: list[str]) -> list[str]:
    """What somebody shows, the strongest only."""
    if visit.ticket:
        return [visit.ticket_holder] if visit.ticket_holder else []
    if visit.bearer is not None:
        return [f"bearer {visit.bearer}"] if visit.bearer else []
    if visit.user:
        return [f"user {visit.user}"]
    return [f"cookie {secret}" for secret in secrets]
