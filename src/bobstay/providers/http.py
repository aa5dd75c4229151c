"""Speaks HTTP/1.1 to model servers: kept-alive connections, streamed answers, proxies, and nothing more."""

import asyncio
import contextlib
import ssl
import time
from base64 import b64encode
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from bobstay.providers.base import ProviderError
from bobstay.providers.connection import Connection, Reply, Tunnel

__all__ = ["Endpoint", "HttpClient", "Reply"]

_IDLE_SECONDS = 50.0
"""How long an unused connection is trusted; routers forget silent ones without telling anybody."""

_ENDING_SECONDS = 0.25
"""How long a connection whose answer is about to end is waited for: a new one would take no less."""

_ROUNDS = 20


class Endpoint(Struct, frozen=True):
    """Where a connection leads to. `proxy` is the URL it goes through, or nothing."""

    tls: bool
    host: str
    port: int
    proxy: str = ""

    @property
    def address(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def authority(self) -> str:
        """The address as a Host header has it: the usual port is left out."""
        return self.address.removesuffix(":443" if self.tls else ":80")


_authorities: dict[ssl.DefaultVerifyPaths, ssl.SSLContext] = {}
"""Whom we trust, by the places it was read from."""


class HttpClient:
    def __init__(self, *, proxy: str | None = None, no_proxy: str = "", connect_timeout: float = 30) -> None:
        """`no_proxy` is a comma-separated list of hosts (their sub-domains included) reached directly; `*` is all."""
        self._proxy = (proxy or "").strip()
        self._direct = tuple(host.strip().lstrip(".").lower() for host in no_proxy.split(",") if host.strip())
        self._connect_timeout = connect_timeout
        self._idle: dict[Endpoint, list[Connection]] = {}
        self._open: dict[Connection, Endpoint] = {}
        self._freed = asyncio.Event()
        self._tls: ssl.SSLContext | None = None

    async def post(
        self, url: str, headers: dict[str, str], body: bytes, on_activity: Callable[[], None] | None = None
    ) -> Reply:
        """Send `body`; return when the head of the answer is there. Any status is an answer, not an error.

        `on_activity` is called whenever bytes of the answer arrive.
        """
        return await self._ask("POST", url, headers, body, on_activity)

    async def get(self, url: str, headers: dict[str, str] | None = None) -> Reply:
        return await self._ask("GET", url, headers or {}, b"")

    async def warm(self, url: str) -> None:
        """Open a connection ahead of need. Failing to is no error: the request itself will tell."""
        with contextlib.suppress(ProviderError):
            endpoint, _ = self._locate(url)
            if not self._idle.get(endpoint):
                self._keep(endpoint, await self._connect(endpoint))

    async def close(self) -> None:
        self._idle.clear()
        for connection in tuple(self._open):
            connection.abort()
        # Sockets are closed in the loop's next rounds; a loop that is closed before would leave them open.
        for _ in range(_ROUNDS):
            if not self._open:
                break
            await asyncio.sleep(0)

    async def _ask(
        self,
        method: str,
        url: str,
        headers: dict[str, str],
        body: bytes,
        on_activity: Callable[[], None] | None = None,
    ) -> Reply:
        endpoint, target = self._locate(url)
        message = _head(method, target, endpoint, headers, body) + body
        kept = self._take(endpoint) or await self._about_to_be_free(endpoint)
        if kept is not None:
            reply = kept.send(message, on_activity)
            try:
                return await reply.started()
            except ProviderError:
                # The server may have dropped the connection before it saw the request: then nothing was lost.
                if not reply.untouched:
                    raise
        connection = await self._connect(endpoint)
        return await connection.send(message, on_activity).started()

    def _locate(self, url: str) -> tuple[Endpoint, str]:
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            raise ProviderError(f"{url!r} is not a URL: {error}", kind="invalid_request") from error
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ProviderError(f"{url!r} is not an http or https URL. Check the base URL.", kind="invalid_request")
        tls = parts.scheme == "https"
        proxy = self._proxy if self._proxy and not self._is_direct(parts.hostname) else ""
        endpoint = Endpoint(tls, parts.hostname, port or (443 if tls else 80), proxy)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        if any(character <= " " or character > "~" for character in path):
            raise ProviderError(f"{url!r} has characters that no URL may have.", kind="invalid_request")
        return endpoint, (f"http://{endpoint.authority}{path}" if proxy and not tls else path)

    def _is_direct(self, host: str) -> bool:
        return any(rule in ("*", host) or host.endswith("." + rule) for rule in self._direct)

    def _take(self, endpoint: Endpoint) -> Connection | None:
        idle = self._idle.get(endpoint, [])
        while idle:
            connection = idle.pop()
            if connection.usable and time.monotonic() - connection.idle_since < _IDLE_SECONDS:
                return connection
            connection.close()
        return None

    async def _about_to_be_free(self, endpoint: Endpoint) -> Connection | None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_ENDING_SECONDS):
                while any(connection.ending for connection, where in self._open.items() if where == endpoint):
                    self._freed.clear()
                    await self._freed.wait()
                    if (connection := self._take(endpoint)) is not None:
                        return connection
        return None

    def _keep(self, endpoint: Endpoint, connection: Connection) -> None:
        connection.idle_since = time.monotonic()
        self._idle.setdefault(endpoint, []).append(connection)

    def _forget(self, endpoint: Endpoint, connection: Connection) -> None:
        self._open.pop(connection, None)
        idle = self._idle.get(endpoint, [])
        if connection in idle:
            idle.remove(connection)

    async def _connect(self, endpoint: Endpoint) -> Connection:
        def done(connection: Connection) -> None:
            connection.ending = False
            self._freed.set()
            if connection.usable:
                self._keep(endpoint, connection)
            else:
                self._forget(endpoint, connection)

        connection = Connection(done)
        where = endpoint.address + (" through the proxy" if endpoint.proxy else "")
        try:
            async with asyncio.timeout(self._connect_timeout):
                if endpoint.proxy:
                    await self._connect_by_proxy(endpoint, connection)
                else:
                    await self._dial(connection, endpoint.host, endpoint.port, tls=endpoint.tls)
        except TimeoutError as error:
            raise ProviderError(
                f"Connecting to {where} took longer than {self._connect_timeout:g} s.", kind="timeout"
            ) from error
        except ssl.SSLCertVerificationError as error:
            raise ProviderError(
                f"The certificate of {where} is not trusted: {error.verify_message}. "
                "If it is signed by an authority of your own, name its file in SSL_CERT_FILE.",
                kind="connection",
            ) from error
        except (OSError, UnicodeError) as error:
            # UnicodeError: a host name that cannot be encoded as a domain.
            raise ProviderError(f"Could not connect to {where}: {error}", kind="connection") from error
        if connection.usable:
            self._open[connection] = endpoint
        return connection

    async def _connect_by_proxy(self, endpoint: Endpoint, connection: Connection) -> None:
        proxy = _proxy(endpoint.proxy)
        if not endpoint.tls:
            await self._dial(connection, proxy.host, proxy.port, tls=proxy.tls)
            return
        tunnel = Tunnel()
        transport = await self._dial(tunnel, proxy.host, proxy.port, tls=proxy.tls)
        try:
            await tunnel.dig(endpoint.address, _proxy_authorization(endpoint.proxy))
            upgraded = await asyncio.get_running_loop().start_tls(
                transport, connection, await self._trust(), server_hostname=endpoint.host
            )
        except BaseException:
            # Cancelled or failed: nobody else knows of this transport.
            transport.abort()
            raise
        if upgraded is None:
            raise OSError("the proxy closed the connection")
        connection.connection_made(upgraded)

    async def _dial(self, protocol: asyncio.Protocol, host: str, port: int, *, tls: bool) -> asyncio.Transport:
        options: dict[str, Any] = {"ssl": await self._trust(), "server_hostname": host} if tls else {}
        loop = asyncio.get_running_loop()
        if isinstance(loop, asyncio.BaseEventLoop):  # others do not know the option
            # Try the next address early, so that a dead IPv6 route costs a quarter of a second, not the whole timeout.
            options["happy_eyeballs_delay"] = 0.25
        transport, _ = await loop.create_connection(lambda: protocol, host, port, **options)
        return transport

    async def _trust(self) -> ssl.SSLContext:
        if self._tls is None:
            # Reading all authorities takes tens of milliseconds, in which the rest of the program may go on. They take
            # about a megabyte, too: the clients of all sessions of a process share them.
            whom = ssl.get_default_verify_paths()
            if whom not in _authorities:
                _authorities[whom] = await asyncio.to_thread(ssl.create_default_context)
            self._tls = _authorities[whom]
        return self._tls


def _head(method: str, target: str, endpoint: Endpoint, headers: dict[str, str], body: bytes) -> bytes:
    lines = [f"{method} {target} HTTP/1.1", f"host: {endpoint.authority}"]
    if endpoint.proxy and not endpoint.tls and (authorization := _proxy_authorization(endpoint.proxy)):
        lines.append(f"proxy-authorization: {authorization}")
    for name, value in headers.items():
        text = value.strip()
        if "\r" in text or "\n" in text or "\0" in text or not text.isascii():
            raise ProviderError(
                f"The value of the header {name!r} has characters that cannot be sent. Check your key and settings.",
                kind="invalid_request",
            )
        lines.append(f"{name}: {text}")
    if body or method == "POST":
        lines.append(f"content-length: {len(body)}")
    lines.append("accept-encoding: identity\r\n\r\n")
    return "\r\n".join(lines).encode("ascii", "replace")


def _proxy(url: str) -> Endpoint:
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        port = parts.port
    except ValueError as error:
        raise ProviderError(f"The proxy is not a URL: {error}", kind="invalid_request") from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ProviderError(
            f"Proxies of the kind {parts.scheme!r} are not supported; use an http:// or https:// proxy.",
            kind="invalid_request",
        )
    tls = parts.scheme == "https"
    return Endpoint(tls, parts.hostname, port or (443 if tls else 8080))


def _proxy_authorization(url: str) -> str:
    parts = urlsplit(url if "://" in url else f"http://{url}")
    if not parts.username:
        return ""
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return "Basic " + b64encode(pair.encode()).decode()
