"""How the host of a web address is reached: at which numeric addresses, or through which proxy."""

import asyncio
import socket

from msgspec import Struct

from bobstay.system.network import Network
from bobstay.system.proxies import BadProxyError, ProxyServer
from bobstay.tools.web_address import WebTarget

_ADDRESSES = 4


class FetchError(Exception):
    """A page could not be had. The text says why and what to do."""


class WebRoute(Struct, frozen=True):
    """How a host is reached: at one of these numeric addresses, or through a proxy that looks the name up itself."""

    addresses: tuple[str, ...] = ()
    proxy: ProxyServer | None = None
    network: Network = Network()


async def route_to(target: WebTarget, network: Network) -> WebRoute:
    """The way to `target`'s host, wherever it is.

    Raises:
        FetchError: the host is unknown, or the proxy's address cannot be used.
    """
    chosen = network.proxies.choose(target.scheme, target.host, target.port)
    if not chosen:
        return WebRoute(tuple(await addresses_of(target)), network=network)
    try:
        return WebRoute(proxy=ProxyServer.parse(chosen), network=network)
    except BadProxyError as error:
        raise FetchError(str(error)) from None


async def addresses_of(target: WebTarget) -> list[str]:
    """Where the name service says the host is.

    Raises:
        FetchError: it does not know.
    """
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise FetchError(
            f"The host {target.host} was not found ({error}). Check the spelling; a network that reaches others only "
            "through a proxy needs HTTPS_PROXY and HTTP_PROXY."
        ) from None
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))[:_ADDRESSES]
