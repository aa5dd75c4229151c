"""Tickets that authorize one connection to one path within seconds, for clients that cannot send a header."""

from collections.abc import Callable

from msgspec import Struct

from bobstay.server.auth.credential_hashes import digest, new_code
from bobstay.server.errors import ApiError

LIFETIME = 30.0
MOST_EACH = 50
"""Unused tickets per client."""


class _Ticket(Struct, frozen=True):
    client: str
    path: str
    expires_at: float


class Tickets:
    """Kept in memory only, as hashes; a restart drops them."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._open: dict[str, _Ticket] = {}

    def issue(self, client: str, path: str) -> tuple[str, float]:
        """A ticket for `client`, and when it expires.

        Raises:
            ApiError: too_many.
        """
        now = self._clock()
        self._open = {name: ticket for name, ticket in self._open.items() if ticket.expires_at > now}
        if sum(ticket.client == client for ticket in self._open.values()) >= MOST_EACH:
            text = f"There are {MOST_EACH} unused tickets already. Use them, or wait {LIFETIME:.0f} s."
            raise ApiError("too_many", text)
        secret = new_code()
        self._open[digest(secret)] = _Ticket(client, path, now + LIFETIME)
        return secret, now + LIFETIME

    def redeem(self, secret: str, path: str) -> str | None:
        """Use up a ticket. Returns its client if it is valid for `path`."""
        ticket = self._open.pop(digest(secret), None)
        if ticket is None or ticket.expires_at <= self._clock() or ticket.path != path:
            return None
        return ticket.client
