"""Before anybody is asked who they are: Host, Origin, where the browser comes from, and the headers of every answer."""

import asyncio
import logging
import re
from itertools import product
from pathlib import Path

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from tests.server.auth.house import House

PLACES = ("/api/v1/things", "/api/v1/stream", "/api/v1/health", "/", "/app.js", "/api/v1/nowhere", "/api/v1/auth/me")
EVIL = ("evil.example", "localhost.evil.com", "127.0.0.1.evil.com", "0.0.0.0", "localhost.", "169.254.169.254")


async def test_fm_41_a_name_that_was_rebound_to_this_machine_gets_nothing(house: House) -> None:
    """FM-41: DNS rebinding. Host is not ours, and Origin agrees with it; REST, SSE, files, and what does not exist."""
    page = await house.enter()
    _, bearer = await house.token("admin")
    for path, name, shown in product(PLACES, EVIL, (page, bearer, {})):
        headers = {**shown, "Origin": f"http://{name}:{house.port}", "Sec-Fetch-Site": "same-origin"}
        reply = await house.ask("GET", path, headers, host=f"{name}:{house.port}")
        assert (reply.status, reply.code) == (421, "bad_host")
        assert (await house.ask("GET", path, shown, host=f"{name}:{house.port}")).status == 421


async def test_fm_41_a_rebound_name_gets_no_socket(house: House) -> None:
    """FM-41: the same over WebSocket."""
    page = await house.enter()
    headers = {
        "Host": f"evil.example:{house.port}",
        "Cookie": page["Cookie"],
        "Origin": f"http://evil.example:{house.port}",
    }
    upgrade = {"Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}
    lines = [f"{name}: {value}" for name, value in {**headers, **upgrade, "Connection": "Upgrade"}.items()]
    reply = await house.send("\r\n".join(["GET /api/v1/ws HTTP/1.1", *lines, "", ""]).encode())
    assert (reply.status, reply.code) == (421, "bad_host")
    assert house.open_sockets == 0


async def test_fm_43_a_host_that_is_not_exactly_ours_is_refused(house: House) -> None:
    """FM-43: whole tuples of name and port, and no request without a Host."""
    port = house.port
    for host in ("", "localhost", "127.0.0.1", "localhost:1", f"localhost:{port}:1", f"a@localhost:{port}", f"{port}"):
        raw = f"GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        assert (await house.send(raw.encode())).status in (400, 421)


async def test_no_host_and_two_hosts_are_refused(house: House) -> None:
    assert (await house.send(b"GET / HTTP/1.0\r\n\r\n")).status == 421
    twice = f"GET / HTTP/1.1\r\nHost: {house.host}\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
    assert (await house.send(twice.encode())).status in (400, 421)


async def test_each_name_of_this_machine_is_answered(house: House) -> None:
    for name in ("localhost", "127.0.0.1", "[::1]", "LOCALHOST"):
        assert (await house.ask("GET", "/", host=f"{name}:{house.port}")).status == 200


async def test_fm_40_another_page_gets_nothing_and_is_not_told_that_it_may(house: House) -> None:
    """FM-40: open CORS on loopback is code execution from any web page."""
    page = await house.enter()
    origins = ("https://evil.example", "null", "http://localhost:5173", f"https://localhost:{house.port}")
    for path, origin, shown in product(PLACES, origins, ({"Cookie": page["Cookie"]}, {})):
        reply = await house.ask("GET", path, {**shown, "Origin": origin})
        assert (reply.status, reply.code) == (403, "bad_origin")
        assert not [name for name, _ in reply.headers if name.startswith("access-control")]


async def test_fm_40_a_simple_post_of_another_page_does_nothing(house: House) -> None:
    """FM-40: what a form can send without asking first, with the cookie a careless browser might add."""
    page = await house.enter()
    text = {"Content-Type": "text/plain"}
    foreign = {"Cookie": page["Cookie"], "Origin": "https://evil.example", **text}
    assert (await house.ask("POST", "/api/v1/act", foreign, b'{"text":""}')).status == 403
    no_origin = {"Cookie": page["Cookie"], **text}
    assert (await house.ask("POST", "/api/v1/act", no_origin, b'{"text":""}')).status == 401
    assert (await house.ask("POST", "/api/v1/act", {**page, **text}, b'{"text":""}')).status == 415
    assert house.app.state.acts == []
    assert (await house.ask("POST", "/api/v1/act", page, {"text": ""})).status == 200


async def test_fm_40_nobody_gets_leave_to_ask_from_elsewhere(house: House) -> None:
    """FM-40: preflights are refused for others, and promise nothing even to ourselves."""
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
    assert (await house.ask("OPTIONS", "/api/v1/act", {"Origin": "https://evil.example", **asked})).status == 403
    ours = await house.ask("OPTIONS", "/api/v1/act", {"Origin": house.origin, **asked})
    assert ours.status == 405
    assert not [name for name, _ in ours.headers if name.startswith("access-control")]


async def test_what_the_browser_says_comes_from_elsewhere_is_refused(house: House) -> None:
    page = await house.enter()
    sites = ("cross-site", "same-site", "anything")
    for site, shown in product(sites, (page, {"Cookie": page["Cookie"]})):
        headers = {**shown, "Sec-Fetch-Site": site}
        assert (await house.ask("GET", "/api/v1/things", headers)).status == 403
        assert (await house.ask("POST", "/api/v1/act", headers, {})).status == 403
        followed = {**headers, "Sec-Fetch-Mode": "navigate"}
        assert (await house.ask("GET", "/api/v1/things", followed)).status == 403
        assert (await house.ask("POST", "/api/v1/act", followed, {})).status == 403
        assert (await house.ask("GET", "/app.js", {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"})).status == 403


async def test_a_link_elsewhere_may_lead_to_the_page_itself(house: House) -> None:
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert (await house.ask("GET", "/", link)).status == 200


async def test_a_cookie_without_an_origin_counts_only_if_the_browser_says_it_is_our_page(house: House) -> None:
    """Rule 6: a request without Origin needs a bearer token, or the cookie with a Sec-Fetch-Site of our own."""
    cookie = {"Cookie": (await house.enter())["Cookie"]}
    _, bearer = await house.token("read")
    assert (await house.ask("GET", "/api/v1/things", cookie)).status == 401
    for site in ("same-origin", "none"):
        assert (await house.ask("GET", "/api/v1/things", {**cookie, "Sec-Fetch-Site": site})).status == 200
    assert (await house.ask("GET", "/api/v1/things", bearer)).status == 200


async def test_the_shell_needs_no_name_and_everything_else_does(house: House) -> None:
    assert (await house.ask("GET", "/")).status == 200
    assert (await house.ask("GET", "/app.js")).status == 200
    assert (await house.ask("GET", "/api/v1/health")).status == 200
    for path in ("/api/v1/things", "/api/v1/stream", "/api/v1/auth/me", "/api/v1/auth/clients", "/api/v1/auth/users"):
        reply = await house.ask("GET", path)
        assert (reply.status, reply.code) == (401, "unauthorized")
    for path in ("/api/v1/act", "/api/v1/auth/codes", "/api/v1/auth/tickets"):
        body = {"path": "/x", "label": "x"} if "auth" in path else {}
        assert (await house.ask("POST", path, {"Origin": house.origin}, body)).status in (401, 422)
    assert house.app.state.acts == []


async def test_every_answer_tells_browsers_what_not_to_do(house: House) -> None:
    _, bearer = await house.token("read")
    asked: list[tuple[dict[str, str], str | None]] = [
        (bearer, None),
        ({}, "evil.example"),
        ({"Origin": "https://evil.example"}, None),
    ]
    for path, (headers, host) in product(PLACES, asked):
        reply = await house.ask("GET", path, headers, host=host)
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
        assert not [name for name, _ in reply.headers if name.startswith("access-control") or name == "server"]
        expected = "no-cache" if path in ("/", "/app.js", "/api/v1/stream") and reply.status == 200 else "no-store"
        assert reply.header("cache-control") == expected


async def test_a_route_that_forgets_to_ask_stays_shut(house: House, caplog: pytest.LogCaptureFixture) -> None:
    """Architecture 7, rule 6: auth on every route that carries data, always; here it does not depend on memory."""
    page = await house.enter()
    for shown in ({}, page):
        reply = await house.ask("GET", "/api/v1/forgotten", shown)
        assert (reply.status, reply.code) == (500, "internal")
        assert b"secrets" not in reply.body
    with pytest.raises(InvalidStatus) as refused:
        await connect(house.ws("/api/v1/forgotten-ws"), origin=house.origin)  # type: ignore[arg-type] # a NewType of str
    assert refused.value.response.status_code == 500
    assert "without asking" in caplog.text


async def test_fm_45_a_token_in_an_address_is_refused_and_not_logged(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    """FM-45: tokens do not work in URLs, and where somebody tries it no log line keeps them."""
    caplog.set_level(logging.DEBUG)
    _, bearer = await house.token("admin")
    secret = bearer["Authorization"].removeprefix("Bearer ")
    tail = secret[-20:]
    for path in (
        f"/api/v1/things?token={secret}",
        f"/api/v1/things?auth_token=%62st_{secret[4:]}",
        f"/api/v1/things?ticket={secret}",
        f"/api/v1/{secret}",
        f"/{secret}/app.js",
    ):
        reply = await house.ask("GET", path)
        assert (reply.status, reply.code) == (400, "bad_request")
        assert tail.encode() not in reply.body
    assert (await house.ask("GET", "/api/v1/things", bearer)).status == 200
    assert "GET /api/v1/things" in caplog.text
    assert tail not in caplog.text


async def test_fm_45_no_secret_is_in_a_log_line_or_an_error(house: House, caplog: pytest.LogCaptureFixture) -> None:
    """FM-45: through a whole life of codes, cookies, tokens and passwords, wrong and right ones."""
    caplog.set_level(logging.DEBUG)
    page = await house.enter()
    again = await house.ask("POST", "/api/v1/auth/exchange", {"Origin": house.origin}, {"code": house.code})
    user = {"scopes": ["read"], "password": "correct horse battery"}
    assert (await house.ask("PUT", "/api/v1/auth/users/ada", page, user)).status == 200
    wrong = {"name": "ada", "password": "incorrect horse battery"}
    refused = await house.ask("POST", "/api/v1/auth/login", {"Origin": house.origin}, wrong)
    odd = await house.ask("POST", "/api/v1/auth/exchange", {"Origin": house.origin}, {"code": [house.code]})
    bad = await house.ask("GET", "/api/v1/things", {"Authorization": "Bearer bst_wrong_but_mine"})
    said = caplog.text + repr(house.book.entries) + "".join(str(r.body) for r in (again, refused, odd, bad))
    for secret in (house.code, page["Cookie"].partition("=")[2], "horse", "bst_wrong_but_mine"):
        assert secret not in said
    assert odd.status == 422


async def test_a_broken_or_hostile_header_breaks_nothing(house: House) -> None:
    for headers in (
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer \xff\xfe"},
        {"Authorization": "Basic YTpi"},
        {"Authorization": ""},
        {"Cookie": f"bobstay_{house.port}", "Sec-Fetch-Site": "none"},
        {"Cookie": f"bobstay_{house.port}=\xff;;;=;a=b=c", "Sec-Fetch-Site": "none"},
        {"Cookie": f"bobstay_{house.port}=" + "x" * 8000, "Sec-Fetch-Site": "none"},
    ):
        reply = await house.ask("GET", "/api/v1/things", headers)
        assert (reply.status, reply.code) == (401, "unauthorized")
    raw = f"GET /api/v1/things HTTP/1.1\r\nHost: {house.host}\r\nOrigin: {house.origin}\r\nOrigin: null\r\n"
    assert (await house.send(f"{raw}Connection: close\r\n\r\n".encode())).status == 400


async def test_a_wrong_bearer_is_not_made_up_for_by_a_right_cookie(house: House) -> None:
    page = await house.enter()
    reply = await house.ask("GET", "/api/v1/things", {**page, "Authorization": "Bearer wrong"})
    assert reply.status == 401


async def test_the_secret_of_a_cookie_is_no_token_and_the_other_way_round(house: House) -> None:
    page = await house.enter()
    _, bearer = await house.token("read")
    secret = page["Cookie"].partition("=")[2]
    assert (await house.ask("GET", "/api/v1/things", {"Authorization": f"Bearer {secret}"})).status == 401
    token = bearer["Authorization"].removeprefix("Bearer ")
    swapped = {"Cookie": f"bobstay_{house.port}={token}", "Origin": house.origin}
    assert (await house.ask("GET", "/api/v1/things", swapped)).status == 401


async def test_tables_that_fail_give_an_error_with_words_and_let_nobody_in(tmp_path: Path) -> None:
    async with House(tmp_path) as house:
        page = await house.enter()
        async with house.engine.begin() as connection:
            await connection.exec_driver_sql("ALTER TABLE auth_clients RENAME TO elsewhere")
        house.doors.clients._cache.clear()
        reply = await house.ask("GET", "/api/v1/things", page)
        assert (reply.status, reply.code) == (507, "storage")
        assert b"Traceback" not in reply.body
        async with house.engine.begin() as connection:
            await connection.exec_driver_sql("ALTER TABLE elsewhere RENAME TO auth_clients")
        assert (await house.ask("GET", "/api/v1/things", page)).status == 200


async def test_many_at_once_are_each_asked(house: House) -> None:
    _, bearer = await house.token("read")
    asked = [house.ask("GET", "/api/v1/things", bearer if number % 2 else {}) for number in range(40)]
    replies = await asyncio.gather(*asked)
    assert [reply.status for reply in replies] == [200 if number % 2 else 401 for number in range(40)]
