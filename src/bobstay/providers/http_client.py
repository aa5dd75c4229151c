"""A minimal HTTP/1.1 client for model servers: keep-alive connections, streamed responses and proxies."""

import asyncio
import contextlib
import socket
import ssl
import time
from collections.abc import Callable
from urllib.parse import urlsplit

from msgspec import Struct

from bobstay.providers.base import ErrorKind, ProviderError
from bobstay.providers.connection import HttpConnection, Reply
from bobstay.system.network import Network, ProxyRefusedError, dial
from bobstay.system.proxies import BadProxyError, ProxyServer
from bobstay.system.tls import TlsTrust, load_trust

__all__ = ["ConnectionTarget", "HttpClient", "Reply"]

_IDLE_SECONDS = 50.0
"""Seconds an unused connection is reused; routers drop silent ones without notice."""

_ENDING_SECONDS = 0.25
"""Seconds to wait for a connection whose answer is about to end; a new one would take no less."""

_CLOSE_ROUNDS = 20

_RETRY_PAUSE = 0.5
"""Seconds before the one retry for a server that was never reached: the network may be coming up."""


class ConnectionTarget(Struct, frozen=True):
    """The address of a connection, and the proxy it goes through, if any."""

    tls: bool
    host: str
    port: int
    proxy: ProxyServer | None = None

    @property
    def address(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def authority(self) -> str:
        """The address for a Host header, without the default port."""
        return self.address.removesuffix(":443" if self.tls else ":80")


class HttpClient:
    def __init__(self, network: Network | None = None, *, connect_timeout: float = 30) -> None:
        self._network = network or Network()
        self._connect_timeout = connect_timeout
        self._idle: dict[ConnectionTarget, list[HttpConnection]] = {}
        self._open: dict[HttpConnection, ConnectionTarget] = {}
        self._freed = asyncio.Event()
        self._trust: TlsTrust | None = None
        self._reached: set[ConnectionTarget] = set()
        """Targets that were reached before: a failure there is likely to be temporary."""
        self._hints: dict[str, str] = {}

    def hint(self, url: str, text: str) -> None:
        """Add `text`, which says what to do, to the error if nothing answers at the host of `url`."""
        with contextlib.suppress(ProviderError):
            self._hints[self._locate(url)[0].address] = f" {text}"

    async def post(
        self, url: str, headers: dict[str, str], body: bytes, on_activity: Callable[[], None] | None = None
    ) -> Reply:
        """Send `body`; return when the head of the response has arrived. Any status is a response, not an error.

        `on_activity` is called whenever bytes of the answer arrive.
        """
        return await self._request("POST", url, headers, body, on_activity)

    async def get(self, url: str, headers: dict[str, str] | None = None) -> Reply:
        return await self._request("GET", url, headers or {}, b"")

    async def close(self) -> None:
        self._idle.clear()
        for connection in tuple(self._open):
            connection.abort()
        # Sockets are closed in the event loop's next iterations; a loop closed before that would leave them open.
        for _ in range(_CLOSE_ROUNDS):
            if not self._open:
                break
            await asyncio.sleep(0)

    async def _request(
        self,
        method: str,
        url: str,
        headers: dict[str, str],
        body: bytes,
        on_activity: Callable[[], None] | None = None,
    ) -> Reply:
        endpoint, target = self._locate(url)
        message = _encode_head(method, target, endpoint, headers, body) + body
        kept = self._take_idle(endpoint) or await self._wait_for_ending(endpoint)
        if kept is not None:
            reply = kept.send(message, on_activity)
            try:
                return await reply.wait_for_head()
            except ProviderError:
                # The server may have dropped the connection before it saw the request, so it is safe to send again.
                if not reply.untouched:
                    raise
        connection = await self._connect(endpoint)
        return await connection.send(message, on_activity).wait_for_head()

    def _locate(self, url: str) -> tuple[ConnectionTarget, str]:
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            raise ProviderError(f"{url!r} is not a URL: {error}", kind="invalid_request") from error
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ProviderError(f"{url!r} is not an http or https URL. Check the base URL.", kind="invalid_request")
        tls = parts.scheme == "https"
        port = port or (443 if tls else 80)
        chosen = self._network.proxies.choose(parts.scheme, parts.hostname, port)
        try:
            proxy = ProxyServer.parse(chosen) if chosen else None
        except BadProxyError as error:
            raise ProviderError(str(error), kind="invalid_request") from error
        endpoint = ConnectionTarget(tls, parts.hostname, port, proxy)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        if any(character <= " " or character > "~" for character in path):
            raise ProviderError(f"{url!r} has characters that no URL may have.", kind="invalid_request")
        return endpoint, (f"http://{endpoint.authority}{path}" if _is_relayed(endpoint) else path)

    def _take_idle(self, endpoint: ConnectionTarget) -> HttpConnection | None:
        idle = self._idle.get(endpoint, [])
        while idle:
            connection = idle.pop()
            if connection.usable and time.monotonic() - connection.idle_since < _IDLE_SECONDS:
                return connection
            connection.close()
        return None

    async def _wait_for_ending(self, endpoint: ConnectionTarget) -> HttpConnection | None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_ENDING_SECONDS):
                while any(connection.ending for connection, where in self._open.items() if where == endpoint):
                    self._freed.clear()
                    await self._freed.wait()
                    if (connection := self._take_idle(endpoint)) is not None:
                        return connection
        return None

    def _keep(self, endpoint: ConnectionTarget, connection: HttpConnection) -> None:
        connection.idle_since = time.monotonic()
        self._idle.setdefault(endpoint, []).append(connection)

    def _forget(self, endpoint: ConnectionTarget, connection: HttpConnection) -> None:
        self._open.pop(connection, None)
        idle = self._idle.get(endpoint, [])
        if connection in idle:
            idle.remove(connection)

    async def _connect(self, endpoint: ConnectionTarget) -> HttpConnection:
        """Open a new connection. A target that was never reached is retried once.

        Raises:
            ProviderError: "unreachable" if the target was never reached, so that a person has to fix it.
        """
        try:
            connection = await self._connect_once(endpoint)
        except ProviderError as error:
            if error.kind != "unreachable":
                raise
            await asyncio.sleep(_RETRY_PAUSE)
            connection = await self._connect_once(endpoint)
        self._reached.add(endpoint)
        if connection.usable:
            self._open[connection] = endpoint
        return connection

    async def _connect_once(self, endpoint: ConnectionTarget) -> HttpConnection:
        def done(connection: HttpConnection) -> None:
            connection.ending = False
            self._freed.set()
            if connection.usable:
                self._keep(endpoint, connection)
            else:
                self._forget(endpoint, connection)

        connection = HttpConnection(done)
        try:
            async with asyncio.timeout(self._connect_timeout):
                await self._dial(connection, endpoint)
        except TimeoutError as error:
            where = endpoint.address + _proxy_suffix(endpoint)
            raise ProviderError(
                f"Connecting to {where} took longer than {self._connect_timeout:g} s.", kind="timeout"
            ) from error
        except (OSError, UnicodeError) as error:
            # UnicodeError: a host name that cannot be encoded as a domain.
            kind: ErrorKind = "connection" if endpoint in self._reached else "unreachable"
            raise ProviderError(self._explain(error, endpoint), kind=kind) from error
        return connection

    async def _dial(self, connection: HttpConnection, endpoint: ConnectionTarget) -> None:
        proxy = endpoint.proxy
        over_tls = endpoint.tls or (proxy is not None and proxy.scheme == "https")
        if over_tls and self._trust is None:
            self._trust = await load_trust(self._network.authorities)
        context = self._trust.context if self._trust else None
        await dial(
            connection,
            endpoint.host,
            endpoint.port,
            tls=context if endpoint.tls else None,
            proxy=proxy,
            proxy_tls=context if proxy is not None and proxy.scheme == "https" else None,
        )

    def _explain(self, error: Exception, endpoint: ConnectionTarget) -> str:
        """Return what went wrong, and what a person can do about it."""
        where = endpoint.address + _proxy_suffix(endpoint)
        hint = self._hints.get(endpoint.address, "")
        match error:
            case ssl.SSLCertVerificationError():
                problem = f" {self._trust.problem}" if self._trust and self._trust.problem else ""
                return (
                    f"The certificate of {where} is not trusted: {error.verify_message}.{problem} "
                    "If it is signed by an authority of your own, or your network inspects TLS, name the authority's "
                    "file in NODE_EXTRA_CA_CERTS (in addition to the system's) or SSL_CERT_FILE (instead of them)."
                )
            case ssl.SSLError():
                return f"Could not connect to {where}: TLS failed ({error.reason or error}). Check the base URL."
            case ProxyRefusedError():
                return f"Could not connect to {where}: {error}. Check HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY."
            case socket.gaierror() | UnicodeError():
                host = endpoint.proxy.host if endpoint.proxy else endpoint.host
                what = "HTTPS_PROXY, HTTP_PROXY and ALL_PROXY" if endpoint.proxy else "the base URL"
                return f"The host {host} was not found ({error}). Check {what} and your network connection."
            case _ if endpoint.proxy is not None:
                hint = "Is the proxy running? Check HTTPS_PROXY, HTTP_PROXY and ALL_PROXY."
                return f"Could not connect to {where}: {error}. {hint}"
            case ConnectionRefusedError():
                return f"Could not connect to {where}: nothing listens there (connection refused).{hint}"
            case _:
                return f"Could not connect to {where}: {error}.{hint}"


def _is_relayed(endpoint: ConnectionTarget) -> bool:
    """Whether an HTTP proxy forwards the request itself, so that it needs the absolute URL."""
    return endpoint.proxy is not None and endpoint.proxy.scheme != "socks5" and not endpoint.tls


def _proxy_suffix(endpoint: ConnectionTarget) -> str:
    return f" through the proxy {endpoint.proxy.address}" if endpoint.proxy else ""


def _encode_head(method: str, target: str, endpoint: ConnectionTarget, headers: dict[str, str], body: bytes) -> bytes:
    lines = [f"{method} {target} HTTP/1.1", f"host: {endpoint.authority}"]
    if endpoint.proxy is not None and _is_relayed(endpoint) and endpoint.proxy.authorization:
        lines.append(f"proxy-authorization: {endpoint.proxy.authorization}")
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
