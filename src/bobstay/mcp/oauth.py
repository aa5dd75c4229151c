"""OAuth for remote MCP servers: builds the authentication of a connection, and signs in and out."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from bobstay.http.network import Network
from bobstay.http.tls import load_trust
from bobstay.mcp.oauth_store import OAuthRecord, OAuthStore
from bobstay.mcp.server_config import McpServerConfig

if TYPE_CHECKING:
    import httpx2

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
REVOKE_SECONDS = 10.0
MAX_REDIRECTS = 5
DIRECT = Network()


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


def stored_authorization(
    folder: str, report_secrets: "ReportSecrets | None" = None
) -> "Callable[[McpServerConfig], httpx2.Auth | None]":
    """Return what makes the authentication of a connection from the sign-ins stored in `folder`.

    A server whose entry has an `Authorization` header gets none.
    """

    def make(config: McpServerConfig) -> "httpx2.Auth | None":
        if any(name.lower() == "authorization" for name in config.headers):
            return None
        return build_auth(config.name, config.url, OAuthStore(folder), report_secrets=report_secrets)

    return make


async def login(server_name: str, url: str, store: OAuthStore, show: "ShowAddress", network: Network = DIRECT) -> bool:
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
    trust = await load_trust(network.authorities)
    try:
        async with httpx2.AsyncClient(auth=auth, timeout=REQUEST_SECONDS, verify=trust.context) as client:
            status = await _initialize(client, url)
        if auth.signed_in and status in (401, 403):
            raise AuthorizationFailed(server_name, "It does not accept the token that its sign-in gave out.")
    except (httpx2.HTTPError, httpx2.InvalidURL, RefusedEndpoint) as error:
        raise AuthorizationFailed(server_name, f"It cannot be reached ({type(error).__name__}).") from error
    return auth.signed_in


async def _initialize(client: "httpx2.AsyncClient", url: str) -> int:
    """Send the first message of a connection; return the status of the response.

    A redirect is followed as connections do: on the same server only, such as to the address with a slash at its end.
    """
    from bobstay.mcp.oauth_endpoints import is_same_origin

    status = 0
    for _ in range(MAX_REDIRECTS):
        async with client.stream("POST", url, json=INITIALIZE, headers=HEADERS) as response:
            status, following = response.status_code, response.next_request
            if following is None or following.method != "POST" or not is_same_origin(following.url, response.url):
                break
            url = str(following.url)
    return status


async def logout(server_name: str, store: OAuthStore, network: Network = DIRECT) -> bool:
    """Delete tokens and registration of a server; False if there were none. Raises `OAuthStoreError`.

    The server is told that the tokens are void, if it wants to know; that it cannot be reached does not matter.
    """
    records = await asyncio.to_thread(store.remove, server_name)
    for record in records:
        await _revoke(record, network)
    return bool(records)


async def _revoke(record: OAuthRecord, network: Network) -> None:
    endpoint = (record.authorization_server or {}).get("revocation_endpoint")
    token = (record.tokens or {}).get("refresh_token") or (record.tokens or {}).get("access_token")
    if not isinstance(endpoint, str) or not isinstance(token, str):
        return
    import httpx2

    from bobstay.mcp.oauth_endpoints import RefusedEndpoint, check_endpoint

    # An empty secret is the same as none, but servers built with the official SDK want the field.
    secret = record.secrets.get("MCP_CLIENT_SECRET", "")
    form = {"token": token, "client_id": str((record.client or {}).get("client_id", "")), "client_secret": secret}
    with suppress(httpx2.HTTPError, httpx2.InvalidURL, RefusedEndpoint):
        check_endpoint(endpoint, record.url)
        trust = await load_trust(network.authorities)
        async with (
            httpx2.AsyncClient(timeout=REVOKE_SECONDS, verify=trust.context) as client,
            client.stream("POST", endpoint, data=form),
        ):
            pass  # whatever it answers: it was told
