"""OAuth for remote MCP servers: builds the authentication of a connection, and signs in and out."""

import asyncio
from typing import TYPE_CHECKING

from bobstay.mcp.oauth_store import OAuthStore

if TYPE_CHECKING:
    from bobstay.mcp.oauth_provider import ReportSecrets, ServerAuthorization, ShowAddress

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "bobstay", "version": "0"},
    },
}
HEADERS = {"Accept": "application/json, text/event-stream"}
REQUEST_SECONDS = 30.0


def build_auth(
    server_name: str,
    url: str,
    store: OAuthStore,
    *,
    interactive: "ShowAddress | None" = None,
    report_secrets: "ReportSecrets | None" = None,
    fresh: bool = False,
) -> "ServerAuthorization":
    """Build the `httpx2.Auth` of a connection: it sends the stored token and refreshes it.

    A server that wants more than that gets it from the person whom `interactive` shows an address; without that the
    request fails with `NeedsAuthorization`. Other failures are an `AuthorizationFailed`. Both are also kept in the
    attribute `problem`, for callers whose transport loses the error. `fresh`: stored tokens are not used.
    """
    from bobstay.mcp.oauth_provider import ServerAuthorization

    return ServerAuthorization(
        server_name, url, store, interactive=interactive, report_secrets=report_secrets, fresh=fresh
    )


async def login(server_name: str, url: str, store: OAuthStore, show: "ShowAddress") -> bool:
    """Sign in to a server; an earlier sign-in is replaced only if this one succeeds.

    Returns:
        False if the server did not ask for a sign-in, so that nothing was stored.

    Raises:
        OAuthProblem: it did not work; the text says why.
    """
    import httpx2

    from bobstay.mcp.oauth_endpoints import RefusedEndpoint
    from bobstay.mcp.oauth_problem import AuthorizationFailed

    auth = build_auth(server_name, url, store, interactive=show, fresh=True)
    try:
        async with (
            httpx2.AsyncClient(auth=auth, timeout=REQUEST_SECONDS) as client,
            client.stream("POST", url, json=INITIALIZE, headers=HEADERS) as response,
        ):
            if auth.signed_in and response.status_code in (401, 403):
                raise AuthorizationFailed(server_name, "It does not accept the token that its sign-in gave out.")
    except (httpx2.HTTPError, httpx2.InvalidURL, RefusedEndpoint) as error:
        raise AuthorizationFailed(server_name, f"It cannot be reached ({type(error).__name__}).") from error
    return auth.signed_in


async def logout(server_name: str, store: OAuthStore) -> bool:
    """Delete tokens and registration of a server; False if there were none. Raises `OAuthStoreError`."""
    return await asyncio.to_thread(store.remove, server_name)
