"""Before anybody is asked who they are: Host, Origin, where the browser comes from, and the headers of every answer."""

import asyncio
import logging
import re
from itertools import product
from pathlib import Path

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from bobstay.server.auth import client_store
from tests.server.auth.auth_server import AuthServer

PLACES = ("/api/v1/things", "/api/v1/stream", "/api/v1/health", "/", "/app.js", "/api/v1/nowhere", "/api/v1/auth/me")
EVIL = ("evil.example", "localhost.evil.com", "127.0.0.1.evil.com", "0.0.0.0", "localhost.", "169.254.169.254")


async def test_fm_41_a_name_that_was_rebound_to_this_machine_gets_nothing(auth_server: AuthServer) -> None:
    """FM-41: DNS rebinding. Host is not ours, and Origin agrees with it; REST, SSE, files, and what does not exist."""
    page = await auth_server.enter()
    _, bearer = await auth_server.token("admin")
    for path, name, shown in product(PLACES, EVIL, (page, bearer, {})):
        headers = {**shown, "Origin": f"http://{name}:{auth_server.port}", "Sec-Fetch-Site": "same-origin"}
        reply = await auth_server.ask("GET", path, headers, host=f"{name}:{auth_server.port}")
        assert (reply.status, reply.code) == (421, "bad_host")
        assert (await auth_server.ask("GET", path, shown, host=f"{name}:{auth_server.port}")).status == 421


async def test_fm_41_a_rebound_name_gets_no_socket(auth_server: AuthServer) -> None:
    """FM-41: the same over WebSocket."""
    page = await auth_server.enter()
    headers = {
        "Host": f"evil.example:{auth_server.port}",
        "Cookie": page["Cookie"],
        "Origin": f"http://evil.example:{auth_server.port}",
    }
    upgrade = {"Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}
    lines = [f"{name}: {value}" for name, value in {**headers, **upgrade, "Connection": "Upgrade"}.items()]
    reply = await auth_server.send("\r\n".join(["GET /api/v1/ws HTTP/1.1", *lines, "", ""]).encode())
    assert (reply.status, reply.code) == (421, "bad_host")
    assert not auth_server.open_sockets


async def test_fm_43_a_host_that_is_not_exactly_ours_is_refused(auth_server: AuthServer) -> None:
    """FM-43: whole tuples of name and port, and no request without a Host."""
    port = auth_server.port
    for host in ("", "localhost", "127.0.0.1", "localhost:1", f"localhost:{port}:1", f"a@localhost:{port}", f"{port}"):
        raw = f"GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        assert (await auth_server.send(raw.encode())).status in (400, 421)


async def test_no_host_and_two_hosts_are_refused(auth_server: AuthServer) -> None:
    assert (await auth_server.send(b"GET / HTTP/1.0\r\n\r\n")).status == 421
    twice = f"GET / HTTP/1.1\r\nHost: {auth_server.host}\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
    assert (await auth_server.send(twice.encode())).status in (400, 421)


async def test_each_name_of_this_machine_is_answered(auth_server: AuthServer) -> None:
    for name in ("localhost", "127.0.0.1", "[::1]", "LOCALHOST"):
        assert (await auth_server.ask("GET", "/", host=f"{name}:{auth_server.port}")).status == 200


async def test_fm_40_another_page_gets_nothing_and_is_not_told_that_it_may(auth_server: AuthServer) -> None:
    """FM-40: open CORS on loopback is code execution from any web page."""
    page = await auth_server.enter()
    origins = ("https://evil.example", "null", "http://localhost:5173", f"https://localhost:{auth_server.port}")
    for path, origin, shown in product(PLACES, origins, ({"Cookie": page["Cookie"]}, {})):
        reply = await auth_server.ask("GET", path, {**shown, "Origin": origin})
        assert (reply.status, reply.code) == (403, "bad_origin")
        assert not [name for name in reply.headers if name.startswith("access-control")]


async def test_fm_40_a_simple_post_of_another_page_does_nothing(auth_server: AuthServer) -> None:
    """FM-40: what a form can send without asking first, with the cookie a careless browser might add."""
    page = await auth_server.enter()
    text = {"Content-Type": "text/plain"}
    foreign = {"Cookie": page["Cookie"], "Origin": "https://evil.example", **text}
    assert (await auth_server.ask("POST", "/api/v1/act", foreign, b'{"text":""}')).status == 403
    no_origin = {"Cookie": page["Cookie"], **text}
    assert (await auth_server.ask("POST", "/api/v1/act", no_origin, b'{"text":""}')).status == 401
    assert (await auth_server.ask("POST", "/api/v1/act", {**page, **text}, b'{"text":""}')).status == 415
    assert auth_server.app.state.acts == []
    assert (await auth_server.ask("POST", "/api/v1/act", page, {"text": ""})).status == 200


async def test_fm_40_nobody_gets_leave_to_ask_from_elsewhere(auth_server: AuthServer) -> None:
    """FM-40: preflights are refused for others, and promise nothing even to ourselves."""
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
    assert (await auth_server.ask("OPTIONS", "/api/v1/act", {"Origin": "https://evil.example", **asked})).status == 403
    ours = await auth_server.ask("OPTIONS", "/api/v1/act", {"Origin": auth_server.origin, **asked})
    assert ours.status == 405
    assert not [name for name in ours.headers if name.startswith("access-control")]


async def test_what_the_browser_says_comes_from_elsewhere_is_refused(auth_server: AuthServer) -> None:
    page = await auth_server.enter()
    sites = ("cross-site", "same-site", "anything")
    for site, shown in product(sites, (page, {"Cookie": page["Cookie"]})):
        headers = {**shown, "Sec-Fetch-Site": site}
        assert (await auth_server.ask("GET", "/api/v1/things", headers)).status == 403
        assert (await auth_server.ask("POST", "/api/v1/act", headers, {})).status == 403
        followed = {**headers, "Sec-Fetch-Mode": "navigate"}
        assert (await auth_server.ask("GET", "/api/v1/things", followed)).status == 403
        assert (await auth_server.ask("POST", "/api/v1/act", followed, {})).status == 403
        assert (
            await auth_server.ask("GET", "/app.js", {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"})
        ).status == 403


async def test_a_link_elsewhere_may_lead_to_the_page_itself(auth_server: AuthServer) -> None:
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert (await auth_server.ask("GET", "/", link)).status == 200


async def test_a_cookie_without_an_origin_counts_only_if_the_browser_says_it_is_our_page(
    auth_server: AuthServer,
) -> None:
    """Rule 6: a request without Origin needs a bearer token, or the cookie with a Sec-Fetch-Site of our own."""
    cookie = {"Cookie": (await auth_server.enter())["Cookie"]}
    _, bearer = await auth_server.token("read")
    assert (await auth_server.ask("GET", "/api/v1/things", cookie)).status == 401
    for site in ("same-origin", "none"):
        assert (await auth_server.ask("GET", "/api/v1/things", {**cookie, "Sec-Fetch-Site": site})).status == 200
    assert (await auth_server.ask("GET", "/api/v1/things", bearer)).status == 200


async def test_the_shell_needs_no_name_and_everything_else_does(auth_server: AuthServer) -> None:
    assert (await auth_server.ask("GET", "/")).status == 200
    assert (await auth_server.ask("GET", "/app.js")).status == 200
    assert (await auth_server.ask("GET", "/api/v1/health")).status == 200
    for path in ("/api/v1/things", "/api/v1/stream", "/api/v1/auth/me", "/api/v1/auth/clients", "/api/v1/auth/users"):
        reply = await auth_server.ask("GET", path)
        assert (reply.status, reply.code) == (401, "unauthorized")
    for path in ("/api/v1/act", "/api/v1/auth/codes", "/api/v1/auth/tickets"):
        body = {"path": "/x", "label": "x"} if "auth" in path else {}
        assert (await auth_server.ask("POST", path, {"Origin": auth_server.origin}, body)).status in (401, 422)
    assert auth_server.app.state.acts == []


async def test_every_answer_tells_browsers_what_not_to_do(auth_server: AuthServer) -> None:
    _, bearer = await auth_server.token("read")
    asked: list[tuple[dict[str, str], str | None]] = [
        (bearer, None),
        ({}, "evil.example"),
        ({"Origin": "https://evil.example"}, None),
    ]
    for path, (headers, host) in product(PLACES, asked):
        reply = await auth_server.ask("GET", path, headers, host=host)
        policy = reply.header("content-security-policy")
        for directive in (
            *("default-src 'self'", "script-src 'self'", "connect-src 'self'", "object-src 'none'", "base-uri 'none'"),
            *("img-src 'self' data: blob:", "frame-ancestors 'none'", "require-trusted-types-for 'script'"),
            *("style-src 'self' 'unsafe-inline'", "font-src 'self'", "worker-src 'self'", "manifest-src 'self'"),
            *("frame-src 'none'", "form-action 'self'", "trusted-types bobstay"),
        ):
            assert directive in policy.split("; ")
        assert policy.count("unsafe") == 1, "styles may be set in place, and nothing else"
        assert not re.search(r"https?:|wss?:|\*", policy), "no other place is named"
        assert reply.header("x-content-type-options") == "nosniff"
        assert reply.header("referrer-policy") == "no-referrer"
        assert reply.header("cross-origin-opener-policy") == "same-origin"
        assert reply.header("cross-origin-resource-policy") == "same-origin"
        assert not [name for name in reply.headers if name.startswith("access-control") or name == "server"]
        expected = "no-cache" if path in ("/", "/app.js", "/api/v1/stream") and reply.status == 200 else "no-store"
        assert reply.header("cache-control") == expected


async def test_a_route_that_forgets_to_ask_stays_shut(
    auth_server: AuthServer, caplog: pytest.LogCaptureFixture
) -> None:
    """Architecture 7, rule 6: auth on every route that carries data, always; here it does not depend on memory."""
    page = await auth_server.enter()
    for shown in ({}, page):
        reply = await auth_server.ask("GET", "/api/v1/forgotten", shown)
        assert (reply.status, reply.code) == (500, "internal")
        assert b"secrets" not in reply.body
    with pytest.raises(InvalidStatus) as refused:
        await connect(auth_server.ws("/api/v1/forgotten-ws"), origin=auth_server.origin)  # type: ignore[arg-type] # a NewType of str
    assert refused.value.response.status_code == 500
    assert "without authorizing" in caplog.text


async def test_fm_45_a_token_in_an_address_is_refused_and_not_logged(
    auth_server: AuthServer, caplog: pytest.LogCaptureFixture
) -> None:
    """FM-45: tokens do not work in URLs, and where somebody tries it no log line keeps them."""
    caplog.set_level(logging.DEBUG)
    _, bearer = await auth_server.token("admin")
    secret = bearer["Authorization"].removeprefix("Bearer ")
    tail = secret[-20:]
    for path in (
        f"/api/v1/things?token={secret}",
        f"/api/v1/things?auth_token=%62st_{secret[4:]}",
        f"/api/v1/things?ticket={secret}",
        f"/api/v1/{secret}",
        f"/{secret}/app.js",
    ):
        reply = await auth_server.ask("GET", path)
        assert (reply.status, reply.code) == (400, "bad_request")
        assert tail.encode() not in reply.body
    assert (await auth_server.ask("GET", "/api/v1/things", bearer)).status == 200
    assert "GET /api/v1/things" in caplog.text
    assert tail not in caplog.text


async def test_fm_45_no_secret_is_in_a_log_line_or_an_error(
    auth_server: AuthServer, caplog: pytest.LogCaptureFixture
) -> None:
    """FM-45: through a whole life of codes, cookies, tokens and passwords, wrong and right ones."""
    caplog.set_level(logging.DEBUG)
    page = await auth_server.enter()
    again = await auth_server.ask(
        "POST", "/api/v1/auth/exchange", {"Origin": auth_server.origin}, {"code": auth_server.code}
    )
    user = {"scopes": ["read"], "password": "correct horse battery"}
    assert (await auth_server.ask("PUT", "/api/v1/auth/users/ada", page, user)).status == 200
    wrong = {"name": "ada", "password": "incorrect horse battery"}
    refused = await auth_server.ask("POST", "/api/v1/auth/login", {"Origin": auth_server.origin}, wrong)
    odd = await auth_server.ask(
        "POST", "/api/v1/auth/exchange", {"Origin": auth_server.origin}, {"code": [auth_server.code]}
    )
    bad = await auth_server.ask("GET", "/api/v1/things", {"Authorization": "Bearer bst_wrong_but_mine"})
    output = caplog.text + repr(auth_server.audit.entries) + "".join(str(r.body) for r in (again, refused, odd, bad))
    for secret in (auth_server.code, page["Cookie"].partition("=")[2], "horse", "bst_wrong_but_mine"):
        assert secret not in output
    assert odd.status == 422


async def test_a_broken_or_hostile_header_breaks_nothing(auth_server: AuthServer) -> None:
    for headers in (
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer \xff\xfe"},
        {"Authorization": "Basic YTpi"},
        {"Authorization": ""},
        {"Cookie": f"bobstay_{auth_server.port}", "Sec-Fetch-Site": "none"},
        {"Cookie": f"bobstay_{auth_server.port}=\xff;;;=;a=b=c", "Sec-Fetch-Site": "none"},
        {"Cookie": f"bobstay_{auth_server.port}=" + "x" * 8000, "Sec-Fetch-Site": "none"},
    ):
        reply = await auth_server.ask("GET", "/api/v1/things", headers)
        assert (reply.status, reply.code) == (401, "unauthorized")
    raw = f"GET /api/v1/things HTTP/1.1\r\nHost: {auth_server.host}\r\nOrigin: {auth_server.origin}\r\nOrigin: null\r\n"
    assert (await auth_server.send(f"{raw}Connection: close\r\n\r\n".encode())).status == 400


async def test_a_wrong_bearer_is_not_made_up_for_by_a_right_cookie(auth_server: AuthServer) -> None:
    page = await auth_server.enter()
    reply = await auth_server.ask("GET", "/api/v1/things", {**page, "Authorization": "Bearer wrong"})
    assert reply.status == 401


async def test_the_secret_of_a_cookie_is_no_token_and_the_other_way_round(auth_server: AuthServer) -> None:
    page = await auth_server.enter()
    _, bearer = await auth_server.token("read")
    secret = page["Cookie"].partition("=")[2]
    assert (await auth_server.ask("GET", "/api/v1/things", {"Authorization": f"Bearer {secret}"})).status == 401
    token = bearer["Authorization"].removeprefix("Bearer ")
    swapped = {"Cookie": f"bobstay_{auth_server.port}={token}", "Origin": auth_server.origin}
    assert (await auth_server.ask("GET", "/api/v1/things", swapped)).status == 401


async def test_tables_that_fail_give_an_error_with_words_and_let_nobody_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_store, "FRESH", 0.0)
    async with AuthServer(tmp_path) as auth_server:
        page = await auth_server.enter()
        async with auth_server.engine.begin() as connection:
            await connection.exec_driver_sql("ALTER TABLE auth_clients RENAME TO elsewhere")
        reply = await auth_server.ask("GET", "/api/v1/things", page)
        assert (reply.status, reply.code) == (507, "storage")
        assert b"Traceback" not in reply.body
        async with auth_server.engine.begin() as connection:
            await connection.exec_driver_sql("ALTER TABLE elsewhere RENAME TO auth_clients")
        assert (await auth_server.ask("GET", "/api/v1/things", page)).status == 200


async def test_many_at_once_are_each_asked(auth_server: AuthServer) -> None:
    _, bearer = await auth_server.token("read")
    asked = [auth_server.ask("GET", "/api/v1/things", bearer if number % 2 else {}) for number in range(40)]
    replies = await asyncio.gather(*asked)
    assert [reply.status for reply in replies] == [200 if number % 2 else 401 for number in range(40)]
