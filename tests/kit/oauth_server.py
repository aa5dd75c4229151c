"""A real authorization server and a protected MCP server, each on its own port of this machine."""

import asyncio
import json
import secrets
import socket
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import uvicorn
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    TokenError,
    construct_redirect_uri,
)
from mcp.server.auth.routes import create_auth_routes
from mcp.server.auth.settings import ClientRegistrationOptions, RevocationOptions
from mcp.server.lowlevel import Server
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from mcp.types import CallToolResult, ListToolsResult, TextContent, Tool
from pydantic import AnyHttpUrl, ConfigDict, TypeAdapter
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

ISSUER = TypeAdapter(AnyHttpUrl, config=ConfigDict(url_preserve_empty_path=True))
Asgi = Callable[[Any, Any, Any], Awaitable[None]]


class Accounts(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """Everybody who comes is signed in. Codes work once, refresh tokens are rotated, tokens expire."""

    def __init__(self) -> None:
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.refresh: dict[str, RefreshToken] = {}
        self.access: dict[str, AccessToken] = {}
        self.lifetime = 3600
        self.asked_scopes: list[list[str]] = []
        self.refreshed = 0

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        code = secrets.token_urlsafe(24)
        scopes = params.scopes or ["read"]
        self.asked_scopes.append(scopes)
        self.codes[code] = AuthorizationCode(
            code=code,
            scopes=scopes,
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        return construct_redirect_uri(str(params.redirect_uri), code=code, state=params.state)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        if self.codes.pop(authorization_code.code, None) is None:
            raise TokenError("invalid_grant")
        return self._issue(client.client_id, authorization_code.scopes)

    async def load_refresh_token(self, client: OAuthClientInformationFull, refresh_token: str) -> RefreshToken | None:
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        if self.refresh.pop(refresh_token.token, None) is None:
            raise TokenError("invalid_grant")
        self.refreshed += 1
        return self._issue(client.client_id, refresh_token.scopes)

    async def load_access_token(self, token: str) -> AccessToken | None:
        found = self.access.get(token)
        return found if found and (found.expires_at or 0) > time.time() else None

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self.access.pop(token.token, None)
        self.refresh.pop(token.token, None)

    def expire_all(self) -> None:
        for name, token in self.access.items():
            self.access[name] = token.model_copy(update={"expires_at": 1})

    def _issue(self, client_id: str, scopes: list[str]) -> OAuthToken:
        access, refresh = f"at-{secrets.token_urlsafe(24)}", f"rt-{secrets.token_urlsafe(24)}"
        expires = int(time.time()) + self.lifetime
        self.access[access] = AccessToken(token=access, client_id=client_id, scopes=scopes, expires_at=expires)
        self.refresh[refresh] = RefreshToken(token=refresh, client_id=client_id, scopes=scopes)
        return OAuthToken(access_token=access, refresh_token=refresh, expires_in=self.lifetime, scope=" ".join(scopes))


class ProtectedServer:
    """The two servers. What they publish about themselves can be replaced, to play a hostile one."""

    def __init__(self, accounts: Accounts, issuer: str, origin: str) -> None:
        self.accounts = accounts
        self.issuer = issuer
        self.url = f"{origin}/mcp"
        self.required = "read"
        self.resource: Any = {"resource": self.url, "authorization_servers": [issuer], "scopes_supported": ["read"]}
        self.replaced: dict[str, Callable[[], Response]] = {}
        """Answers of the authorization server, by path, in place of its own."""
        self.resource_metadata_url = f"{origin}/.well-known/oauth-protected-resource/mcp"
        self.seen_paths: list[str] = []

    async def sign_in(self, address: str) -> None:
        """What a person does with a browser: open the address, and be sent back."""
        async with httpx2.AsyncClient(follow_redirects=True) as browser:
            await browser.get(address)

    def guard(self, app: Asgi) -> Asgi:
        async def guarded(scope: Any, receive: Any, send: Any) -> None:
            header = dict(scope["headers"]).get(b"authorization", b"").decode()
            token = await self.accounts.load_access_token(header.removeprefix("Bearer "))
            more = f'resource_metadata="{self.resource_metadata_url}"'
            if token is None:
                answer: Response | None = Response(status_code=401, headers={"WWW-Authenticate": f"Bearer {more}"})
            elif self.required not in token.scopes:
                challenge = f'Bearer error="insufficient_scope", scope="{self.required}", {more}'
                answer = Response(status_code=403, headers={"WWW-Authenticate": challenge})
            else:
                answer = None
            await (answer or app)(scope, receive, send)

        return guarded

    def replace_answers(self, app: Asgi) -> Asgi:
        async def replaced(scope: Any, receive: Any, send: Any) -> None:
            path = scope.get("path", "")
            self.seen_paths.append(path)
            answer = self.replaced.get(path)
            await (answer() if answer else app)(scope, receive, send)

        return replaced


@asynccontextmanager
async def protected_server() -> AsyncGenerator[ProtectedServer, None]:
    accounts = Accounts()
    sockets = [_listen(), _listen()]
    issuer, origin = (f"http://127.0.0.1:{each.getsockname()[1]}" for each in sockets)
    server = ProtectedServer(accounts, issuer, origin)
    options = ClientRegistrationOptions(enabled=True, valid_scopes=["read", "write"], default_scopes=["read", "write"])
    routes = create_auth_routes(
        accounts,
        ISSUER.validate_python(issuer),  # without a slash at its end, as it is compared
        client_registration_options=options,
        revocation_options=RevocationOptions(enabled=True),
    )
    authorization = server.replace_answers(Starlette(routes=routes))
    resource = _mcp_app(server)
    async with serve_asgi(authorization, sockets[0]), serve_asgi(resource, sockets[1]):
        yield server


def _mcp_app(server: ProtectedServer) -> Starlette:
    async def list_tools(_ctx: Any, _params: Any) -> ListToolsResult:
        return ListToolsResult(tools=[Tool(name="echo", input_schema={"type": "object"})])

    async def call_tool(_ctx: Any, params: Any) -> CallToolResult:
        return CallToolResult(content=[TextContent(text=json.dumps(params.arguments))])

    async def describe(_request: Request) -> Response:
        return JSONResponse(server.resource)

    app = Server("protected", on_list_tools=list_tools, on_call_tool=call_tool).streamable_http_app()
    for route in app.routes:
        if isinstance(route, Route) and route.path == "/mcp":
            route.app = server.guard(route.app)
    app.router.routes.append(Route("/.well-known/oauth-protected-resource/mcp", describe))
    return app


def _listen() -> socket.socket:
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    return listening


@asynccontextmanager
async def serve_asgi(app: Asgi, listening: socket.socket) -> AsyncGenerator[None, None]:
    """Run an application in this loop until the end of the block."""
    config = uvicorn.Config(app, log_level="critical", lifespan="auto", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    task = asyncio.ensure_future(server._serve(sockets=[listening]))  # serve() would take over the signals
    try:
        while not server.started:
            await asyncio.sleep(0.005)
            assert not task.done(), task
        yield
    finally:
        server.should_exit = True
        await task
        listening.close()
