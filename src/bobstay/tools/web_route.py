"""Resolves how to reach a host: its IP addresses, or a proxy."""

import asyncio
import socket

from msgspec import Struct

from bobstay.system.network import Network
from bobstay.system.proxies import BadProxyError, ProxyServer
from bobstay.tools.web_address import WebTarget

_ADDRESSES = 4


class FetchError(Exception):
    """A page could not be fetched. The text says why and what to do."""


class WebRoute(Struct, frozen=True):
    """How to reach a host: at one of these IP addresses, or through a proxy that resolves the name itself."""

    addresses: tuple[str, ...] = ()
    proxy: ProxyServer | None = None
    network: Network = Network()


async def find_route(target: WebTarget, network: Network) -> WebRoute:
    """Find the route to the host of `target`.

    Raises:
        FetchError: the host is unknown, or the proxy's address cannot be used.
    """
    chosen = network.proxies.choose(target.scheme, target.host, target.port)
    if not chosen:
        return WebRoute(tuple(await resolve_host(target)), network=network)
    try:
        return WebRoute(proxy=ProxyServer.parse(chosen), network=network)
    except BadProxyError as error:
        raise FetchError(str(error)) from None


async def resolve_host(target: WebTarget) -> list[str]:
    """Resolve the host name to IP addresses.

    Raises:
        FetchError: the name is unknown.
    """
    loop = asyncio.get_running_loop()
    try:
        entries = await loop.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise FetchError(
            f"The host {target.host} was not found ({error}). Check the spelling; a network that reaches others only "
            "through a proxy needs HTTPS_PROXY and HTTP_PROXY."
        ) from None
    return list(dict.fromkeys(str(entry[4][0]) for entry in entries))[:_ADDRESSES]
