"""The HTTP/1.1 client: keep-alive connections, streamed responses and proxies."""

import asyncio
import contextlib
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

from bobstay.http.connection import DECOMPRESSED_LIMIT, HttpConnection, Reply
from bobstay.http.http_error import HttpError, HttpErrorKind
from bobstay.http.network import ConnectionTarget, Network, dial
from bobstay.http.proxies import ProxyRefusedError

if TYPE_CHECKING:
    from bobstay.http.tls import TlsTrust

_IDLE_SECONDS = 50.0
"""Seconds an unused connection is reused; routers drop silent ones without notice."""

_ENDING_SECONDS = 0.25
"""Seconds to wait for a connection whose answer is about to end; a new one would take no less."""

_CLOSE_ROUNDS = 20

_RETRY_PAUSE = 0.5
"""Seconds before the retry for a server that was never reached: the network may be coming up."""


class HttpClient:
    """Sends requests. Redirects are not followed, so that no header reaches a host it was not meant for."""

    def __init__(
        self, network: Network | None = None, *, connect_timeout: float = 30, connect_attempts: int = 2
    ) -> None:
        """`connect_attempts` counts for servers that were never reached before."""
        self._network = network or Network()
        self._connect_timeout = connect_timeout
        self._connect_attempts = connect_attempts
        self._idle: dict[ConnectionTarget, list[HttpConnection]] = {}
        self._open: dict[HttpConnection, ConnectionTarget] = {}
        self._freed = asyncio.Event()
        self._trust: TlsTrust | None = None
        self._reached: set[ConnectionTarget] = set()
        """Targets that were reached before: a failure there is likely to be temporary."""
        self._hints: dict[str, str] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def hint(self, url: str, text: str) -> None:
        """Add `text`, which says what to do, to the error if nothing answers at the host of `url`."""
        with contextlib.suppress(HttpError):
            self._hints[self._locate(url)[0].address] = f" {text}"

    async def post(
        self, url: str, headers: Mapping[str, str], body: bytes, on_activity: Callable[[], None] | None = None
    ) -> Reply:
        """Send `body`; return when the head of the response has arrived. Any status is a response, not an error.

        `on_activity` is called whenever bytes of the answer arrive.

        Raises:
            HttpError
        """
        return await self.request("POST", *self._locate(url), headers, body, on_activity=on_activity)

    async def get(self, url: str, headers: Mapping[str, str] | None = None) -> Reply:
        return await self.request("GET", *self._locate(url), headers or {}, b"")

    async def close(self) -> None:
        self._idle.clear()
        for connection in tuple(self._open):
            connection.abort()
        # Sockets are closed in the event loop's next iterations; a loop closed before that would leave them open.
        for _ in range(_CLOSE_ROUNDS):
            if not self._open:
                break
            await asyncio.sleep(0)

    async def request(
        self,
        method: str,
        target: ConnectionTarget,
        path: str,
        headers: Mapping[str, str],
        body: bytes,
        *,
        on_activity: Callable[[], None] | None = None,
        decompressed_limit: int = DECOMPRESSED_LIMIT,
    ) -> Reply:
        """Send a request on a connection to `target`; return when the head of the response has arrived."""
        message = _encode_head(method, target, path, headers, body) + body
        kept = self._take_idle(target) or await self._wait_for_ending(target)
        if kept is not None:
            reply = kept.send(message, on_activity, decompressed_limit)
            try:
                return await reply.wait_for_head()
            except HttpError:
                # The server may have dropped the connection before it saw the request, so it is safe to send again.
                if not reply.untouched:
                    raise
        connection = await self._connect(target)
        return await connection.send(message, on_activity, decompressed_limit).wait_for_head()

    def _locate(self, url: str) -> tuple[ConnectionTarget, str]:
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            raise HttpError(f"{url!r} is not a URL: {error}", "invalid_request") from error
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise HttpError(f"{url!r} is not an http or https URL. Check the address.", "invalid_request")
        target = self._network.target(parts.scheme, parts.hostname, port or (443 if parts.scheme == "https" else 80))
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        if any(character <= " " or character > "~" for character in path):
            raise HttpError(f"{url!r} has characters that no URL may have.", "invalid_request")
        return target, path

    def _take_idle(self, target: ConnectionTarget) -> HttpConnection | None:
        idle = self._idle.get(target, [])
        while idle:
            connection = idle.pop()
            if connection.usable and time.monotonic() - connection.idle_since < _IDLE_SECONDS:
                return connection
            connection.close()
        return None

    async def _wait_for_ending(self, target: ConnectionTarget) -> HttpConnection | None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_ENDING_SECONDS):
                while any(connection.ending for connection, where in self._open.items() if where == target):
                    self._freed.clear()
                    await self._freed.wait()
                    if (connection := self._take_idle(target)) is not None:
                        return connection
        return None

    def _keep(self, target: ConnectionTarget, connection: HttpConnection) -> None:
        connection.idle_since = time.monotonic()
        self._idle.setdefault(target, []).append(connection)

    def _forget(self, target: ConnectionTarget, connection: HttpConnection) -> None:
        self._open.pop(connection, None)
        idle = self._idle.get(target, [])
        if connection in idle:
            idle.remove(connection)

    async def _connect(self, target: ConnectionTarget) -> HttpConnection:
        """Open a new connection.

        Raises:
            HttpError: "unreachable" if the target was never reached, so that a person has to fix it.
        """
        for _ in range(self._connect_attempts - 1):
            try:
                return await self._connect_once(target)
            except HttpError as error:
                if error.kind != "unreachable":
                    raise
                await asyncio.sleep(_RETRY_PAUSE)
        return await self._connect_once(target)

    async def _connect_once(self, target: ConnectionTarget) -> HttpConnection:
        def done(connection: HttpConnection) -> None:
            connection.ending = False
            self._freed.set()
            if connection.usable:
                self._keep(target, connection)
            elif connection.lost:  # until then it may still have something to send, and `close` must find it
                self._forget(target, connection)

        connection = HttpConnection(target.host, done)
        try:
            async with asyncio.timeout(self._connect_timeout):
                await self._dial(connection, target)
        except TimeoutError as error:
            where = target.address + _proxy_suffix(target)
            raise HttpError(
                f"Connecting to {where} took longer than {self._connect_timeout:g} s.", "timeout"
            ) from error
        except (OSError, UnicodeError) as error:
            # UnicodeError: a host name that cannot be encoded as a domain.
            kind: HttpErrorKind = "connection" if target in self._reached else "unreachable"
            raise HttpError(self._explain(error, target), kind) from error
        self._reached.add(target)
        if connection.usable:
            self._open[connection] = target
        return connection

    async def _dial(self, connection: HttpConnection, target: ConnectionTarget) -> None:
        if self._trust is None and (target.tls or (target.proxy is not None and target.proxy.scheme == "https")):
            from bobstay.http.tls import load_trust

            self._trust = await load_trust(self._network.authorities)
        context = self._trust.context if self._trust else None
        *others, last = target.addresses or (target.host,)
        for address in others:
            try:
                await dial(connection, target, context, address)
            except ssl.SSLCertVerificationError:
                raise
            except OSError:
                continue  # the next address may answer
            return
        await dial(connection, target, context, last)

    def _explain(self, error: Exception, target: ConnectionTarget) -> str:
        """Return what went wrong, and what a person can do about it."""
        where = target.address + _proxy_suffix(target)
        hint = self._hints.get(target.address, "")
        match error:
            case ssl.SSLCertVerificationError():
                problem = f" {self._trust.problem}" if self._trust and self._trust.problem else ""
                return (
                    f"The certificate of {target.host} is not valid, or not trusted: {error.verify_message}.{problem} "
                    "If it is signed by an authority of your own, or your network inspects TLS, name the authority's "
                    "file in NODE_EXTRA_CA_CERTS (in addition to the system's) or SSL_CERT_FILE (instead of them)."
                )
            case ssl.SSLError():
                return f"No connection to {where}: TLS failed ({error.reason or error}). Check the address."
            case ProxyRefusedError():
                return f"No connection to {where}: {error}. Check HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY."
            case socket.gaierror() | UnicodeError():
                host = target.proxy.host if target.proxy else target.host
                what = "HTTPS_PROXY, HTTP_PROXY and ALL_PROXY" if target.proxy else "the address"
                return f"The host {host} was not found ({error}). Check {what} and your network connection."
            case _ if target.proxy is not None:
                hint = "Is the proxy running? Check HTTPS_PROXY, HTTP_PROXY and ALL_PROXY."
                return f"No connection to {where}: {error}. {hint}"
            case ConnectionRefusedError():
                return f"No connection to {where}: nothing listens there (connection refused).{hint}"
            case _:
                return f"No connection to {where}: {error}.{hint}"


def _proxy_suffix(target: ConnectionTarget) -> str:
    return f" through the proxy {target.proxy.address}" if target.proxy else ""


def _encode_head(method: str, target: ConnectionTarget, path: str, headers: Mapping[str, str], body: bytes) -> bytes:
    lines = [
        f"{method} http://{target.authority}{path} HTTP/1.1" if target.is_relayed else f"{method} {path} HTTP/1.1",
        f"host: {target.authority}",
    ]
    if target.proxy is not None and target.is_relayed and target.proxy.authorization:
        lines.append(f"proxy-authorization: {target.proxy.authorization}")
    if not any(name.lower() == "accept-encoding" for name in headers):
        lines.append("accept-encoding: identity")
    for name, value in headers.items():
        text = value.strip()
        if "\r" in text or "\n" in text or "\0" in text or not text.isascii():
            raise HttpError(
                f"The value of the header {name!r} has characters that cannot be sent. Check your key and settings.",
                "invalid_request",
            )
        lines.append(f"{name}: {text}")
    if body or method == "POST":
        lines.append(f"content-length: {len(body)}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("ascii", "replace")
