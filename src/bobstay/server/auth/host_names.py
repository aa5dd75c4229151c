"""Parses Host and Origin headers and lists the names under which this server may be reached.

Names are compared whole, never by prefix: `http://localhost.evil.example` begins like an allowed one.
"""

import ipaddress
import re
from collections.abc import Iterable
from typing import TypeAlias

from msgspec import Struct

HostPort: TypeAlias = tuple[str, int | None]
Origin: TypeAlias = tuple[str, str, int]
"""Scheme, host, port."""

USUAL_PORTS = {"http": 80, "https": 443}
LOCAL = ("localhost", "127.0.0.1", "::1")
LONGEST = 300
_NAME = r"[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){0,20}"
_HOST = re.compile(rf"(?:\[([0-9a-f:.]{{2,45}})\]|({_NAME}))(?::([1-9][0-9]{{0,4}}))?", re.A)


class BadAddress(ValueError):  # noqa: N818 - reads as what happened
    """An address in the server's configuration is invalid. The text says which."""


class AllowedNames(Struct, frozen=True):
    hosts: frozenset[HostPort]
    origins: frozenset[Origin]


def parse_host(text: str) -> HostPort | None:
    """A Host header as (name, port); the port is None if left out. None if the header is invalid."""
    found = _HOST.fullmatch(text.lower()) if len(text) <= LONGEST and text.isascii() else None
    if found is None:
        return None
    bracketed, name, digits = found.groups()
    port = int(digits) if digits else None
    if port is not None and port > 65_535:
        return None
    if bracketed is None:
        return str(name), port
    try:
        return str(ipaddress.IPv6Address(bracketed)), port
    except ValueError:
        return None


def parse_origin(text: str) -> Origin | None:
    """An Origin header as (scheme, host, port). None for `null` and for everything that is not a web origin."""
    scheme, separator, rest = text.partition("://")
    usual = USUAL_PORTS.get(scheme.lower())
    if not separator or usual is None:
        return None
    host = parse_host(rest)
    return None if host is None else (scheme.lower(), host[0], host[1] or usual)


def allowed_names(host: str, port: int, tls: bool, public_urls: Iterable[str]) -> AllowedNames:
    """All names of a server that is bound to `host` and `port` and published under `public_urls`.

    Raises:
        BadAddress: one of `public_urls` is not an origin.
    """
    scheme = "https" if tls else "http"
    names = {*LOCAL, *_bound(host)}
    origins: set[Origin] = {(scheme, name, port) for name in names}
    for url in public_urls:
        origin = parse_origin(url.removesuffix("/"))
        if origin is None:
            text = f"{url[:200]!r} is no public address. Give scheme, host and port only, as in https://agents.example.com."
            raise BadAddress(text)
        origins.add(origin)
    hosts: set[HostPort] = set()
    for kind, name, number in origins:
        hosts.add((name, number))
        if number == USUAL_PORTS[kind]:
            hosts.add((name, None))
    return AllowedNames(frozenset(hosts), frozenset(origins))


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach what is bound to `host`."""
    if host == "localhost":
        return True
    try:
        return plain_address(host).is_loopback
    except ValueError:
        return False


def plain_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """An IP address; an IPv4-mapped IPv6 address becomes IPv4.

    Raises:
        ValueError: it is not an IP address.
    """
    address = ipaddress.ip_address(text)
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def _bound(host: str) -> tuple[str, ...]:
    """The name of a bind address. `0.0.0.0` and `::` give none: other pages could use them to reach this server."""
    parsed = parse_host(f"[{host}]" if ":" in host else host)
    if parsed is None:
        return ()
    try:
        return () if plain_address(parsed[0]).is_unspecified else (parsed[0],)
    except ValueError:
        return (parsed[0],)
