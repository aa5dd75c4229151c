"""Where an endpoint about one session runs: on the server that owns the session."""

from typing import Protocol

from starlette.requests import Request
from starlette.responses import Response

from bobstay.server.auth.principal import Principal


class SessionOwners(Protocol):
    """Forwards requests about sessions of other servers."""

    async def forward(self, session_id: str, request: Request, principal: Principal) -> Response | None:
        """The response of the server that owns the session; None if this server is to run the endpoint.

        `session_id` is empty if no session is known for the request.
        """
        ...


class LocalOwner:
    """Without other servers, this one owns all sessions."""

    async def forward(self, session_id: str, request: Request, principal: Principal) -> Response | None:
        return None
