"""Real proxies on the loopback interface, which refuse what real ones refuse.

HTTP: RFC 9112 section 3.2.2 (a proxy is asked in absolute form), RFC 9110 sections 9.3.6 (CONNECT names host and port)
and 11.7.1 (407 with Proxy-Authenticate). A proxy that does not speak TLS itself cannot relay an absolute https://
request: Squid answers those with an error page, tinyproxy 1.11 with 501. SOCKS: RFC 1928 and 1929. (November 2026.)
"""

import asyncio
import contextlib
import ssl
from base64 import b64encode
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from tests.kit.sockets import GONE, listening


class Proxy:
    """Knows where names lead; nobody else in a test does, as in a network without a name service of its own."""

    def __init__(self, hosts: dict[str, str], *, user: str = "", password: str = "") -> None:
        self.hosts = hosts
        """`host:port` to the address behind it."""
        self.address = ""
        self.asked: list[str] = []
        """The first line of each request it read."""
        self._wanted = f"Basic {b64encode(f'{user}:{password}'.encode()).decode()}" if user else ""
        self._user, self._password = user, password

    async def http(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.rstrip("\r\n").split("\r\n")
        self.asked.append(first)
        method, target, _ = first.split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        if self._wanted and headers.get("proxy-authorization") != self._wanted:
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=x\r\n")
            writer.write(b"Content-Length: 0\r\nConnection: close\r\n\r\n")
            return
        if method == "CONNECT":
            if not target.rpartition(":")[2].isdigit():
                writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
            elif target not in self.hosts:
                writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
            else:
                await self._tunnel(reader, writer, target, b"HTTP/1.1 200 Connection established\r\n\r\n")
            return
        await self._relay(method, target, headers, reader, writer)

    async def _relay(
        self,
        method: str,
        target: str,
        headers: dict[str, str],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        parts = urlsplit(target)
        if parts.scheme != "http" or headers.get("host") != parts.netloc:
            status = b"501 Not Implemented" if parts.scheme == "https" else b"400 Bad Request"
            writer.write(b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            return
        name = f"{parts.hostname}:{parts.port or 80}"
        if name not in self.hosts:
            writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            return
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        kept = {each: value for each, value in headers.items() if not each.startswith("proxy-")} | {
            "connection": "close"
        }
        fields = "".join(f"{each}: {value}\r\n" for each, value in kept.items())
        host, _, port = self.hosts[name].rpartition(":")
        far_reader, far_writer = await asyncio.open_connection(host, int(port))
        far_writer.write(f"{method} {path} HTTP/1.1\r\n{fields}\r\n".encode("latin-1"))
        far_writer.write(await reader.readexactly(int(headers.get("content-length", "0"))))
        await _pump(far_reader, writer)
        far_writer.close()

    async def _tunnel(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, name: str, granted: bytes
    ) -> None:
        host, _, port = self.hosts[name].rpartition(":")
        far_reader, far_writer = await asyncio.open_connection(host, int(port))
        writer.write(granted)
        await asyncio.gather(_pump(reader, far_writer), _pump(far_reader, writer))

    async def socks(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, count = await reader.readexactly(2)
        methods = await reader.readexactly(count)
        wanted = 2 if self._user else 0
        if wanted not in methods:
            writer.write(b"\x05\xff")
            return
        writer.write(bytes([5, wanted]))
        if self._user:
            user = await reader.readexactly((await reader.readexactly(2))[1])
            password = await reader.readexactly((await reader.readexactly(1))[0])
            good = (user, password) == (self._user.encode(), self._password.encode())
            writer.write(b"\x01\x00" if good else b"\x01\x01")
            if not good:
                return
        _, _, _, kind = await reader.readexactly(4)
        assert kind == 3, "names are looked up by the proxy"
        host = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
        name = f"{host}:{int.from_bytes(await reader.readexactly(2), 'big')}"
        self.asked.append(name)
        if name not in self.hosts:
            writer.write(b"\x05\x04\x00\x01" + bytes(6))
            return
        await self._tunnel(reader, writer, name, b"\x05\x00\x00\x01" + bytes(6))


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(*GONE):
        while data := await reader.read(65_536):
            writer.write(data)
    writer.close()
    with contextlib.suppress(*GONE):
        await writer.wait_closed()


@asynccontextmanager
async def proxying(
    hosts: dict[str, str],
    *,
    user: str = "",
    password: str = "",
    socks: bool = False,
    tls: ssl.SSLContext | None = None,
) -> AsyncGenerator[Proxy, None]:
    """A proxy that runs while the block does; with `tls` it is an https:// one."""
    proxy = Proxy(hosts, user=user, password=password)
    async with listening(proxy.socks if socks else proxy.http, tls=tls) as address:
        proxy.address = address
        yield proxy
