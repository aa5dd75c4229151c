"""HTTP/1.1 client that fetches one page, limited to permitted hosts and a maximum size."""

import asyncio
import ssl
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias
from urllib.parse import urljoin

import httptools
from msgspec import Struct

from bobstay.permissions.access import Effect, PolicyDecision
from bobstay.permissions.host_rules import parse_address
from bobstay.system.decompression import DecompressionError, Decompressor, parse_content_encoding
from bobstay.system.network import Network, ProxyRefusedError, dial
from bobstay.system.proxies import ProxyServer
from bobstay.system.tls import load_trust
from bobstay.tools.web_address import BadUrlError, WebTarget, is_disguised_number, is_public, parse_url
from bobstay.tools.web_route import FetchError, WebRoute, find_route
from bobstay.version import __version__

UrlRule: TypeAlias = Callable[[str], PolicyDecision]
"""Judges a URL by the session's permission rules."""

_HEAD_LIMIT = 128_000
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_EMPTY = frozenset({204, 304})


class RedirectRefusedError(FetchError):
    """The page redirects to another host that no rule allows."""

    def __init__(self, target: str, why: str) -> None:
        super().__init__(
            f"The page has moved to {target}\nIt was not followed there ({why}). Fetch that address if you want it."
        )
        self.target = target


class FetchedPage(Struct, frozen=True):
    url: str
    """The final URL, after redirects."""
    status: int
    headers: dict[str, str]
    """Names in lower case; the last of duplicate headers wins."""
    body: bytes
    cut: bool = False
    """Whether the body exceeded the limit."""


def undecided(_url: str) -> PolicyDecision:
    """The rule of a session without permission rules."""
    return PolicyDecision(Effect.ASK, "no rule covers it")


async def fetch_page(
    url: str,
    *,
    rule: UrlRule = undecided,
    network: Network | None = None,
    limit: int = 5_000_000,
    timeout: float = 30,  # noqa: ASYNC109 - it covers all redirects together
    max_redirects: int = 5,
) -> FetchedPage:
    """Fetch `url`, following redirects within the host, and to other hosts only where `rule` allows.

    Addresses of private networks and of this machine are fetched only if a rule names them.

    Raises:
        FetchError: the page could not be fetched; the text says why.
    """
    try:
        async with asyncio.timeout(timeout):
            return await _follow(_parse_target(url), rule, network or Network(), limit, max_redirects)
    except TimeoutError:
        raise FetchError(f"{url} did not answer in full within {timeout:g} seconds.") from None


async def _follow(target: WebTarget, rule: UrlRule, network: Network, limit: int, max_redirects: int) -> FetchedPage:
    for _ in range(max_redirects + 1):
        page = await request(target, await find_allowed_route(target, rule, network), limit=limit)
        location = page.headers.get("location", "")
        if page.status not in _REDIRECTS or not location:
            return page
        moved = _parse_target(urljoin(target.url, location))
        _require_redirect_allowed(target, moved, rule)
        target = moved
    raise FetchError(f"More than {max_redirects} redirects, the last one to {target.url}: it would not end.")


def _parse_target(url: str) -> WebTarget:
    try:
        return parse_url(url)
    except BadUrlError as error:
        raise FetchError(f"{url[:200]!r} cannot be fetched: {error}.") from None


def _require_redirect_allowed(old: WebTarget, new: WebTarget, rule: UrlRule) -> None:
    decision = rule(new.url)
    if decision.effect is Effect.DENY:
        raise FetchError(
            f"The page has moved to {new.url}, which is not allowed: {decision.why or 'a rule denies it'}."
        )
    if old.scheme == "https" and new.scheme == "http" and decision.effect is not Effect.ALLOW:
        raise RedirectRefusedError(new.url, "it would leave https")
    if new.host != old.host and decision.effect is not Effect.ALLOW:
        raise RedirectRefusedError(new.url, decision.why or "no rule allows that host")


async def find_allowed_route(target: WebTarget, rule: UrlRule, network: Network) -> WebRoute:
    """Find the route to the host of `target` and check it, so that the addresses dialled are the ones checked.

    Raises:
        FetchError: the host is unknown, or it is private and no rule names it.
    """
    route = await find_route(target, network)
    # A private name (localhost, wiki.corp, 10.0.0.1) is under local control; a public name may point anywhere.
    is_private_name = not parse_address(target.url).public
    if is_private_name and _is_named_by_rule(rule, target.url):
        return route
    if is_disguised_number(target.host):
        raise FetchError(f"{target.host} is an IP address disguised as a host name. Write the address in full.")
    # Through a proxy only the name can be checked: the proxy resolves it.
    private = [number for number in route.addresses if not is_public(number)] if route.proxy is None else []
    if route.proxy is not None and is_private_name:
        private = [target.host]
    if not all(_is_named_by_rule(rule, target.at(number)) for number in private):
        raise FetchError(
            f"{target.host} is at {private[0]}, an address of this machine or a private network. That is fetched "
            f"only if a permission rule names it, such as WebFetch(domain:{private[0]})."
        )
    return route


def _is_named_by_rule(rule: UrlRule, url: str) -> bool:
    decision = rule(url)
    return decision.effect is Effect.ALLOW and decision.reason_type == "rule"


async def request(
    target: WebTarget,
    route: WebRoute,
    *,
    limit: int,
    method: str = "GET",
    headers: dict[str, str] | None = None,
    body: bytes = b"",
) -> FetchedPage:
    """Send one request and return the response; redirects are not followed.

    Raises:
        FetchError: the connection failed or the response was invalid.
    """
    response = _ResponseCollector(limit)
    async with _connection(target, route) as (reader, writer):
        try:
            writer.write(_head(target, route.proxy, method, headers or {}, body) + body)
            await writer.drain()
            await _read(reader, response)
        except OSError as error:
            raise FetchError(f"The connection to {target.host} broke: {error}.") from None
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            raise FetchError(f"{target.host} did not answer in proper HTTP: {error}.") from None
    data, cut = _decompress(bytes(response.body), response.headers.get("content-encoding", ""), limit)
    if response.status == 407 and route.proxy is not None:
        raise FetchError(
            f"The proxy {route.proxy.address} wants a user and a password, or does not accept those given."
        )
    return FetchedPage(target.url, response.status, response.headers, data, cut or response.cut)


async def _read(reader: asyncio.StreamReader, response: "_ResponseCollector") -> None:
    while not response.done:
        data = await reader.read(65_536)
        if not data:
            if response.ends_with_connection:
                return
            raise FetchError("The server closed the connection before its answer was complete. Try again.")
        response.feed(data)


@asynccontextmanager
async def _connection(
    target: WebTarget, route: WebRoute
) -> AsyncGenerator[tuple[asyncio.StreamReader, asyncio.StreamWriter], None]:
    trouble: OSError | UnicodeError | None = None
    for host in route.addresses if route.proxy is None else (target.host,):
        reader = asyncio.StreamReader()
        protocol = asyncio.StreamReaderProtocol(reader)
        try:
            transport = await _dial(protocol, host, target, route)
        except ssl.SSLCertVerificationError as error:
            raise FetchError(f"The certificate of {target.host} is not valid: {error.verify_message}.") from None
        except ProxyRefusedError as error:
            raise FetchError(f"No connection to {target.host} port {target.port}: {error}.") from None
        except (OSError, UnicodeError) as error:
            trouble = error
            continue
        try:
            yield reader, asyncio.StreamWriter(transport, protocol, reader, asyncio.get_running_loop())
        finally:
            transport.abort()
        return
    through = f" through the proxy {route.proxy.address}" if route.proxy else ""
    raise FetchError(f"No connection to {target.host} port {target.port}{through}: {trouble or 'no address'}.")


async def _dial(protocol: asyncio.Protocol, host: str, target: WebTarget, route: WebRoute) -> asyncio.Transport:
    over_tls, proxy = target.scheme == "https", route.proxy
    proxy_over_tls = proxy is not None and proxy.scheme == "https"
    context = (await load_trust(route.network.authorities)).context if over_tls or proxy_over_tls else None
    return await dial(
        protocol,
        host,
        target.port,
        tls=context if over_tls else None,
        server_name=target.host,
        proxy=proxy,
        proxy_tls=context if proxy_over_tls else None,
    )


def _head(target: WebTarget, proxy: ProxyServer | None, method: str, headers: dict[str, str], body: bytes) -> bytes:
    lines = {
        "Host": target.netloc,
        "User-Agent": f"bobstay/{__version__}",
        "Accept": "text/markdown, text/html;q=0.9, text/plain;q=0.8, */*;q=0.5",
        "Accept-Encoding": "gzip, deflate",
        "Connection": "close",
    } | headers
    path = target.path
    if proxy is not None and proxy.scheme != "socks5" and target.scheme == "http":
        # An HTTP proxy needs the absolute URL in the request line.
        path = target.url
        if proxy.authorization:
            lines["Proxy-Authorization"] = proxy.authorization
    if body:
        lines["Content-Length"] = str(len(body))
    fields = "".join(f"{name}: {_one_line(value)}\r\n" for name, value in lines.items())
    return f"{method} {path} HTTP/1.1\r\n{fields}\r\n".encode("latin-1", "replace")


def _one_line(value: str) -> str:
    return value.replace("\r", "").replace("\n", "")


class _ResponseCollector:
    """Collects one response from the parser. Interim (1xx) responses are skipped."""

    def __init__(self, limit: int) -> None:
        self.headers: dict[str, str] = {}
        self.body = bytearray()
        self.status = 0
        self.done = False
        self.cut = False
        self._limit = limit
        self._in_body = False
        self._head_size = 0
        self._parser: Any = httptools.HttpResponseParser(self)

    @property
    def ends_with_connection(self) -> bool:
        """Whether the response has neither a length nor chunks, so that the end of the connection ends it."""
        framed = "content-length" in self.headers or "chunked" in self.headers.get("transfer-encoding", "").lower()
        return self._in_body and not framed

    def feed(self, data: bytes) -> None:
        if not self._in_body:
            self._head_size += len(data)
            if self._head_size > _HEAD_LIMIT:
                raise FetchError("The server's answer begins with far too many headers.")
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            if not self.done:  # ignore what follows a complete response
                raise

    def on_message_begin(self) -> None:
        self.headers = {}

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        self.status = self._parser.get_status_code()
        self._in_body = self.status >= 200
        if self.status in _EMPTY:
            self.done = True

    def on_body(self, data: bytes) -> None:
        room = self._limit - len(self.body)
        self.body += data[:room]
        if len(data) > room:
            self.cut = self.done = True

    def on_message_complete(self) -> None:
        if self._in_body:
            self.done = True


def _decompress(data: bytes, encoding: str, limit: int) -> tuple[bytes, bool]:
    """Decompress `data` to at most `limit` bytes."""
    try:
        packing = parse_content_encoding(encoding)
        if not packing or not data:
            return data, False
        unpacker = Decompressor(packing, limit)
        return unpacker.feed(data), unpacker.full
    except DecompressionError as error:
        raise FetchError(f"The page cannot be read: {error}.") from None
