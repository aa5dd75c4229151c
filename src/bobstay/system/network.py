"""Opens TCP connections, directly or through a proxy, with or without TLS."""

import asyncio
import socket
import ssl
from typing import Any

from msgspec import Struct

from bobstay.system.proxies import Proxies, ProxyServer
from bobstay.system.tls import Authorities

_HEAD_LIMIT = 64 * 1024

_SOCKS_REFUSALS = {
    1: "general failure",
    2: "not allowed by its rules",
    3: "the network cannot be reached",
    4: "the host cannot be reached",
    5: "the connection was refused",
    6: "it took too long",
}


class ProxyRefusedError(OSError):
    """The proxy refused the connection. The text says why and what to do."""


class Network(Struct, frozen=True):
    """Network settings of this process: proxies and certificate authorities."""

    proxies: Proxies = Proxies()
    authorities: Authorities = Authorities()


async def dial(
    protocol: asyncio.Protocol,
    host: str,
    port: int,
    *,
    tls: ssl.SSLContext | None = None,
    server_name: str = "",
    proxy: ProxyServer | None = None,
    proxy_tls: ssl.SSLContext | None = None,
) -> asyncio.Transport:
    """Connect `protocol` to a host.

    Through an HTTP proxy, a connection without TLS ends at the proxy: requests on it have to be in absolute form.

    Args:
        protocol: Receives the data of the connection.
        host: A name or an address; a proxy resolves the name itself.
        port: The port of the host.
        tls: Use TLS with this context.
        server_name: The name expected in the certificate; by default `host`.
        proxy: Connect through this proxy.
        proxy_tls: Use TLS to the proxy itself, if it is an https:// one.

    Raises:
        OSError: the connection failed.
        ProxyRefusedError: the proxy refused the connection.
        UnicodeError: the host's name is invalid.
    """
    if proxy is None:
        return await _connect(protocol, host, port, tls, server_name or host)
    if proxy.scheme != "socks5" and tls is None:
        return await _connect(protocol, proxy.host, proxy.port, proxy_tls, proxy.host)
    reader = asyncio.StreamReader(_HEAD_LIMIT)
    transport = await _connect(asyncio.StreamReaderProtocol(reader), proxy.host, proxy.port, proxy_tls, proxy.host)
    try:
        try:
            if proxy.scheme == "socks5":
                await _connect_socks(reader, transport, proxy, host, port)
            else:
                await _open_tunnel(reader, transport, proxy, host, port)
        except (EOFError, asyncio.LimitOverrunError) as error:
            raise ProxyRefusedError("the proxy closed the connection without a proper answer") from error
        return await _hand_over(transport, protocol, tls, server_name or host)
    except BaseException:
        # Cancelled or failed: nothing else would close this transport.
        transport.abort()
        raise


async def _connect(
    protocol: asyncio.Protocol, host: str, port: int, tls: ssl.SSLContext | None, server_name: str
) -> asyncio.Transport:
    options: dict[str, Any] = {"ssl": tls, "server_hostname": server_name} if tls else {}
    loop = asyncio.get_running_loop()
    if isinstance(loop, asyncio.BaseEventLoop):  # others do not know the option
        # Try the next address early, so that a dead IPv6 route costs a quarter of a second, not the whole timeout.
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


async def _open_tunnel(
    reader: asyncio.StreamReader, transport: asyncio.Transport, proxy: ProxyServer, host: str, port: int
) -> None:
    target = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    lines = [f"CONNECT {target} HTTP/1.1", f"host: {target}"]
    if proxy.authorization:
        lines.append(f"proxy-authorization: {proxy.authorization}")
    transport.write(("\r\n".join(lines) + "\r\n\r\n").encode("ascii", "replace"))
    head = await reader.readuntil(b"\r\n\r\n")
    first = head.partition(b"\r\n")[0]
    fields = first.split(b" ", 2)
    if len(fields) > 1 and fields[0].startswith(b"HTTP/1.") and fields[1].startswith(b"2"):
        return
    status_line = first[:200].decode("latin-1")
    hint = ""
    if len(fields) > 1 and fields[1] == b"407":
        hint = (
            "; it does not accept this user and password"
            if proxy.user
            else "; it requires a user and a password: write them into its address, http://user:password@host:port"
        )
    raise ProxyRefusedError(f"the proxy refused ({status_line!r}){hint}")


async def _connect_socks(
    reader: asyncio.StreamReader, transport: asyncio.Transport, proxy: ProxyServer, host: str, port: int
) -> None:
    """SOCKS 5 (RFC 1928) with user and password (RFC 1929); the proxy resolves the name."""
    transport.write(b"\x05\x02\x00\x02" if proxy.user else b"\x05\x01\x00")
    version, method = await reader.readexactly(2)
    if version != 5:
        raise ProxyRefusedError("the proxy does not speak SOCKS 5")
    if method == 2 and proxy.user:
        user, password = proxy.user.encode()[:255], proxy.password.encode()[:255]
        transport.write(b"\x01" + bytes([len(user)]) + user + bytes([len(password)]) + password)
        if (await reader.readexactly(2))[1] != 0:
            raise ProxyRefusedError("the proxy does not accept this user and password")
    elif method != 0:
        raise ProxyRefusedError("the proxy requires a user and a password: socks5://user:password@host:port")
    transport.write(b"\x05\x01\x00" + _socks_address(host) + port.to_bytes(2, "big"))
    _, status, _, kind = await reader.readexactly(4)
    if status != 0:
        raise ProxyRefusedError(f"the proxy refused ({_SOCKS_REFUSALS.get(status, f'code {status}')})")
    length = {1: 4, 4: 16}[kind] if kind in (1, 4) else (await reader.readexactly(1))[0]
    await reader.readexactly(length + 2)


def _socks_address(host: str) -> bytes:
    for kind, family in ((b"\x01", socket.AF_INET), (b"\x04", socket.AF_INET6)):
        try:
            return kind + socket.inet_pton(family, host)
        except (OSError, ValueError):
            continue
    name = host.encode("idna")
    if len(name) > 255:
        raise ProxyRefusedError("the host's name is too long for the proxy")
    return b"\x03" + bytes([len(name)]) + name
