"""Sends one request to IP addresses that were resolved, and can be checked, beforehand."""

import asyncio
import socket
from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from bobstay.http.client import HttpClient
from bobstay.http.http_error import HttpError
from bobstay.http.network import ConnectionTarget, Network
from bobstay.http.web_address import WebTarget
from bobstay.version import __version__

_MAX_ADDRESSES = 4


class HttpResponse(Struct, frozen=True):
    url: str
    status: int
    headers: dict[str, str]
    """Names in lower case; the last of duplicate headers wins."""
    body: bytes
    cut: bool = False
    """Whether the body exceeded the limit."""


async def resolve(target: WebTarget, network: Network) -> ConnectionTarget:
    """Find how to reach the host of `target`: at its IP addresses, or through a proxy that resolves the name itself.

    Whoever checks the addresses of the result and sends the request there does not depend on what the name service
    answers the next time.

    Raises:
        HttpError: the host is unknown, or the proxy's address cannot be used.
    """
    route = network.target(target.scheme, target.host, target.port)
    if route.proxy is not None:
        return route
    try:
        loop = asyncio.get_running_loop()
        entries = await loop.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise HttpError(
            f"The host {target.host} was not found ({error}). Check the spelling; a network that reaches others only "
            "through a proxy needs HTTPS_PROXY and HTTP_PROXY.",
            "unreachable",
        ) from None
    addresses = dict.fromkeys(str(entry[4][0]) for entry in entries)
    if not addresses:  # a target without addresses would have its name resolved again, unchecked
        raise HttpError(f"The host {target.host} has no address.", "unreachable")
    return replace(route, addresses=tuple(addresses)[:_MAX_ADDRESSES])


async def send_request(
    target: WebTarget,
    route: ConnectionTarget,
    network: Network,
    *,
    limit: int,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    body: bytes = b"",
) -> HttpResponse:
    """Send one request and return the response, its body cut to `limit` bytes.

    Args:
        target: The URL.
        route: A result of `resolve` for it.
        network: The settings with which it was resolved.
        limit: Also bounds what a compressed body is decompressed to.
        method: The HTTP method.
        headers: In addition to the usual ones, or instead of them.
        body: The body of the request.

    Raises:
        HttpError: the connection failed or the response was invalid.
    """
    usual = {"User-Agent": f"bobstay/{__version__}", "Accept-Encoding": "gzip, deflate", "Connection": "close"}
    async with HttpClient(network, connect_attempts=1) as client:
        reply = await client.request(
            method, route, target.path, {**usual, **(headers or {})}, body, decompressed_limit=limit + 1
        )
        data = await reply.read(limit + 1)
    if reply.status == 407 and route.proxy is not None:
        raise HttpError(
            f"The proxy {route.proxy.address} wants a user and a password, or does not accept those given.",
            "unreachable",
        )
    return HttpResponse(target.url, reply.status, reply.headers, data[:limit], len(data) > limit)
