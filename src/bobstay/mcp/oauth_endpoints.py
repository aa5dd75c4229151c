"""Rules for addresses and bodies of an OAuth flow: every address in it comes from a server that may be hostile."""

import ipaddress
from collections.abc import AsyncIterator
from contextlib import suppress

import httpx2

MAX_BODY = 1 << 20
MAX_ADDRESS_LENGTH = 4_096


class RefusedEndpoint(Exception):  # noqa: N818 - it names what happened
    """An address or answer in an OAuth flow is not acceptable; the text says which and why."""


def check_endpoint(address: str, server: str) -> None:
    """Refuse an address that a server named for signing in.

    Tokens and codes travel encrypted, or never leave this machine; and a server elsewhere cannot make this machine call
    programs that listen on it.

    Args:
        address: The address to call, or to open in a browser.
        server: The address of the MCP server, which a person wrote down.

    Raises:
        RefusedEndpoint
    """
    try:
        url, origin = httpx2.URL(address), httpx2.URL(server)
    except (httpx2.InvalidURL, ValueError) as error:
        raise RefusedEndpoint("It named an address for signing in that is not a valid URL.") from error
    shown = f"{url.scheme}://{url.host}"[:200]
    if len(address) > MAX_ADDRESS_LENGTH or url.userinfo or not url.host:
        raise RefusedEndpoint(f"It named an unusable address for signing in ({shown}).")
    if url.scheme not in ("https", "http"):
        raise RefusedEndpoint(f"It named an address for signing in that is not a web address ({shown}).")
    if is_same_origin(url, origin):
        return
    local, server_local = is_loopback(url.host), is_loopback(origin.host)
    if url.scheme == "http" and not local:
        raise RefusedEndpoint(f"It named an address for signing in without encryption ({shown}).")
    if (local or _is_link_local(url.host)) and not server_local:
        raise RefusedEndpoint(f"It named an address of this machine for signing in ({shown}), but is not on it.")


def check_server(address: str) -> None:
    """Refuse to send tokens to an MCP server without encryption, unless it is on this machine.

    Raises:
        RefusedEndpoint
    """
    try:
        url = httpx2.URL(address)
    except (httpx2.InvalidURL, ValueError) as error:
        raise RefusedEndpoint("Its address is not a valid URL.") from error
    if url.scheme != "https" and not (url.scheme == "http" and is_loopback(url.host)):
        raise RefusedEndpoint("Signing in needs https, because tokens would travel without encryption.")


def is_loopback(host: str) -> bool:
    host = host.strip("[]").rstrip(".").lower()
    if host == "localhost" or host.endswith(".localhost"):
        return True
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False


def is_same_origin(one: httpx2.URL, other: httpx2.URL) -> bool:
    return (one.scheme, one.host, one.port) == (other.scheme, other.host, other.port)


def limit_body(response: httpx2.Response) -> None:
    """Let reading the body fail beyond `MAX_BODY`.

    Raises:
        RefusedEndpoint: it is compressed, though that was not requested: its size would not be known.
    """
    if response.headers.get("Content-Encoding", "identity").lower() not in ("", "identity"):
        raise RefusedEndpoint(f"{_describe(response)} answered with a compressed body, which was not requested.")
    if not response.is_stream_consumed and isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _LimitedBody(response.stream, _describe(response))


class _LimitedBody(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, source: str) -> None:
        self._stream = stream
        self._source = source

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for piece in self._stream:
            size += len(piece)
            if size > MAX_BODY:
                raise RefusedEndpoint(f"{self._source} answered with more than {MAX_BODY >> 20} MiB.")
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


def _describe(response: httpx2.Response) -> str:
    return f"{response.request.url.scheme}://{response.request.url.host}"[:200]


def _is_link_local(host: str) -> bool:
    """Whether it is a literal address that only this machine's network segment knows, such as a metadata service."""
    with suppress(ValueError):
        address = ipaddress.ip_address(host.strip("[]"))
        return address.is_link_local or address.is_unspecified
    return False
