"""The HTTP proxy of a sandbox with network access: it connects to listed hosts only.

The requested host name is compared with the list, then resolved here, and the connection goes to the checked address.
A listed host may still serve several sites behind one name: encrypted traffic is not inspected.
"""

import asyncio
import ipaddress
import socket
from contextlib import suppress
from urllib.parse import urlsplit

from msgspec import Struct

PORT = 3128
_LONGEST_HEAD = 65_536
_TIMEOUT = 30.0
_MOST = 256
_HOP = frozenset((b"connection", b"proxy-connection", b"proxy-authorization", b"keep-alive", b"te", b"upgrade"))
_USUAL_PORTS = (80, 443)


class ProxyRefusal(Exception):  # noqa: N818 - it is a response
    def __init__(self, status: str, why: str) -> None:
        super().__init__(why)
        self.status = status


class ProxyRequest(Struct, frozen=True):
    host: str
    port: int
    head: bytes = b""
    """The request head to forward to the host; empty for a tunnel."""


class Proxy:
    """Serves the listener of one sandbox."""

    def __init__(self, domains: tuple[str, ...]) -> None:
        self._domains = domains
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()
        self._arrival: asyncio.Task[None] | None = None

    def expect(self, channel: socket.socket) -> None:
        """Serve the listening socket that will arrive over `channel`, which is closed afterwards."""
        self._arrival = asyncio.get_running_loop().create_task(self._receive(channel))

    def close(self) -> None:
        for task in (self._arrival, *self._open):
            if task is not None:
                task.cancel()
        if self._server is not None:
            self._server.close()

    async def _receive(self, channel: socket.socket) -> None:
        try:
            await _wait_readable(channel)
            _, descriptors, _, _ = socket.recv_fds(channel, 1, 1)
        except OSError:
            return  # the sandbox ended before it sent the socket
        finally:
            channel.close()
        if descriptors:
            await self.serve(socket.socket(fileno=descriptors[0]))

    async def serve(self, listener: socket.socket) -> None:
        listener.setblocking(False)
        self._server = await asyncio.start_server(self._handle_connection, sock=listener, limit=_LONGEST_HEAD)

    async def _handle_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            await self._forward(reader, writer)
        except ProxyRefusal as refusal:
            text = f"The sandbox does not let this through: {refusal}.\n".encode()
            head = f"HTTP/1.1 {refusal.status}\r\nContent-Type: text/plain\r\nContent-Length: {len(text)}\r\n"
            writer.write(head.encode() + b"X-Sandbox: refused\r\nConnection: close\r\n\r\n" + text)
            with suppress(OSError):
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
            pass  # one side disconnected
        finally:
            self._open.discard(task)
            writer.close()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._open) > _MOST:
            raise ProxyRefusal("503 Service Unavailable", "too many connections at once")
        async with asyncio.timeout(_TIMEOUT):
            request = parse(await reader.readuntil(b"\r\n\r\n"))
            address = await self._resolve_permitted(request)
            try:
                upstream = await asyncio.open_connection(address, request.port)
            except OSError as error:
                raise ProxyRefusal("502 Bad Gateway", f"{request.host} cannot be reached: {error.strerror}") from error
        try:
            if request.head:
                upstream[1].write(request.head)
            else:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await asyncio.gather(_pump(reader, upstream[1]), _pump(upstream[0], writer))
        finally:
            upstream[1].close()

    async def _resolve_permitted(self, request: ProxyRequest) -> str:
        """The address to connect to."""
        if not permits(self._domains, request.host, request.port):
            raise ProxyRefusal(
                "403 Forbidden",
                f"{request.host}:{request.port} is not listed in sandbox.network.allowedDomains of the settings",
            )
        loop = asyncio.get_running_loop()
        try:
            found = await loop.getaddrinfo(request.host, request.port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise ProxyRefusal("502 Bad Gateway", f"{request.host} has no address: {error.strerror}") from error
        address = str(found[0][4][0])
        by_address = _address(request.host) is not None
        if not by_address and not ipaddress.ip_address(address.partition("%")[0]).is_global:
            raise ProxyRefusal("403 Forbidden", f"{request.host} leads to {address}, which is not a public address")
        return address


def permits(domains: tuple[str, ...], host: str, port: int) -> bool:
    """Whether a host is listed: by its name, by `*.parent` for subdomains, with `:port` for unusual ports."""
    for entry in domains:
        name, colon, number = entry.lower().strip().rstrip(".").partition(":")
        if colon and number != str(port):
            continue
        if not colon and port not in _USUAL_PORTS:
            continue
        name = name.rstrip(".")
        if name.startswith("*."):
            if host.endswith(name[1:]) and len(host) > len(name) - 1 and _address(host) is None:
                return True
        elif host == name:
            return True
    return False


def parse(head: bytes) -> ProxyRequest:
    """Parse the head of a proxy request.

    Raises:
        ProxyRefusal: It is not forwarded.
    """
    lines = head[:-4].split(b"\r\n")
    parts = lines[0].split(b" ")
    if len(parts) != 3 or not parts[2].startswith(b"HTTP/1.") or any(byte < 32 or byte > 126 for byte in lines[0]):
        raise ProxyRefusal("400 Bad Request", "it is not a proxy request")
    method, target = parts[0], parts[1].decode("ascii")
    if method == b"CONNECT":
        host, _, port = target.rpartition(":")
        return ProxyRequest(_host(host), _port(port))
    try:
        split = urlsplit(target)
        port_number = split.port or 80
    except ValueError as error:
        raise ProxyRefusal("400 Bad Request", "its URL cannot be parsed") from error
    if split.scheme != "http" or split.username is not None or split.password is not None:
        raise ProxyRefusal(
            "400 Bad Request", "only unencrypted http URLs without a user name are forwarded; use CONNECT for others"
        )
    host = _host(split.hostname or "")
    path = split.path or "/"
    named = split.netloc.rpartition("@")[2].encode()
    kept = [line for line in lines[1:] if line.partition(b":")[0].strip().lower() not in _HOP | {b"host"}]
    if any(line[:1] in (b" ", b"\t") or b"\n" in line or b"\r" in line for line in kept):
        raise ProxyRefusal("400 Bad Request", "its headers cannot be parsed")
    first = b" ".join((method, (path + (f"?{split.query}" if split.query else "")).encode(), b"HTTP/1.1"))
    return ProxyRequest(
        host, port_number, b"\r\n".join((first, b"Host: " + named, b"Connection: close", *kept, b"", b""))
    )


def _host(text: str) -> str:
    host = text.strip("[]").lower().rstrip(".")
    if not host or len(host) > 253 or any(not (c.isascii() and (c.isalnum() or c in "-._:")) for c in host):
        raise ProxyRefusal("400 Bad Request", "its host name cannot be parsed")
    return host


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 5 and 0 < int(text) < 65_536):
        raise ProxyRefusal("400 Bad Request", "its port cannot be parsed")
    return int(text)


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
    except OSError:
        writer.close()


async def _wait_readable(channel: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(channel, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(channel)
