"""Reverse proxies: nothing they say is believed unless whoever started the server said so."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from starlette.types import Scope

from bobstay.server.auth.auth_settings import AuthSettings
from bobstay.server.auth.origin_policy import OriginPolicy, RequestOrigin
from bobstay.server.server_options import ServerOptions
from tests.server.auth.auth_server import AuthServer

CLAIMS = {
    "X-Forwarded-For": "203.0.113.9",
    "X-Forwarded-Host": "evil.example",
    "X-Forwarded-Proto": "https",
    "Forwarded": "for=203.0.113.9;host=evil.example;proto=https",
    "X-Real-IP": "203.0.113.9",
    "X-Forwarded-User": "owner",
    "Remote-User": "owner",
    "X-Scopes": "admin",
    "X-Bobstay-Scopes": "admin",
}


async def test_fm_44_what_a_client_declares_about_itself_counts_for_nothing(auth_server: AuthServer) -> None:
    """FM-44: no rights, no name and no address from headers."""
    assert (await auth_server.ask("GET", "/api/v1/things", CLAIMS)).status == 401
    _, bearer = await auth_server.token("read")
    reply = await auth_server.ask("GET", "/api/v1/things", {**bearer, **CLAIMS})
    assert reply.json == {"by": "token:test"}
    assert (await auth_server.ask("POST", "/api/v1/act", {**bearer, **CLAIMS}, {})).status == 403
    body = {"code": auth_server.code, "label": "x"}
    exchanged = await auth_server.ask("POST", "/api/v1/auth/exchange", {"Origin": auth_server.origin, **CLAIMS}, body)
    assert "Secure" not in exchanged.header("set-cookie")
    assert [detail["address"] for _, _, detail in auth_server.audit.entries] == ["127.0.0.1"]


async def test_fm_44_a_forwarded_host_makes_no_name_ours(tmp_path: Path) -> None:
    """FM-44: not even from a trusted proxy; names are those whoever starts the server gave."""
    async with AuthServer(tmp_path, proxies=("127.0.0.1",)) as auth_server:
        forwarded = {"X-Forwarded-Host": auth_server.host}
        assert (await auth_server.ask("GET", "/", forwarded, host="evil.example")).status == 421
        assert (await auth_server.ask("GET", "/", {"X-Forwarded-Host": "evil.example"})).status == 200


async def test_fm_44_wrong_codes_are_counted_by_the_real_address(auth_server: AuthServer) -> None:
    """FM-44: a new invented address each time does not help."""
    statuses: list[int] = []
    for number in range(12):
        headers = {"Origin": auth_server.origin, "X-Forwarded-For": f"203.0.113.{number}"}
        statuses.append((await auth_server.ask("POST", "/api/v1/auth/exchange", headers, {"code": "wrong"})).status)
    assert statuses == [401] * 10 + [429] * 2


async def test_a_trusted_proxy_is_believed_about_where_a_request_came_from(tmp_path: Path) -> None:
    async with AuthServer(tmp_path, proxies=("127.0.0.0/8",)) as auth_server:
        for hops in ("203.0.113.9", "198.51.100.1, 203.0.113.9", "invented, 203.0.113.9, 127.0.0.5"):
            headers = {"Origin": auth_server.origin, "X-Forwarded-For": hops}
            await auth_server.ask("POST", "/api/v1/auth/exchange", headers, {"code": "wrong"})
        assert [detail["address"] for _, _, detail in auth_server.audit.entries] == ["203.0.113.9"] * 3


async def put(auth_server: AuthServer, name: str, *scopes: str) -> None:
    page = await auth_server.enter(await auth_server.auth.start_code())
    assert (await auth_server.ask("PUT", f"/api/v1/auth/users/{name}", page, {"scopes": list(scopes)})).status == 200


async def test_a_proxy_names_users_only_when_told_so_and_scopes_are_ours(tmp_path: Path) -> None:
    """FM-44: the name comes from the header, what it may do from the server."""
    async with AuthServer(tmp_path, user_header="X-Forwarded-User") as auth_server:
        await put(auth_server, "ada", "read", "approve")
        ada = {"X-Forwarded-User": "ada", "Origin": auth_server.origin, "X-Scopes": "admin"}
        assert (await auth_server.ask("POST", "/api/v1/approve", ada, {})).json == {"by": "ada"}
        assert (await auth_server.ask("POST", "/api/v1/act", ada, {})).status == 403
        assert (await auth_server.ask("GET", "/api/v1/things", {**ada, "X-Forwarded-User": "eve"})).status == 401
        assert (await auth_server.ask("GET", "/api/v1/things", {**ada, "X-Forwarded-User": "owner"})).status == 401


async def test_a_proxy_s_user_is_held_to_the_same_origin_rules_as_a_cookie(tmp_path: Path) -> None:
    async with AuthServer(tmp_path, user_header="X-Forwarded-User") as auth_server:
        await put(auth_server, "ada", "operate", "read")
        named = {"X-Forwarded-User": "ada"}
        assert (await auth_server.ask("POST", "/api/v1/act", named, {})).status == 401
        assert (
            await auth_server.ask("POST", "/api/v1/act", {**named, "Origin": "https://evil.example"}, {})
        ).status == 403
        assert (await auth_server.ask("GET", "/api/v1/things", {**named, "Sec-Fetch-Site": "none"})).status == 200
        assert auth_server.app.state.acts == []


async def test_a_user_who_is_removed_is_out_at_once(tmp_path: Path) -> None:
    async with AuthServer(tmp_path, user_header="X-Forwarded-User") as auth_server:
        await put(auth_server, "ada", "read")
        ada = {"X-Forwarded-User": "ada", "Origin": auth_server.origin}
        principal = (await auth_server.ask("GET", "/api/v1/auth/me", ada)).json
        assert principal["client"] == "user:ada"
        closed: list[str] = []
        user = await auth_server.auth.users.get("ada")
        assert user is not None
        client = user.principal.client
        auth_server.auth.track_connections(lambda: [client], closed.append)
        await auth_server.auth.close_revoked()
        assert closed == []
        await auth_server.auth.users.remove("ada")
        await auth_server.auth.close_revoked()
        assert set(closed) == {client}
        assert (await auth_server.ask("GET", "/api/v1/things", ada)).status == 401


def inspect(rules: AuthSettings, peer: str | None, *headers: tuple[str, str]) -> RequestOrigin:
    scope: Scope = {
        "type": "http",
        "method": "GET",
        "path": "/",
        "query_string": b"",
        "scheme": "http",
        "client": None if peer is None else (peer, 1),
        "headers": [(name.encode(), value.encode()) for name, value in (("host", "localhost:3001"), *headers)],
    }
    return OriginPolicy(rules).inspect(scope)


@pytest.mark.parametrize(
    ("rules", "peer", "believed"),
    [
        ({"user_header": "X-User"}, "127.0.0.1", True),
        ({"user_header": "X-User"}, "::1", True),
        ({"user_header": "X-User"}, "::ffff:127.0.0.1", True),
        ({"user_header": "X-User"}, "10.0.0.7", False),
        ({"user_header": "X-User"}, "", False),
        ({"user_header": "X-User"}, None, False),
        ({"user_header": "X-User", "proxies": ("10.0.0.7",)}, "10.0.0.7", True),
        ({"user_header": "X-User", "proxies": ("10.0.0.0/24",)}, "10.0.0.8", True),
        ({"user_header": "X-User", "proxies": ("10.0.0.7",)}, "10.0.0.8", False),
        ({"user_header": "X-User", "proxies": ("10.0.0.7",)}, "127.0.0.1", False),
        ({"proxies": ("127.0.0.1",)}, "127.0.0.1", False),
        ({}, "127.0.0.1", False),
    ],
)
def test_fm_44_only_the_peer_that_was_named_may_name_users(rules: Any, peer: str | None, believed: bool) -> None:
    """FM-44: forwarded headers are ignored unless the proxy is trusted."""
    assert inspect(AuthSettings(**rules), peer, ("x-user", "ada")).user == ("ada" if believed else "")


def test_a_user_named_twice_is_named_by_nobody() -> None:
    rules = AuthSettings(user_header="X-User")
    assert inspect(rules, "127.0.0.1", ("x-user", "ada"), ("X-User", "owner")).user == ""


def test_proxies_named_at_the_start_reach_the_rules() -> None:
    config = ServerOptions("/state", user_header="X-User", proxies=("10.0.0.0/8",))
    named = (("X-User", "ada"), ("X-Forwarded-For", "203.0.113.9"))
    from_proxy = inspect(AuthSettings.of(config), "10.1.2.3", *named)
    assert (from_proxy.user, from_proxy.address) == ("ada", "203.0.113.9")
    for stranger in ("127.0.0.1", "192.0.2.1"):
        seen = inspect(AuthSettings.of(config), stranger, *named)
        assert (seen.user, seen.address) == ("", stranger)


def test_a_proxy_that_is_no_address_keeps_the_server_from_starting(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bobstay", "serve", "--port", "0", "--no-browser", "--trusted-proxy", "my-proxy"]
    variables = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 1
    assert "A trusted proxy must be an IP address or network" in done.stderr
    assert "Traceback" not in done.stderr
