"""Authentication settings of the server, and the check that refuses an unprotected bind address."""

import ipaddress

from msgspec import Struct

from bobstay.server.auth.host_names import BadAddress, is_loopback
from bobstay.server.server_options import ServerOptions


class AuthSettings(Struct, frozen=True):
    host: str = "127.0.0.1"
    port: int = 3001
    """The actual port: after binding port 0, the one the system chose."""
    tls: bool = False
    """Whether this server itself terminates TLS."""
    public_urls: tuple[str, ...] = ()
    user_header: str = ""
    """The header in which a trusted reverse proxy names the user; empty disables it."""
    proxies: tuple[str, ...] = ()
    """Addresses or networks of trusted reverse proxies. If empty, only this machine may name users, and forwarded
    client addresses are ignored."""

    @classmethod
    def of(
        cls, config: ServerOptions, *, port: int = 0, tls: bool = False, proxies: tuple[str, ...] = ()
    ) -> "AuthSettings":
        trusted = proxies or config.proxies
        return cls(config.host, port or config.port, tls, config.public_urls, config.user_header, trusted)


class OpenBindError(Exception):
    """The server would be reachable from other machines without protection. The text says what to do."""


def check_bind(host: str, *, tls: bool, insecure: bool = False) -> None:
    """Refuse a bind address that other machines can reach without TLS.

    Raises:
        OpenBindError
    """
    if is_loopback(host) or tls or insecure:
        return
    raise OpenBindError(
        f"Not listening on {host}: other machines could reach it, and passwords and cookies would cross the network in"
        " the clear. Bind 127.0.0.1 and reach it through an SSH tunnel or a reverse proxy with TLS, give a certificate,"
        " or pass the flag that declares the network safe."
    )


def parse_networks(proxies: tuple[str, ...]) -> tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]:
    """Raises:
    BadAddress: one of them is neither an IP address nor a network.
    """
    try:
        return tuple(ipaddress.ip_network(text) for text in proxies)
    except ValueError as error:
        raise BadAddress(f"A trusted proxy must be an IP address or network: {error}.") from None
