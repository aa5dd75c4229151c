"""Chooses the proxy of a request by the rules of curl and Go, and parses proxy URLs."""

from base64 import b64encode
from typing import TYPE_CHECKING, Literal, TypeAlias
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from bobstay.http.http_error import HttpError

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address

Scheme: TypeAlias = Literal["http", "https", "socks5"]

_SCHEMES: dict[str, tuple[Scheme, int]] = {
    "http": ("http", 8080),
    "https": ("https", 443),
    "socks5": ("socks5", 1080),
    "socks5h": ("socks5", 1080),
}
"""Protocol and default port for the scheme of a proxy's URL. A SOCKS proxy always resolves the names."""


class BadProxyError(HttpError):
    """The URL of a proxy is invalid. The text says why, and never contains the password."""

    def __init__(self, message: str) -> None:
        super().__init__(message, "invalid_request")


class ProxyRefusedError(OSError):
    """The proxy refused the connection. The text says why and what to do."""


class ProxyServer(Struct, frozen=True):
    """Address and credentials of a proxy."""

    scheme: Scheme
    host: str
    port: int
    user: str = ""
    password: str = ""

    @classmethod
    def parse(cls, url: str) -> "ProxyServer":
        """Parse the value of a variable such as HTTPS_PROXY: a URL, or just `host:port`.

        Raises:
            BadProxyError: it is neither, or a kind of proxy that is not supported.
        """
        try:
            parts = urlsplit(url if "://" in url else f"http://{url}")
            port = parts.port
        except ValueError as error:
            raise BadProxyError(f"The address of the proxy is not a URL: {error}.") from None
        if parts.scheme not in _SCHEMES:
            raise BadProxyError(
                f"Proxies of the kind {parts.scheme!r} are not supported; use an http://, https:// or socks5:// proxy."
            )
        if not parts.hostname:
            raise BadProxyError("The address of the proxy names no host. Write http://host:port.")
        scheme, usual = _SCHEMES[parts.scheme]
        return cls(scheme, parts.hostname, port or usual, unquote(parts.username or ""), unquote(parts.password or ""))

    @property
    def address(self) -> str:
        """Host and port, without user and password, for error messages."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def authorization(self) -> str:
        """The value of `Proxy-Authorization`; empty if no user is named."""
        if not self.user:
            return ""
        return "Basic " + b64encode(f"{self.user}:{self.password}".encode()).decode()


class Proxies(Struct, frozen=True):
    """The usual variables: proxy URLs by the scheme of the request, and the hosts reached without a proxy."""

    http: str = ""
    https: str = ""
    all: str = ""
    """For schemes without a proxy of their own."""
    no: str = ""

    def choose(self, scheme: str, host: str, port: int) -> str:
        """Return the URL of the proxy for a request to `host`; "" for a direct connection."""
        url = (self.https if scheme == "https" else self.http) or self.all
        if not url.strip() or self.is_direct(host, port):
            return ""
        return url.strip()

    def is_direct(self, host: str, port: int) -> bool:
        """Whether `host` is this machine, or one that NO_PROXY names."""
        host = host.strip("[]").rstrip(".").lower()
        return is_this_machine(host) or any(
            _matches(rule, host, port) for rule in self.no.lower().replace(",", " ").split()
        )


def is_this_machine(host: str) -> bool:
    """Whether a host is a loopback address or `localhost`, which no proxy on another machine could reach."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    address = parse_ip(host)
    if address is None:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)


def _matches(rule: str, host: str, port: int) -> bool:
    """Whether one entry of NO_PROXY covers a host: `*`, a network, an address, a domain; the last two with a port."""
    if rule == "*":
        return True
    if "/" in rule:
        return _in_network(rule, host)
    name, wanted = _without_port(rule)
    if wanted and wanted != str(port):
        return False
    address = parse_ip(host)
    if address is not None:
        return parse_ip(name) == address
    domain = name.removeprefix("*").strip(".")
    return bool(domain) and (host == domain or host.endswith("." + domain))


def _without_port(rule: str) -> tuple[str, str]:
    if rule.startswith("["):
        name, _, rest = rule[1:].partition("]")
        return name, rest.removeprefix(":")
    if rule.count(":") == 1:
        name, _, port = rule.partition(":")
        return name, port
    return rule, ""  # a bare IPv6 address has colons of its own


def _in_network(rule: str, host: str) -> bool:
    from ipaddress import ip_network

    address = parse_ip(host)
    try:
        return address is not None and address in ip_network(rule, strict=False)
    except ValueError:
        return False


def parse_ip(host: str) -> "IPv4Address | IPv6Address | None":
    """Return the host as an IP address, if it is one."""
    if not host or not (":" in host or host[-1].isdigit()):
        return None  # most hosts are names: avoid importing `ipaddress`
    from ipaddress import ip_address

    try:
        return ip_address(host.partition("%")[0])
    except ValueError:
        return None
