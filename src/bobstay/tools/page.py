"""Gets one page over HTTP/1.1, going only where it may and taking no more than it can hold."""

import asyncio
import socket
import ssl
import zlib
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias
from urllib.parse import urljoin

import httptools
from msgspec import Struct

from bobstay.permissions.access import Decision, Verdict
from bobstay.permissions.web import address
from bobstay.tools.address import BadUrlError, Target, is_odd_number, is_public, parse_url
from bobstay.version import __version__

Rule: TypeAlias = Callable[[str], Decision]
"""What the session's permission rules say about a URL."""

_HEAD_LIMIT = 128_000
_ADDRESSES = 4
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_EMPTY = frozenset({204, 304})


class FetchError(Exception):
    """A page could not be had. The text says why and what to do."""


class MovedError(FetchError):
    """The page is at another host, and nobody has said that we may go there."""

    def __init__(self, target: str, why: str) -> None:
        super().__init__(
            f"The page has moved to {target}\nIt was not followed there ({why}). Fetch that address if you want it."
        )
        self.target = target


class Page(Struct, frozen=True):
    url: str
    """Where it came from in the end."""
    status: int
    headers: dict[str, str]
    """Names in lower case; the last one of a name wins."""
    body: bytes
    cut: bool = False
    """There was more than the limit."""


def unknown(_url: str) -> Decision:
    """The rule of a session that has none."""
    return Decision(Verdict.ASK, "no rule speaks of it")


async def get(
    url: str,
    *,
    rule: Rule = unknown,
    limit: int = 5_000_000,
    timeout: float = 30,  # noqa: ASYNC109 - it covers all hops together
    hops: int = 5,
) -> Page:
    """Get `url`, following redirects within the host, and to other hosts only where `rule` allows.

    Addresses of private networks and of this machine are visited only if a rule names them.

    Raises:
        FetchError: with all a reader needs to know.
    """
    try:
        async with asyncio.timeout(timeout):
            return await _follow(_parsed(url), rule, limit, hops)
    except TimeoutError:
        raise FetchError(f"{url} did not answer in full within {timeout:g} seconds.") from None


async def _follow(target: Target, rule: Rule, limit: int, hops: int) -> Page:
    for _ in range(hops + 1):
        page = await request(target, await reachable(target, rule), limit=limit)
        location = page.headers.get("location", "")
        if page.status not in _REDIRECTS or not location:
            return page
        moved = _parsed(urljoin(target.url, location))
        _may_follow(target, moved, rule)
        target = moved
    raise FetchError(f"More than {hops} redirects, the last one to {target.url}: it would not end.")


def _parsed(url: str) -> Target:
    try:
        return parse_url(url)
    except BadUrlError as error:
        raise FetchError(f"{url[:200]!r} cannot be fetched: {error}.") from None


def _may_follow(old: Target, new: Target, rule: Rule) -> None:
    decision = rule(new.url)
    if decision.verdict is Verdict.DENY:
        raise FetchError(
            f"The page has moved to {new.url}, which is not allowed: {decision.why or 'a rule denies it'}."
        )
    if old.scheme == "https" and new.scheme == "http" and decision.verdict is not Verdict.ALLOW:
        raise MovedError(new.url, "it would leave https")
    if new.host != old.host and decision.verdict is not Verdict.ALLOW:
        raise MovedError(new.url, decision.why or "no rule allows that host")


async def reachable(target: Target, rule: Rule) -> list[str]:
    """The numeric addresses of `target`'s host, all of them judged. What is dialled is what was judged.

    Raises:
        FetchError: the host is unknown, or is where only a rule that names it may lead.
    """
    addresses = await addresses_of(target)
    private = [number for number in addresses if not is_public(number)]
    # A private name (localhost, wiki.corp, 10.0.0.1) is nobody else's; one of the open internet may point anywhere.
    if not address(target.url).public and _named(rule, target.url):
        return addresses
    if is_odd_number(target.host):
        raise FetchError(f"{target.host} is a number dressed up as a host name. Write the address in full.")
    if not all(_named(rule, target.at(number)) for number in private):
        raise FetchError(
            f"{target.host} is at {private[0]}, an address of this machine or a private network. That is fetched "
            f"only if a permission rule names it, such as WebFetch(domain:{private[0]})."
        )
    return addresses


async def addresses_of(target: Target) -> list[str]:
    """Where the name service says the host is.

    Raises:
        FetchError: it does not know.
    """
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise FetchError(f"The host {target.host} was not found ({error}). Check the spelling.") from None
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))[:_ADDRESSES]


def _named(rule: Rule, url: str) -> bool:
    decision = rule(url)
    return decision.verdict is Verdict.ALLOW and decision.reason_type == "rule"


async def request(
    target: Target,
    addresses: list[str],
    *,
    limit: int,
    method: str = "GET",
    headers: dict[str, str] | None = None,
    body: bytes = b"",
) -> Page:
    """One request and its answer; no redirects followed.

    Raises:
        FetchError: the connection or the answer was no good.
    """
    answer = _Answer(limit)
    async with _connection(target, addresses) as (reader, writer):
        try:
            writer.write(_head(target, method, headers or {}, body) + body)
            await writer.drain()
            await _read(reader, answer)
        except OSError as error:
            raise FetchError(f"The connection to {target.host} broke: {error}.") from None
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            raise FetchError(f"{target.host} did not answer in proper HTTP: {error}.") from None
    data, cut = _decoded(bytes(answer.body), answer.headers.get("content-encoding", ""), limit)
    return Page(target.url, answer.status, answer.headers, data, cut or answer.cut)


async def _read(reader: asyncio.StreamReader, answer: "_Answer") -> None:
    while not answer.done:
        data = await reader.read(65_536)
        if not data:
            if answer.ends_with_connection:
                return
            raise FetchError("The server closed the connection before its answer was complete. Try again.")
        answer.feed(data)


@asynccontextmanager
async def _connection(
    target: Target, addresses: list[str]
) -> AsyncGenerator[tuple[asyncio.StreamReader, asyncio.StreamWriter], None]:
    context = ssl.create_default_context() if target.scheme == "https" else None
    trouble: OSError | None = None
    for number in addresses:
        try:
            reader, writer = await asyncio.open_connection(
                number, target.port, ssl=context, server_hostname=target.host if context else None
            )
        except ssl.SSLCertVerificationError as error:
            raise FetchError(f"The certificate of {target.host} is not valid: {error.verify_message}.") from None
        except OSError as error:
            trouble = error
            continue
        try:
            yield reader, writer
        finally:
            writer.transport.abort()
        return
    raise FetchError(f"No connection to {target.host} port {target.port}: {trouble or 'no address'}.")


def _head(target: Target, method: str, headers: dict[str, str], body: bytes) -> bytes:
    lines = {
        "Host": target.netloc,
        "User-Agent": f"bobstay/{__version__}",
        "Accept": "text/markdown, text/html;q=0.9, text/plain;q=0.8, */*;q=0.5",
        "Accept-Encoding": "gzip, deflate",
        "Connection": "close",
    } | headers
    if body:
        lines["Content-Length"] = str(len(body))
    fields = "".join(f"{name}: {_one_line(value)}\r\n" for name, value in lines.items())
    return f"{method} {target.path} HTTP/1.1\r\n{fields}\r\n".encode("latin-1", "replace")


def _one_line(value: str) -> str:
    return value.replace("\r", "").replace("\n", "")


class _Answer:
    """Collects one response as the parser reports it. Interim (1xx) answers are passed over."""

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
        """The server said neither how long its answer is nor where it ends: the end is the end of the connection."""
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
            if not self.done:  # what follows a complete answer is nobody's business
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


def _decoded(data: bytes, encoding: str, limit: int) -> tuple[bytes, bool]:
    """Undo compression, giving out at most `limit` bytes however much is packed inside."""
    kinds = [kind for kind in encoding.lower().replace(" ", "").split(",") if kind not in ("", "identity")]
    if not kinds or not data:
        return data, False
    if len(kinds) > 1 or kinds[0] not in ("gzip", "x-gzip", "deflate"):
        raise FetchError(f"The server packed the page as {encoding[:40]!r}, which was not asked for.")
    for window in (47, -15):  # with a gzip or zlib header, else bare, as some servers understand "deflate"
        unpacker = zlib.decompressobj(window)
        try:
            unpacked = unpacker.decompress(data, limit)
        except zlib.error:
            continue
        return unpacked, bool(unpacker.unconsumed_tail)
    raise FetchError("The page is packed in a damaged way.")
