"""Names under which this server may be spoken to: Host and Origin taken apart, and compared whole.

Beginnings are never compared: `http://localhost.evil.example` begins like a friend.
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
    """An address that whoever starts the server gave is none. The text says which."""


class Allowed(Struct, frozen=True):
    hosts: frozenset[HostPort]
    origins: frozenset[Origin]


def parse_host(text: str) -> HostPort | None:
    """A Host header as (name, port); the port is None where it is left out. None if it is no such header."""
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
    """An Origin header as (scheme, host, port). None for `null` and for all that is no web origin."""
    scheme, separator, rest = text.partition("://")
    usual = USUAL_PORTS.get(scheme.lower())
    if not separator or usual is None:
        return None
    place = parse_host(rest)
    return None if place is None else (scheme.lower(), place[0], place[1] or usual)


def allowed(host: str, port: int, tls: bool, public_urls: Iterable[str]) -> Allowed:
    """All names of a server bound to `host` and `port` that is shown to the world under `public_urls`.

    Raises:
        BadAddress: one of `public_urls` is no origin.
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
    return Allowed(frozenset(hosts), frozenset(origins))


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach what is bound to `host`."""
    if host == "localhost":
        return True
    try:
        return plain_address(host).is_loopback
    except ValueError:
        return False


def plain_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """An address of IP; one of version 4 in the clothes of version 6 is unwrapped.

    Raises:
        ValueError: it is none.
    """
    address = ipaddress.ip_address(text)
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def _bound(host: str) -> tuple[str, ...]:
    """The name a bind address gives. `0.0.0.0` and `::` are no names: pages elsewhere can use them to reach us."""
    place = parse_host(f"[{host}]" if ":" in host else host)
    if place is None:
        return ()
    try:
        return () if plain_address(place[0]).is_unspecified else (place[0],)
    except ValueError:
        return (place[0],)
