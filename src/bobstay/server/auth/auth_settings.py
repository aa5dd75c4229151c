"""What whoever starts the server decides about its doors, and the refusal to open them to the world by mistake."""

import ipaddress
from typing import TYPE_CHECKING

from msgspec import Struct

from bobstay.server.auth.host_names import BadAddress, is_loopback

if TYPE_CHECKING:
    from bobstay.server.console import Config


class AuthSettings(Struct, frozen=True):
    host: str = "127.0.0.1"
    port: int = 3001
    """The one in use: whoever binds port 0 tells the real one."""
    tls: bool = False
    """Whether this server itself speaks TLS."""
    public_urls: tuple[str, ...] = ()
    user_header: str = ""
    """The header in which a trusted reverse proxy names the user; empty means none is believed."""
    proxies: tuple[str, ...] = ()
    """Addresses or networks of trusted reverse proxies. None: only this machine may name users, and nobody is believed
    about where a request came from."""

    @classmethod
    def of(cls, config: "Config", *, port: int = 0, tls: bool = False, proxies: tuple[str, ...] = ()) -> "AuthSettings":
        trusted = proxies or config.proxies
        return cls(config.host, port or config.port, tls, config.public_urls, config.user_header, trusted)


class OpenBindError(Exception):  # noqa: N818 - reads as what happened
    """The server would be open to other machines, unprotected. The text says what to do."""


def check_bind(host: str, *, tls: bool, insecure: bool = False) -> None:
    """Refuse to listen where others can listen in.

    Raises:
        OpenBind
    """
    if is_loopback(host) or tls or insecure:
        return
    raise OpenBindError(
        f"Not listening on {host}: other machines could reach it, and passwords and cookies would cross the network in"
        " the clear. Bind 127.0.0.1 and reach it through an SSH tunnel or a reverse proxy with TLS, give a certificate,"
        " or say with the flag for it that the network is safe."
    )


def networks(proxies: tuple[str, ...]) -> tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]:
    """Raises:
    BadAddress: one of them is neither an address nor a network.
    """
    try:
        return tuple(ipaddress.ip_network(text) for text in proxies)
    except ValueError as error:
        raise BadAddress(f"A trusted proxy is named by its address or network: {error}.") from None
