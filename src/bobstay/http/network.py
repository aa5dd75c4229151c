"""Opens TCP connections, directly or through a proxy, with or without TLS."""

import asyncio
import ssl
from typing import Any

from msgspec import Struct

from bobstay.http.proxies import Proxies, ProxyServer, parse_ip


class Authorities(Struct, frozen=True):
    """Files of certificate authorities, from the usual environment variables."""

    file: str = ""
    """Replaces the system's file: `SSL_CERT_FILE`, `REQUESTS_CA_BUNDLE`."""
    directory: str = ""
    """Replaces the system's directory: `SSL_CERT_DIR`."""
    extra: str = ""
    """Added to the system's: `NODE_EXTRA_CA_CERTS`."""


class ConnectionTarget(Struct, frozen=True):
    """The address of a connection, and the proxy it goes through, if any."""

    tls: bool
    host: str
    port: int
    proxy: ProxyServer | None = None
    addresses: tuple[str, ...] = ()
    """Connect to these IP addresses only, whatever the host resolves to by then. A proxy resolves the name itself."""

    @property
    def address(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def authority(self) -> str:
        """The address for a Host header, without the default port."""
        return self.address.removesuffix(":443" if self.tls else ":80")

    @property
    def is_relayed(self) -> bool:
        """Whether an HTTP proxy forwards the request itself, so that it needs the absolute URL."""
        return self.proxy is not None and self.proxy.scheme != "socks5" and not self.tls


class Network(Struct, frozen=True):
    """Network settings of this process: proxies and certificate authorities."""

    proxies: Proxies = Proxies()
    authorities: Authorities = Authorities()

    def target(self, scheme: str, host: str, port: int) -> ConnectionTarget:
        """The connection for requests to a host.

        Raises:
            BadProxyError: the address of the proxy for this host is invalid.
        """
        proxy = self.proxies.choose(scheme, host, port)
        return ConnectionTarget(scheme == "https", host, port, ProxyServer.parse(proxy) if proxy else None)


async def dial(
    protocol: asyncio.Protocol, target: ConnectionTarget, context: ssl.SSLContext | None, address: str
) -> asyncio.Transport:
    """Connect `protocol` to a host.

    Through an HTTP proxy, a connection without TLS ends at the proxy: requests on it have to be in absolute form.

    Args:
        protocol: Receives the data of the connection.
        target: The host, whose name is expected in its certificate, and the proxy.
        context: For TLS to the host or to the proxy, if either of them needs it.
        address: A name or an IP address of the host; a proxy resolves the name itself.

    Raises:
        OSError: the connection failed.
        ProxyRefusedError: the proxy refused the connection.
        UnicodeError: the host's name is invalid.
    """
    tls = context if target.tls else None
    proxy = target.proxy
    if proxy is None:
        return await _connect(protocol, address, target.port, tls, target.host)
    proxy_tls = context if proxy.scheme == "https" else None
    if target.is_relayed:
        return await _connect(protocol, proxy.host, proxy.port, proxy_tls, proxy.host)
    from bobstay.http.proxy_tunnel import open_tunnel

    reader = asyncio.StreamReader()
    transport = await _connect(asyncio.StreamReaderProtocol(reader), proxy.host, proxy.port, proxy_tls, proxy.host)
    try:
        await open_tunnel(reader, transport, proxy, address, target.port)
        return await _hand_over(transport, protocol, tls, target.host)
    except BaseException:
        # Cancelled or failed: nothing else would close this transport.
        transport.abort()
        raise


async def _connect(
    protocol: asyncio.Protocol, host: str, port: int, tls: ssl.SSLContext | None, server_name: str
) -> asyncio.Transport:
    options: dict[str, Any] = {"ssl": tls, "server_hostname": server_name} if tls else {}
    loop = asyncio.get_running_loop()
    if isinstance(loop, asyncio.BaseEventLoop) and parse_ip(host) is None:  # other loops do not know the option
        # Try the next address early, so that a dead IPv6 route costs a quarter of a second, not the whole timeout.
        # A literal has no next address, and asyncio's race leaves its winner open when it is cancelled at that moment.
        options["happy_eyeballs_delay"] = 0.25
    transport, _ = await loop.create_connection(lambda: protocol, host, port, **options)
    return transport


async def _hand_over(
    transport: asyncio.Transport, protocol: asyncio.Protocol, tls: ssl.SSLContext | None, server_name: str
) -> asyncio.Transport:
    if tls is None:
        transport.set_protocol(protocol)
        protocol.connection_made(transport)
        return transport
    upgraded = await asyncio.get_running_loop().start_tls(transport, protocol, tls, server_hostname=server_name)
    if upgraded is None:
        raise OSError("the proxy closed the connection")
    protocol.connection_made(upgraded)
    return upgraded
