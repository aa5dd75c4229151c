"""Asks a proxy for a connection to a host: HTTP CONNECT and SOCKS 5."""

import asyncio
import socket

from bobstay.http.proxies import ProxyRefusedError, ProxyServer

_SOCKS_REFUSALS = {
    1: "general failure",
    2: "not allowed by its rules",
    3: "the network cannot be reached",
    4: "the host cannot be reached",
    5: "the connection was refused",
    6: "it took too long",
}


async def open_tunnel(
    reader: asyncio.StreamReader, transport: asyncio.Transport, proxy: ProxyServer, host: str, port: int
) -> None:
    """Ask for a connection to `host`; the bytes on `transport` are the host's afterwards.

    Raises:
        ProxyRefusedError
    """
    ask = _connect_socks if proxy.scheme == "socks5" else _connect_http
    try:
        await ask(reader, transport, proxy, host, port)
    except (EOFError, asyncio.LimitOverrunError) as error:
        raise ProxyRefusedError("the proxy closed the connection without a proper answer") from error


async def _connect_http(
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
