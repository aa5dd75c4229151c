"""Authorization at one MCP server: the official SDK's OAuth client with stored state, limits and clear errors."""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any, TypeAlias, TypeVar
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError, OAuthRegistrationError
from mcp.client.auth.utils import extract_field_from_www_auth
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl, BaseModel, ValidationError

from bobstay.mcp.oauth_endpoints import RefusedEndpoint, check_endpoint, check_server, limit_body
from bobstay.mcp.oauth_problem import AuthorizationFailed, NeedsAuthorization, OAuthProblem
from bobstay.mcp.oauth_redirect import RedirectListener, SignInRefused
from bobstay.mcp.oauth_store import OAuthRecord, OAuthStore, OAuthStoreError
from bobstay.redaction.redactor import Redactor

ShowAddress: TypeAlias = Callable[[str], Awaitable[None]]
"""Shows a person the address at which they sign in, in a browser of this machine."""
ReportSecrets: TypeAlias = Callable[[dict[str, str]], None]
"""Gets values that must be redacted from now on, by the name that replaces them."""
SIGN_IN_SECONDS = 300.0
PLACEHOLDER_URI = "http://127.0.0.1/callback"
"""Stands where the SDK wants a redirect address before it is known which port is free."""
EXPIRED = 1.0
_NO_REGISTRATION = (
    "Its authorization server does not register programs by itself. Get a token from whoever runs the server, and add "
    "the server again with --header 'Authorization: Bearer TOKEN'."
)
ModelT = TypeVar("ModelT", bound=BaseModel)
# The SDK logs error texts of servers, which may contain codes and tokens.
_sdk_log = logging.getLogger("mcp.client.auth")
_sdk_log.addHandler(logging.NullHandler())
_sdk_log.propagate = False
_sdk_log.setLevel(logging.CRITICAL)


class ServerAuthorization(OAuthClientProvider):
    """The `httpx2.Auth` of one server."""

    def __init__(
        self,
        server_name: str,
        url: str,
        store: OAuthStore,
        *,
        interactive: ShowAddress | None = None,
        report_secrets: ReportSecrets | None = None,
        fresh: bool = False,
    ) -> None:
        """`fresh`: do not use stored tokens, but sign in anew."""
        self.server_name = server_name
        self.problem: OAuthProblem | None = None
        self._sign_ins = 0
        self._show = interactive
        self._fresh = fresh
        self._listener: RedirectListener | None = None
        self._redactor = Redactor()
        self._report_secrets = report_secrets
        self._kept = _KeptState(self, store, url)
        metadata = OAuthClientMetadata(
            redirect_uris=[AnyUrl(PLACEHOLDER_URI)],
            client_name="bobstay",
            token_endpoint_auth_method="none",  # noqa: S106 - a public client: no secret can be kept in a program
        )
        super().__init__(url, metadata, self._kept, self._show_address, self._wait_for_redirect)

    @property
    def signed_in(self) -> bool:
        """Whether a person signed in by this object."""
        return self._sign_ins > 0

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Send a request with the token; refresh it, or let a person sign in, where the server wants that.

        Raises:
            NeedsAuthorization, AuthorizationFailed
        """
        try:
            async with aclosing(self._authorized(request)) as flow:
                outgoing = await anext(flow)
                while True:
                    response = yield outgoing
                    outgoing = await flow.asend(response)
        except StopAsyncIteration:
            self.problem = None
        except OAuthProblem as problem:
            self.problem = problem
            raise
        except _FAILURES as error:
            self.problem = AuthorizationFailed(self.server_name, self._describe(error))
            raise self.problem from None  # the cause may quote a token
        finally:
            await self._stop_listening()

    async def _authorized(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """The SDK's flow, first with what is stored; again if a token that should be valid must be refreshed."""
        check_server(self.context.server_url)
        if self._initialized and not self.context.is_token_valid():
            self._initialized = False  # another process may have refreshed it meanwhile
        refreshed, sign_ins = False, self._sign_ins
        while True:
            again = False
            async with aclosing(super().async_auth_flow(request)) as flow:
                outgoing = await anext(flow)
                while not again:
                    refreshed = refreshed or _is_refresh(outgoing, request)
                    response = yield self._checked(outgoing, request)
                    if outgoing is not request or response.status_code in (401, 403):
                        limit_body(response)
                    # Tokens of a moment ago that are not accepted will not be accepted after another sign-in.
                    if outgoing is request and sign_ins == self._sign_ins and _wants_authorization(response):
                        if response.status_code == 401 and not refreshed and self.context.can_refresh_token():
                            self.context.token_expiry_time = EXPIRED
                            refreshed = again = True
                            continue
                        await self._prepare_sign_in(response)
                    try:
                        outgoing = await flow.asend(response)
                    except StopAsyncIteration:
                        return

    def _checked(self, outgoing: httpx2.Request, request: httpx2.Request) -> httpx2.Request:
        if outgoing is not request:
            check_endpoint(str(outgoing.url), self.context.server_url)
            outgoing.headers["Accept-Encoding"] = "identity"
        return outgoing

    async def _initialize(self) -> None:
        """Load what is stored. The SDK itself forgets when tokens expire and where to refresh them."""
        record = await self._kept.load()
        context = self.context
        tokens = None if self._fresh else _decode(OAuthToken, record.tokens)
        context.current_tokens = tokens
        context.token_expiry_time = (record.expires_at or None) if tokens else None
        context.client_info = _decode(OAuthClientInformationFull, record.client)
        if context.client_info and 0 < (context.client_info.client_secret_expires_at or 0) <= time.time():
            context.client_info = None
        context.oauth_metadata = _decode(OAuthMetadata, record.authorization_server)
        context.protected_resource_metadata = prm = _decode(ProtectedResourceMetadata, record.protected_resource)
        context.auth_server_url = str(prm.authorization_servers[0]) if prm else None
        self._initialized = True

    async def _handle_refresh_response(self, response: httpx2.Response) -> bool:
        """A refresh token that the server refused is forgotten, so that the state is known without asking again."""
        used = self.context.current_tokens
        done = await super()._handle_refresh_response(response)
        if not done and used is not None and response.status_code in (400, 401):
            await self._kept.forget_tokens(used)
        return done

    # ------------------------------------------------------------ a person signs in

    async def _prepare_sign_in(self, response: httpx2.Response) -> None:
        """Open the redirect listener before the SDK registers its address. Raises `NeedsAuthorization`."""
        scope = extract_field_from_www_auth(response, "scope")
        if self._show is None:
            why = f"It wants more permissions: {_printable(scope)}." if scope and response.status_code == 403 else ""
            raise NeedsAuthorization(self.server_name, why)
        client = self.context.client_info
        if client and client.scope and scope and not set(scope.split()) <= set(client.scope.split()):
            client = None  # it was registered for less than is wanted now
        registered = str(client.redirect_uris[0]) if client and client.redirect_uris else ""
        self._listener = await RedirectListener.open(urlsplit(registered).port or 0 if registered else 0)
        self.context.client_metadata.redirect_uris = [AnyUrl(self._listener.uri)]
        if registered != self._listener.uri:
            # Many servers compare the whole address, so another port needs another registration.
            self.context.client_info = None

    async def _show_address(self, address: str) -> None:
        assert self._show is not None
        assert self._listener is not None
        check_endpoint(address, self.context.server_url)
        metadata = self.context.oauth_metadata
        if metadata is not None and "S256" not in (metadata.code_challenge_methods_supported or ()):
            raise RefusedEndpoint("Its authorization server does not support PKCE with S256, which OAuth 2.1 demands.")
        self._listener.expect(parse_qs(urlsplit(address).query).get("state", [""])[0])
        await self._show(address)

    async def _wait_for_redirect(self) -> AuthorizationCodeResult:
        assert self._listener is not None
        result = await self._listener.wait(SIGN_IN_SECONDS)
        self._redactor.add_secrets({"MCP_AUTHORIZATION_CODE": result.code})
        return AuthorizationCodeResult(code=result.code, state=result.state, iss=result.iss)

    async def _handle_token_response(self, response: httpx2.Response) -> None:
        await super()._handle_token_response(response)
        self._sign_ins += 1
        self._fresh = False

    async def _stop_listening(self) -> None:
        if self._listener is not None:
            await self._listener.close()
            self._listener = None

    # ------------------------------------------------------------ errors and secrets

    def redact_from_now(self, record: OAuthRecord) -> None:
        self._redactor.add_secrets(record.secrets)
        if self._report_secrets is not None and record.secrets:
            self._report_secrets({f"{name}_{self.server_name}": value for name, value in record.secrets.items()})

    def _describe(self, error: Exception) -> str:
        match error:
            case TimeoutError():
                return f"Nobody signed in within {SIGN_IN_SECONDS / 60:.0f} minutes."
            case SignInRefused():
                return f"The authorization server refused: {_printable(str(error))}."
            case ValidationError():
                return "A server's answer does not have the form that the standard demands."
            case OAuthRegistrationError() if not getattr(self.context.oauth_metadata, "registration_endpoint", None):
                return _NO_REGISTRATION
            case OAuthFlowError() | RefusedEndpoint() | OAuthStoreError():
                return _printable(self._redactor.redact(str(error)))
            case _:
                return f"{type(error).__name__}."


class _KeptState:
    """The SDK's token storage, on our store. It also keeps what the SDK would have to discover again."""

    def __init__(self, auth: ServerAuthorization, store: OAuthStore, url: str) -> None:
        self._auth = auth
        self._store = store
        self._url = url

    async def load(self) -> OAuthRecord:
        record = await asyncio.to_thread(self._store.read, self._auth.server_name, self._url)
        self._auth.redact_from_now(record)
        return record

    async def get_tokens(self) -> OAuthToken | None:
        return _decode(OAuthToken, (await self.load()).tokens)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return _decode(OAuthClientInformationFull, (await self.load()).client)

    async def set_tokens(self, tokens: OAuthToken) -> None:
        context = self._auth.context
        record = OAuthRecord(
            self._url,
            tokens=_encode(tokens),
            expires_at=context.token_expiry_time or 0.0,
            client=_encode(context.client_info),
            authorization_server=_encode(context.oauth_metadata),
            protected_resource=_encode(context.protected_resource_metadata),
        )
        self._auth.redact_from_now(record)
        await asyncio.to_thread(self._store.write, self._auth.server_name, record)

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Stored with the tokens: a registration without a sign-in would replace one that works."""

    async def forget_tokens(self, used: OAuthToken) -> None:
        record = await self.load()
        if (record.tokens or {}).get("refresh_token") == used.refresh_token:
            kept = OAuthRecord(self._url, client=record.client)
            await asyncio.to_thread(self._store.write, self._auth.server_name, kept)


_FAILURES = (OAuthFlowError, RefusedEndpoint, OAuthStoreError, SignInRefused, ValidationError, TimeoutError)


def _wants_authorization(response: httpx2.Response) -> bool:
    if response.status_code == 401:
        return True
    return response.status_code == 403 and extract_field_from_www_auth(response, "error") == "insufficient_scope"


def _is_refresh(outgoing: httpx2.Request, request: httpx2.Request) -> bool:
    return outgoing is not request and outgoing.method == "POST" and b"grant_type=refresh_token" in outgoing.content


def _encode(model: BaseModel | None) -> dict[str, Any] | None:
    return None if model is None else model.model_dump(mode="json", by_alias=True, exclude_none=True)


def _decode(kind: type[ModelT], value: dict[str, Any] | None) -> ModelT | None:
    """The model of a stored object; None if an older or newer version stored it in another form."""
    try:
        return None if value is None else kind.model_validate(value)
    except ValidationError:
        return None


def _printable(text: str) -> str:
    """A server's text without control characters, short enough for one line."""
    return "".join(letter if letter.isprintable() else " " for letter in text)[:300]
