"""Signing in to remote MCP servers, against a real authorization server (H8-3)."""

import logging
import os
import stat
import time
from collections.abc import AsyncGenerator
from pathlib import Path

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from starlette.responses import JSONResponse, RedirectResponse, Response

from bobstay.mcp.oauth import build_auth, login, logout
from bobstay.mcp.oauth_problem import AuthorizationFailed, NeedsAuthorization, OAuthProblem
from bobstay.mcp.oauth_store import OAuthStore
from tests.kit.oauth_server import ProtectedServer, protected_server
from tests.kit.web_server import serving

NAME = "tracker"
MESSAGE = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
METADATA = "/.well-known/oauth-authorization-server"


@pytest.fixture
async def server() -> AsyncGenerator[ProtectedServer, None]:
    async with protected_server() as server:
        yield server


@pytest.fixture
def store(tmp_path: Path) -> OAuthStore:
    return OAuthStore(str(tmp_path / "home"))


async def request(server: ProtectedServer, store: OAuthStore, *, person: bool = False) -> int:
    """One request as a connection sends it; a new object each time, as after a restart."""
    auth = build_auth(NAME, server.url, store, interactive=server.sign_in if person else None)
    async with httpx2.AsyncClient(auth=auth) as client:
        headers = {"Accept": "application/json, text/event-stream"}
        return (await client.post(server.url, json=MESSAGE, headers=headers)).status_code


def stored(server: ProtectedServer, store: OAuthStore) -> dict[str, str]:
    return {name: str(value) for name, value in (store.read(NAME, server.url).tokens or {}).items()}


async def test_a_server_is_used_after_a_person_signed_in(server: ProtectedServer, store: OAuthStore) -> None:
    assert await login(NAME, server.url, store, server.sign_in)
    auth = build_auth(NAME, server.url, store)
    async with (
        httpx2.AsyncClient(auth=auth) as http,
        Client(streamable_http_client(server.url, http_client=http)) as client,
    ):
        assert [tool.name for tool in (await client.list_tools()).tools] == ["echo"]
    (registered,) = server.accounts.clients.values()
    assert registered.client_name == "bobstay"
    assert registered.token_endpoint_auth_method == "none"


async def test_an_address_that_the_server_spells_otherwise_leads_to_its_sign_in(
    server: ProtectedServer, store: OAuthStore
) -> None:
    """Servers of the official SDK redirect from `/mcp/` to `/mcp`, or the other way round."""
    url = f"{server.url}/"
    assert await login(NAME, url, store, server.sign_in)
    assert store.read(NAME, url).tokens


async def test_a_redirect_to_another_server_is_not_followed(server: ProtectedServer, store: OAuthStore) -> None:
    async with serving() as elsewhere:
        elsewhere.moved("/mcp", server.url, 307)
        assert not await login(NAME, f"{elsewhere.url}/mcp", store, server.sign_in)
    assert not server.accounts.clients


async def test_nobody_is_asked_in_the_middle_of_a_run(server: ProtectedServer, store: OAuthStore) -> None:
    with pytest.raises(NeedsAuthorization, match="bobstay mcp login tracker"):
        await request(server, store)
    assert server.accounts.clients == {}, "no client is registered for nothing"


async def test_a_connection_without_a_sign_in_ends_at_once_and_says_why(
    server: ProtectedServer, store: OAuthStore
) -> None:
    auth = build_auth(NAME, server.url, store)
    with pytest.raises(ExceptionGroup):
        async with (
            httpx2.AsyncClient(auth=auth) as http,
            Client(streamable_http_client(server.url, http_client=http)),
        ):
            raise AssertionError("it connected")
    assert isinstance(auth.problem, NeedsAuthorization), "also where a transport hides the error"


async def test_the_tokens_are_reported_to_whoever_redacts(server: ProtectedServer, store: OAuthStore) -> None:
    await login(NAME, server.url, store, server.sign_in)
    reported: dict[str, str] = {}
    auth = build_auth(NAME, server.url, store, report_secrets=reported.update)
    async with httpx2.AsyncClient(auth=auth) as client:
        await client.post(server.url, json=MESSAGE)
    tokens = stored(server, store)
    assert {tokens["access_token"], tokens["refresh_token"]} == set(reported.values())


async def test_the_tokens_are_in_a_file_that_only_the_owner_reads(server: ProtectedServer, store: OAuthStore) -> None:
    await login(NAME, server.url, store, server.sign_in)
    assert stat.S_IMODE(os.stat(store.path).st_mode) == 0o600
    assert stored(server, store)["access_token"] in Path(store.path).read_text()


async def test_an_expired_token_is_refreshed_after_a_restart(server: ProtectedServer, store: OAuthStore) -> None:
    server.accounts.lifetime = -10
    await _login_despite_expiry(server, store)
    before = stored(server, store)
    server.accounts.lifetime = 3600
    assert await request(server, store) in (200, 202, 400)
    after = stored(server, store)
    assert server.accounts.refreshed == 1
    assert len(server.accounts.asked_scopes) == 1, "nobody had to sign in again"
    assert before["refresh_token"] != after["refresh_token"], "the rotated refresh token is kept"
    assert store.read(NAME, server.url).expires_at > time.time()


async def _login_despite_expiry(server: ProtectedServer, store: OAuthStore) -> None:
    """Tokens that are expired from the first moment are stored, though the server accepts none of them."""
    with pytest.raises(AuthorizationFailed, match="does not accept the token"):
        await login(NAME, server.url, store, server.sign_in)


async def test_a_token_that_the_server_took_back_is_refreshed(server: ProtectedServer, store: OAuthStore) -> None:
    await login(NAME, server.url, store, server.sign_in)
    server.accounts.expire_all()
    assert await request(server, store) != 401
    assert server.accounts.refreshed == 1


async def test_a_refused_refresh_needs_a_person_and_forgets_the_tokens(
    server: ProtectedServer, store: OAuthStore
) -> None:
    await login(NAME, server.url, store, server.sign_in)
    server.accounts.expire_all()
    server.accounts.refresh.clear()
    with pytest.raises(NeedsAuthorization):
        await request(server, store)
    assert stored(server, store) == {}
    assert await login(NAME, server.url, store, server.sign_in), "signing in again works"
    assert await request(server, store) != 401


async def test_tokens_that_another_process_refreshed_are_used(server: ProtectedServer, store: OAuthStore) -> None:
    await login(NAME, server.url, store, server.sign_in)
    auth = build_auth(NAME, server.url, store)
    async with httpx2.AsyncClient(auth=auth) as client:
        assert (await client.post(server.url, json=MESSAGE)).status_code != 401
        server.accounts.expire_all()
        assert await request(server, store) != 401  # the other process: it rotates the refresh token
        auth.context.token_expiry_time = 1.0
        assert (await client.post(server.url, json=MESSAGE)).status_code != 401
    assert server.accounts.refreshed == 1


async def test_more_permissions_are_asked_for_when_the_server_wants_them(
    server: ProtectedServer, store: OAuthStore
) -> None:
    await login(NAME, server.url, store, server.sign_in)
    server.required = "write"
    with pytest.raises(NeedsAuthorization, match="more permissions: write"):
        await request(server, store)
    assert await request(server, store, person=True) != 403
    assert set(server.accounts.asked_scopes[-1]) == {"read", "write"}, "what was granted before is kept"


async def test_a_token_is_not_sent_to_another_server_of_the_same_name(
    server: ProtectedServer, store: OAuthStore
) -> None:
    await login(NAME, server.url, store, server.sign_in)
    assert store.read(NAME, "https://elsewhere.example/mcp").tokens is None


async def test_after_signing_out_nothing_is_left(server: ProtectedServer, store: OAuthStore) -> None:
    await login(NAME, server.url, store, server.sign_in)
    tokens = stored(server, store)
    assert await logout(NAME, store)
    assert not await logout(NAME, store)
    assert tokens["refresh_token"] not in Path(store.path).read_text()
    assert server.accounts.refresh == {}, "the server knows, too"


async def test_signing_out_works_though_the_server_does_not(server: ProtectedServer, store: OAuthStore) -> None:
    await login(NAME, server.url, store, server.sign_in)
    server.replaced["/revoke"] = lambda: Response(status_code=500)
    assert await logout(NAME, store)
    assert stored(server, store) == {}


async def test_a_registration_is_used_again(server: ProtectedServer, store: OAuthStore) -> None:
    await login(NAME, server.url, store, server.sign_in)
    await login(NAME, server.url, store, server.sign_in)
    assert len(server.accounts.clients) == 1


async def test_a_redirect_with_another_state_does_not_end_the_wait(server: ProtectedServer, store: OAuthStore) -> None:
    seen: list[int] = []

    async def meddled(address: str) -> None:
        target = httpx2.URL(address).params["redirect_uri"]
        async with httpx2.AsyncClient() as attacker:
            seen.append((await attacker.get(target, params={"code": "evil", "state": "guessed"})).status_code)
        await server.sign_in(address)

    assert await login(NAME, server.url, store, meddled)
    assert seen == [400]


async def test_a_person_who_refuses_is_reported(server: ProtectedServer, store: OAuthStore) -> None:
    async def refuse(address: str) -> None:
        params = httpx2.URL(address).params
        async with httpx2.AsyncClient() as browser:
            await browser.get(params["redirect_uri"], params={"error": "access_denied", "state": params["state"]})

    with pytest.raises(AuthorizationFailed, match="access_denied"):
        await login(NAME, server.url, store, refuse)


async def test_a_server_that_registers_nobody_says_what_to_do_instead(
    server: ProtectedServer, store: OAuthStore
) -> None:
    """Such as GitHub's: its clients are made by hand."""
    _metadata(server, registration_endpoint=None)
    server.replaced["/register"] = lambda: Response("no page", status_code=404)
    with pytest.raises(AuthorizationFailed, match="Get a token from whoever runs the server"):
        await login(NAME, server.url, store, server.sign_in)


# ---------------------------------------------------------------- hostile servers


def _metadata(server: ProtectedServer, **changed: object) -> None:
    document = {
        "issuer": server.issuer,
        "authorization_endpoint": f"{server.issuer}/authorize",
        "token_endpoint": f"{server.issuer}/token",
        "registration_endpoint": f"{server.issuer}/register",
        "code_challenge_methods_supported": ["S256"],
        **changed,
    }
    server.replaced[METADATA] = lambda: JSONResponse({k: v for k, v in document.items() if v is not None})


async def _refused(server: ProtectedServer, store: OAuthStore) -> str:
    with pytest.raises(OAuthProblem) as refused:
        await login(NAME, server.url, store, server.sign_in)
    assert NAME in str(refused.value)
    assert stored(server, store) == {}
    return str(refused.value)


async def test_metadata_of_another_issuer_is_refused(server: ProtectedServer, store: OAuthStore) -> None:
    _metadata(server, issuer="https://login.example")
    assert "issuer mismatch" in await _refused(server, store)


async def test_a_resource_that_is_not_this_server_is_refused(server: ProtectedServer, store: OAuthStore) -> None:
    server.resource["resource"] = "https://bank.example/mcp"
    assert "does not match" in await _refused(server, store)


@pytest.mark.parametrize("endpoint", ["authorization_endpoint", "token_endpoint", "registration_endpoint"])
async def test_an_endpoint_without_encryption_is_refused(
    server: ProtectedServer, store: OAuthStore, endpoint: str
) -> None:
    _metadata(server, **{endpoint: "http://login.example/x"})
    assert "without encryption" in await _refused(server, store)


async def test_a_token_endpoint_that_redirects_elsewhere_gets_nothing(
    server: ProtectedServer, store: OAuthStore
) -> None:
    server.replaced["/token"] = lambda: RedirectResponse("http://127.0.0.1:9/steal", 307)
    assert "not followed" in await _refused(server, store)


@pytest.mark.parametrize("path", [METADATA, "/register", "/token"])
async def test_a_huge_answer_is_refused(server: ProtectedServer, store: OAuthStore, path: str) -> None:
    server.replaced[path] = lambda: Response(b'{"a": "' + b"x" * (3 << 20) + b'"}', media_type="application/json")
    assert "more than 1 MiB" in await _refused(server, store)


async def test_a_compressed_answer_is_refused(server: ProtectedServer, store: OAuthStore) -> None:
    server.replaced["/token"] = lambda: Response(b"\x1f\x8b", headers={"Content-Encoding": "gzip"})
    assert "compressed" in await _refused(server, store)


async def test_an_authorization_server_without_pkce_is_refused(server: ProtectedServer, store: OAuthStore) -> None:
    _metadata(server, code_challenge_methods_supported=None)
    assert "PKCE" in await _refused(server, store)


async def test_no_token_appears_in_an_error_or_a_log(
    server: ProtectedServer, store: OAuthStore, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    secret = "at-this-is-a-token-of-the-server-0123456789"
    server.replaced["/token"] = lambda: JSONResponse({"access_token": secret, "token_type": 7, "expires_in": "x"})
    message = await _refused(server, store)
    assert secret not in message + caplog.text


async def test_a_server_elsewhere_without_encryption_gets_no_token(store: OAuthStore) -> None:
    with pytest.raises(AuthorizationFailed, match="needs https"):
        await login(NAME, "http://tracker.example/mcp", store, _nobody)


async def _nobody(address: str) -> None:
    raise AssertionError(address)
