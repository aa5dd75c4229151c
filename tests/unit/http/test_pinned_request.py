"""Requests to addresses that were resolved beforehand."""

import asyncio
import gzip
import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec.structs import replace

from bobstay.http.http_error import HttpError
from bobstay.http.network import ConnectionTarget, Network
from bobstay.http.pinned_request import resolve, send_request
from bobstay.http.proxies import Proxies
from bobstay.http.web_address import parse_url
from tests.kit.web_server import WebServer, serving


@pytest.fixture
async def site() -> AsyncIterator[WebServer]:
    async with serving() as site:
        site.page("/", "here")
        yield site


def resolving(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> list[str]:
    """A name service with these answers; the names it is asked for."""
    asked: list[str] = []

    async def getaddrinfo(host: str, port: int, **_: Any) -> list[Any]:
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)
    return asked


async def test_only_the_resolved_addresses_are_connected_to(site: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
    target = parse_url(f"http://named.example:{site.port}/")
    with monkeypatch.context() as patch:
        resolving(patch, "127.0.0.1")
        route = await resolve(target, Network())
    asked = resolving(monkeypatch, "127.0.0.2")  # the name leads elsewhere by now
    answer = await send_request(target, route, Network(), limit=100)
    assert (answer.body, answer.cut) == (b"here", False)
    assert "named.example" not in asked
    assert site.received[0].headers["host"] == f"named.example:{site.port}"


async def test_the_next_address_is_tried_if_one_does_not_answer(site: WebServer) -> None:
    route = ConnectionTarget(tls=False, host="named.example", port=site.port, addresses=("127.0.0.2", "127.0.0.1"))
    answer = await send_request(parse_url(f"http://named.example:{site.port}/"), route, Network(), limit=100)
    assert answer.body == b"here"
    refused = replace(route, addresses=("127.0.0.2", "127.0.0.3"))
    with pytest.raises(HttpError, match="No connection to named") as caught:
        await send_request(parse_url(f"http://named.example:{site.port}/"), refused, Network(), limit=100)
    assert caught.value.kind == "unreachable"


async def test_a_name_without_an_address_is_not_resolved_again(monkeypatch: pytest.MonkeyPatch) -> None:
    resolving(monkeypatch)
    with pytest.raises(HttpError, match="no address"):
        await resolve(parse_url("http://named.example/"), Network())


async def test_a_proxy_resolves_the_name_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = resolving(monkeypatch, "127.0.0.1")
    route = await resolve(parse_url("http://named.example/"), Network(Proxies(http="http://proxy.test:8080")))
    assert (route.addresses, asked) == ((), [])


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(("size", "cut"), [(99, False), (100, False), (101, True), (10_000_000, True)])
async def test_a_body_is_cut_at_the_limit_compressed_or_not(
    site: WebServer, packed: bool, size: int, cut: bool
) -> None:
    body = b"x" * size
    extra = "Content-Encoding: gzip\r\n" if packed else ""
    site.page("/", gzip.compress(body) if packed else body, extra=extra)
    target = parse_url(site.url)
    answer = await send_request(target, await resolve(target, Network()), Network(), limit=100)
    assert (answer.body, answer.cut) == (body[:100], cut)


@pytest.mark.parametrize("packed", [b"\x1f\x8b\x08\x08\0\0\0\0\0\xff" + b"a" * 1_000_000, gzip.compress(b"") * 50_000])
async def test_a_compressed_body_without_content_is_not_read_forever(site: WebServer, packed: bytes) -> None:
    """The name in a gzip header may be of any length, and any number of empty streams may follow each other."""
    site.page("/", packed, extra="Content-Encoding: gzip\r\n")
    target = parse_url(site.url)
    with pytest.raises(HttpError, match="hold no content"):
        await send_request(target, await resolve(target, Network()), Network(), limit=100)


async def test_a_key_is_sent_to_one_host_only(site: WebServer) -> None:
    async with serving() as other:
        site.moved("/", other.url, 307)
        target = parse_url(site.url)
        route = await resolve(target, Network())
        answer = await send_request(target, route, Network(), limit=100, headers={"Authorization": "Bearer secret"})
        assert (answer.status, other.received) == (307, [])
    assert site.received[0].headers["authorization"] == "Bearer secret"
