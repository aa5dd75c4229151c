"""WebFetch: conversion of pages, redirects, and hosts it refuses."""

import asyncio
import gzip
import ssl
import zlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bobstay.http.pinned_request import HttpResponse
from bobstay.http.web_address import parse_url
from bobstay.permissions.access import Access, Effect, PolicyDecision
from bobstay.tools.base import Context, Outcome, ToolError
from bobstay.tools.builtin.web_fetch import WebFetch, WebFetchArgs
from bobstay.tools.http_fetch import FetchError, fetch_page
from tests.kit.tool_context import make_context
from tests.kit.waiting import DEADLINE
from tests.kit.web_server import WebServer, serving

CERTIFICATE = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgrch1ei0K63c7j9O+
ajB1iPSpZ7NG2iB5zp4xoblhUNKhRANCAARL7NVU2l0goQr5nR/pI5COqiGm4xnc
WjKAfvCLSmAjYMDBGgX3Y/3LE6Co7Yn3IauAX8dT2l1jGQIUHTd2UKT/
-----END PRIVATE KEY-----
-----BEGIN CERTIFICATE-----
MIIBlDCCATugAwIBAgIUK2M56KjVqysnnm2HMTBaZq4r7D0wCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAx
MDAwMDAwWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAARL7NVU2l0goQr5nR/pI5COqiGm4xncWjKAfvCLSmAjYMDBGgX3Y/3L
E6Co7Yn3IauAX8dT2l1jGQIUHTd2UKT/o2kwZzAUBgNVHREEDTALgglsb2NhbGhv
c3QwDwYDVR0TAQH/BAUwAwEB/zAdBgNVHQ4EFgQU6CnzVDM/TB7QqucusBQ5O3XI
pIYwHwYDVR0jBBgwFoAU6CnzVDM/TB7QqucusBQ5O3XIpIYwCgYIKoZIzj0EAwID
RwAwRAIgbM0CJKaXrOiEj1yatOZSOkiTNxCKFElej18QMZp3fBQCIAIZSgy8pK3q
pBhg+M3YsNcc9uCBaNrv3kLdQvzIFOHk
-----END CERTIFICATE-----
"""
"""Of `localhost`, signed by itself, until the year 2120. It protects nothing."""

ASK = PolicyDecision(Effect.ASK)
NAMED = PolicyDecision(Effect.ALLOW, reason_type="rule")


def naming(*hosts: str, others: PolicyDecision = ASK) -> Any:
    """Rules that name these hosts and no others."""

    def rule(url: str) -> PolicyDecision:
        return NAMED if parse_url(url).host in hosts else others

    return rule


HERE = naming("127.0.0.1", "localhost")


@pytest.fixture
async def site() -> AsyncIterator[WebServer]:
    async with serving() as site:
        yield site


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return make_context(tmp_path, may_fetch=HERE)


async def fetch(url: str, context: Context, tool: WebFetch | None = None, prompt: str = "") -> Outcome:
    tool = tool or WebFetch()
    args = WebFetchArgs(url, prompt)
    await tool.check(args, context)
    return await tool.run(args, context)


async def refused(url: str, context: Context) -> str:
    with pytest.raises(ToolError) as caught:
        await fetch(url, context)
    return str(caught.value)


# ---------------------------------------------------------------- reading


async def test_a_page_comes_as_markdown(site: WebServer, context: Context) -> None:
    """H1-13"""
    site.page("/", "<title>Greeting</title><h1>Hello</h1><p>See <a href='/more'>more</a>.")
    outcome = await fetch(site.url, context, prompt="Who is greeted?")
    text = str(outcome.content)
    assert "Title: Greeting\n\n# Hello\n\nSee [more](" + site.url + "/more)." in text
    assert "Who is greeted?" in text
    assert outcome.display["code"] == 200
    assert outcome.display["url"] == site.url + "/"
    assert site.received[0].headers["host"] == f"127.0.0.1:{site.port}"
    assert site.received[0].headers["user-agent"].startswith("bobstay/")


@pytest.mark.parametrize(
    ("kind", "body", "expected"),
    [
        ("text/plain", b"<b>as it is</b>", "<b>as it is</b>"),
        ("application/json", b'{"a": 1}', '{"a": 1}'),
        ("application/vnd.api+json", b"[1]", "[1]"),
        ("text/plain; charset=latin-1", b"gr\xfcn", "grün"),
        ("application/octet-stream", b"just text", "just text"),
        ("", b"<!DOCTYPE html><b>bold</b>", "**bold**"),
        ("text/html", b"", "The page is empty."),
    ],
)
async def test_text_is_read_by_its_kind(
    site: WebServer, context: Context, kind: str, body: bytes, expected: str
) -> None:
    """H1-13"""
    site.page("/", body, kind)
    assert str((await fetch(site.url, context)).content).endswith("\n" + expected)


async def test_what_is_no_text_is_saved_and_its_path_told(site: WebServer, context: Context) -> None:
    """H1-13"""
    picture = b"\x89PNG\r\n\x1a\n\0\0\0"
    site.page("/a.png", picture, "image/png")
    site.page("/liar", b"\0\1\2", "text/html")
    message = str((await fetch(site.url + "/a.png", context)).content)
    path = Path(message.partition("saved to ")[2])
    assert path.read_bytes() == picture
    assert path.parent == context.spill
    assert path.suffix == ".png"
    assert "saved to" in str((await fetch(site.url + "/liar", context)).content)


@pytest.mark.parametrize("packing", ["gzip", "deflate", "bare deflate"])
async def test_packed_pages_are_unpacked(site: WebServer, context: Context, packing: str) -> None:
    body = b"<p>packed</p>"
    bare = zlib.compressobj(wbits=-15)
    packed = {
        "gzip": gzip.compress(body),
        "deflate": zlib.compress(body),
        "bare deflate": bare.compress(body) + bare.flush(),
    }[packing]
    site.page("/", packed, extra=f"Content-Encoding: {packing.rpartition(' ')[2]}\r\n")
    assert "packed" in str((await fetch(site.url, context)).content)


async def test_a_bomb_of_packed_zeros_gives_no_more_than_the_limit(site: WebServer) -> None:
    """F23"""
    site.page("/", gzip.compress(b"a" * 100_000_000), extra="Content-Encoding: gzip\r\n")
    page = await fetch_page(site.url, rule=HERE)
    assert len(page.body) == 5_000_000
    assert page.cut


async def test_a_page_that_is_too_long_is_cut_and_says_so(site: WebServer, context: Context) -> None:
    """H1-13, F23"""
    site.page("/", b"x" * 6_000_000, "text/plain")
    outcome = await fetch(site.url, context)
    assert len(outcome.content) < 5_001_000
    assert "longer than 5 MB" in outcome.content


async def test_chunks_early_hints_and_bodies_without_length_are_understood(site: WebServer) -> None:
    site.answers["/chunked"] = (
        b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    )
    site.answers["/open"] = b"HTTP/1.1 200 OK\r\n\r\nuntil the end"
    site.answers["/extra"] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokand more"
    site.answers["/none"] = b"HTTP/1.1 204 No Content\r\n\r\n"
    expected = {"/chunked": b"abcde", "/open": b"until the end", "/extra": b"ok", "/none": b""}
    for path, body in expected.items():
        assert (await fetch_page(site.url + path, rule=HERE)).body == body


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"", "before its answer was complete"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort", "before its answer was complete"),
        (b"SSH-2.0-OpenSSH_9\r\n", "proper HTTP"),
        (b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", "proper HTTP"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 100_000, "too many headers"),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 1\r\n\r\nx", "content encoding is 'br'"),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nxxxxx", "damaged"),
    ],
)
async def test_a_broken_answer_is_explained(site: WebServer, context: Context, answer: bytes, why: str) -> None:
    site.answers["/"] = answer
    assert why in await refused(site.url, context)


async def test_a_silent_server_is_given_up_on(site: WebServer) -> None:
    """H1-13"""
    site.answers["/"] = None
    with pytest.raises(FetchError, match=r"within 0\.2 seconds"):
        await fetch_page(site.url, rule=HERE, timeout=0.2)


async def test_cancelling_lets_go_of_the_connection(site: WebServer, context: Context) -> None:
    site.answers["/"] = None
    running = asyncio.create_task(fetch(site.url, context))
    async with asyncio.timeout(DEADLINE):
        while not site.received:
            await asyncio.sleep(0.005)
        running.cancel()
        while site.open:
            await asyncio.sleep(0.005)
    assert running.cancelled()


async def test_an_error_status_is_an_error_with_what_the_page_said(site: WebServer, context: Context) -> None:
    """H2-2"""
    message = await refused(site.url + "/missing", context)
    assert "status 404" in message
    assert "no page" in message


# ---------------------------------------------------------------- where to go


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:{port}/", "http://localhost:{port}/", "http://2130706433:{port}/", "http://127.1:{port}/"]
)
@pytest.mark.parametrize(
    "decision", [ASK, PolicyDecision(Effect.ALLOW, reason_type="mode"), PolicyDecision(Effect.DENY, reason_type="rule")]
)
async def test_this_machine_is_visited_only_if_a_rule_names_it(
    site: WebServer, tmp_path: Path, url: str, decision: PolicyDecision
) -> None:
    """H1-13"""
    site.page("/", "secret")
    context = make_context(tmp_path, may_fetch=lambda _: decision)
    message = await refused(url.format(port=site.port), context)
    assert "a permission rule names it" in message or "disguised" in message
    assert not site.received
    without = make_context(tmp_path)
    await refused(url.format(port=site.port), without)
    assert not site.received


async def test_a_rule_that_names_an_odd_number_opens_it(site: WebServer, tmp_path: Path) -> None:
    site.page("/", "reached")
    context = make_context(tmp_path, may_fetch=naming("2130706433"))
    assert "reached" in str((await fetch(f"http://2130706433:{site.port}/", context)).content)


async def test_a_public_name_that_points_inside_is_refused_even_if_a_rule_names_it(
    site: WebServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """H1-13: the name service answers as an attacker's would."""
    site.page("/", "secret")
    loop = asyncio.get_running_loop()
    asked: list[Any] = []

    async def resolve(host: str, port: int, **_: Any) -> list[Any]:
        asked.append(host)
        address = "127.0.0.1" if host in ("evil.example", "127.0.0.1") else host
        return [(2, 1, 6, "", (address, port))]

    monkeypatch.setattr(loop, "getaddrinfo", resolve)
    url = f"http://evil.example:{site.port}/"
    message = await refused(url, make_context(tmp_path, may_fetch=naming("evil.example")))
    assert "evil.example is at 127.0.0.1" in message
    assert not site.received
    both = make_context(tmp_path, may_fetch=naming("evil.example", "127.0.0.1"))
    asked.clear()
    assert "secret" in str((await fetch(url, both)).content)
    assert asked.count("evil.example") == 1, "asked twice, the name service could answer differently"
    assert site.received[0].headers["host"] == f"evil.example:{site.port}"


async def test_a_rule_that_names_a_private_name_opens_it(
    site: WebServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """H1-13: no stranger can own a name such as wiki.corp."""
    site.page("/", "reached")

    async def resolve(_host: str, port: int, **_: Any) -> list[Any]:
        return [(2, 1, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolve)
    url = f"http://wiki.corp:{site.port}/"
    assert "private network" in await refused(url, make_context(tmp_path))
    assert "reached" in str((await fetch(url, make_context(tmp_path, may_fetch=naming("wiki.corp")))).content)


async def test_redirects_within_a_host_are_followed(site: WebServer, context: Context) -> None:
    site.moved("/old", "/new")
    site.page("/new", "here now")
    outcome = await fetch(site.url + "/old", context)
    assert "here now" in str(outcome.content)
    assert outcome.display["url"] == site.url + "/new"


async def test_a_redirect_to_another_host_is_told_unless_a_rule_allows_it(site: WebServer, tmp_path: Path) -> None:
    """H1-13"""
    site.moved("/", f"http://localhost:{site.port}/other")
    site.page("/other", "over there")
    message = await refused(site.url, make_context(tmp_path, may_fetch=naming("127.0.0.1")))
    assert f"http://localhost:{site.port}/other" in message
    assert [received.path for received in site.received] == ["/"]
    assert "over there" in str((await fetch(site.url, make_context(tmp_path, may_fetch=HERE))).content)


@pytest.mark.parametrize(
    "target", ["http://10.0.0.1/", "http://169.254.169.254/latest", "http://[::1]:9/", "http://0x7f.1/"]
)
async def test_a_redirect_to_a_private_address_is_refused_even_where_all_is_allowed(
    site: WebServer, tmp_path: Path, target: str
) -> None:
    """H1-13: every hop is checked again."""
    site.moved("/", target)
    wide = naming("127.0.0.1", others=PolicyDecision(Effect.ALLOW, reason_type="mode"))
    message = await refused(site.url, make_context(tmp_path, may_fetch=wide))
    assert "private network" in message or "disguised" in message


async def test_a_redirect_that_a_rule_denies_is_refused(site: WebServer, tmp_path: Path) -> None:
    site.moved("/", "http://forbidden.example/")
    denying = naming("127.0.0.1", others=PolicyDecision(Effect.DENY, "no such sites", reason_type="rule"))
    assert "not allowed: no such sites" in await refused(site.url, make_context(tmp_path, may_fetch=denying))


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://x.example/", "http://u:p@x.example/", "javascript:1"])
async def test_a_redirect_to_something_else_than_a_plain_page_is_refused(
    site: WebServer, context: Context, target: str
) -> None:
    """H1-13"""
    site.moved("/", target)
    assert "cannot be fetched" in await refused(site.url, context)


async def test_redirects_in_a_circle_end(site: WebServer, context: Context) -> None:
    site.moved("/", "/")
    assert "More than 5 redirects" in await refused(site.url, context)
    assert len(site.received) == 6


@pytest.mark.parametrize(
    "url", ["ftp://example.com/", "file:///etc/passwd", "example.com", "http://a b/", "http://u@h/"]
)
async def test_other_addresses_are_refused_before_anything_is_asked(context: Context, url: str) -> None:
    """H1-13"""
    with pytest.raises(ToolError, match="cannot be fetched"):
        await WebFetch().check(WebFetchArgs(url), context)


async def test_an_unknown_host_and_a_closed_port_are_explained(site: WebServer, context: Context) -> None:
    context.services.may_fetch = lambda _: NAMED
    assert "was not found" in await refused("http://no-such-host.invalid/", context)
    async with serving() as gone:
        url = gone.url
    assert "No connection" in await refused(url, context)


def test_the_call_states_the_address_it_would_visit(context: Context) -> None:
    args = WebFetchArgs("https://example.com/x")
    assert WebFetch().access(args, context) == (Access("net", "https://example.com/x"),)
    assert all(claim.shared for claim in WebFetch().claims(args, context))


# ---------------------------------------------------------------- memory


async def test_the_same_page_comes_from_memory_for_a_quarter_of_an_hour(site: WebServer, context: Context) -> None:
    """H1-13"""
    now = 1000.0
    tool = WebFetch(clock=lambda: now)
    site.page("/", "first")
    await fetch(site.url, context, tool)
    site.page("/", "second")
    now += 15 * 60 - 1
    assert "first" in str((await fetch(site.url + "/#part", context, tool)).content)
    now += 1
    assert "second" in str((await fetch(site.url, context, tool)).content)
    assert len(site.received) == 2


async def test_failures_are_not_remembered_and_memory_is_bounded(site: WebServer, context: Context) -> None:
    tool = WebFetch()
    for _ in range(2):
        with pytest.raises(ToolError):
            await fetch(site.url + "/missing", context, tool)
    assert len(site.received) == 2
    site.page("/", "x")
    for number in range(40):
        await fetch(f"{site.url}/?{number}", context, tool)
    await fetch(f"{site.url}/?39", context, tool)
    assert len(site.received) == 42
    await fetch(f"{site.url}/?0", context, tool)
    assert len(site.received) == 43


async def test_a_page_since_denied_is_not_handed_out_from_memory(site: WebServer, context: Context) -> None:
    tool = WebFetch()
    site.page("/", "x")
    await fetch(site.url, context, tool)
    context.services.may_fetch = lambda _: PolicyDecision(Effect.DENY, reason_type="rule")
    with pytest.raises(ToolError):
        await fetch(site.url, context, tool)


# ---------------------------------------------------------------- https


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    path = tmp_path / "certificate.pem"
    path.write_text(CERTIFICATE)
    return path


async def secure_get(certificate: Path, host: str) -> HttpResponse:
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificate)
    async with serving(server) as site:
        site.page("/", "private words")
        return await fetch_page(f"https://{host}:{site.port}/", rule=HERE)


async def test_a_certificate_nobody_vouches_for_is_refused(certificate: Path) -> None:
    """H1-13"""
    with pytest.raises(FetchError, match="certificate of localhost is not valid"):
        await secure_get(certificate, "localhost")


async def test_a_trusted_certificate_of_that_host_is_accepted(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert (await secure_get(certificate, "localhost")).body == b"private words"


async def test_a_certificate_of_another_host_is_refused(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with pytest.raises(FetchError, match="not valid"):
        await secure_get(certificate, "127.0.0.1")
