"""Parses URLs strictly and classifies hosts and IP addresses."""

import re
from typing import Any
from urllib.parse import quote, urlsplit

from msgspec import Struct

_PORTS = {"http": 80, "https": 443}
_MAX_LENGTH = 8_000
_SAFE = "!#$%&'()*+,/:;=?@[]~"
"""Characters left unquoted in a path or query, besides ASCII letters and digits."""


class BadUrlError(ValueError):
    """The URL is not acceptable; the text says why."""


class WebTarget(Struct, frozen=True):
    """A parsed URL without anything two parsers could read differently."""

    scheme: str
    host: str
    """Lower case, ASCII, no final dot; an IPv6 address has no brackets."""
    port: int
    path: str
    """With the query, without the fragment."""

    @property
    def netloc(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.netloc}{self.path}"

    def at(self, address: str) -> str:
        """The same URL with an IP address as its host, to match it against rules."""
        return WebTarget(self.scheme, address, self.port, self.path).url


def parse_url(text: str) -> WebTarget:
    """Parse `text`.

    Raises:
        BadUrlError: it is not a plain http or https URL, or it is ambiguous.
    """
    text = text.strip()
    if len(text) > _MAX_LENGTH:
        raise BadUrlError(f"it is longer than {_MAX_LENGTH} characters")
    if "%00" in text or any(ord(letter) < 0x21 or ord(letter) == 0x7F for letter in text):
        raise BadUrlError("it contains blanks or control characters")
    if "\\" in text:
        raise BadUrlError("it contains a backslash, which browsers and servers read differently")
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise BadUrlError(str(error)) from None
    if parts.scheme not in _PORTS:
        raise BadUrlError("only http:// and https:// addresses can be fetched")
    if "@" in parts.netloc:
        raise BadUrlError("it contains a user name or password")
    path = quote(parts.path or "/", safe=_SAFE, errors="replace")
    query = f"?{quote(parts.query, safe=_SAFE, errors='replace')}" if parts.query else ""
    return WebTarget(parts.scheme, _ascii_host(host), _PORTS[parts.scheme] if port is None else port, path + query)


def _ascii_host(host: str) -> str:
    if not host:
        raise BadUrlError("it names no host")
    if ":" in host:
        if not re.fullmatch(r"[0-9a-f:.]+", host):
            raise BadUrlError("its IPv6 address is not a plain one")
        return host
    try:
        name = host.encode("idna").decode("ascii").lower().rstrip(".")
    except UnicodeError:
        raise BadUrlError(f"its host name {host[:80]!r} is not a legal one") from None
    if not re.fullmatch(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*", name):
        raise BadUrlError(f"its host name {host[:80]!r} is not a legal one")
    return name


def is_disguised_number(host: str) -> bool:
    """Whether `host` is an IP address in disguise: 2130706433, 0x7f.1, 0177.0.0.1, 127.1."""
    last = host.rpartition(".")[2]
    if ":" in host or not re.fullmatch(r"[0-9]+|0x[0-9a-f]*", last):
        return False
    return not re.fullmatch(r"(0|[1-9][0-9]{0,2})(\.(0|[1-9][0-9]{0,2})){3}", host)


def is_public(address: str) -> bool:
    """Whether an IP address is public; an address embedded in an IPv6 address must be public too."""
    from ipaddress import IPv6Address, ip_address

    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if not parsed.is_global or parsed.is_multicast or parsed.is_reserved or parsed.is_unspecified:
        return isinstance(parsed, IPv6Address) and _embeds_public(parsed)
    return not isinstance(parsed, IPv6Address) or _embedded_ipv4(parsed) is None or _embeds_public(parsed)


def _embeds_public(address: Any) -> bool:
    inner = _embedded_ipv4(address)
    return inner is not None and is_public(str(inner))


def _embedded_ipv4(address: Any) -> Any:
    """The IPv4 address embedded in an IPv6 address (mapped, 6to4, Teredo, NAT64), or None."""
    from ipaddress import IPv4Address, IPv6Network

    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    if address in IPv6Network("64:ff9b::/96"):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return None
