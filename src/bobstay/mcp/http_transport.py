"""Streamable HTTP and SSE transports: the SDK's, with our proxies, authorities and limits."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from bobstay.http.network import Network
from bobstay.mcp.server_config import McpServerConfig
from bobstay.mcp.stdio_channel import MAX_MESSAGE

if TYPE_CHECKING:
    import httpx2
    from mcp.client._transport import TransportStreams

CALL_ID = "claudecode/toolUseId"
"""Key under which servers are told the id of the call; programs in the field look for this one."""
_CONNECT_TIMEOUT = 30.0
_NOT_FOUND = 404
_SESSION = "mcp-session-id"
"""Header of messages in a session; requests of a sign-in do not have it."""


class HttpExchange(Struct):
    """What a server answered on one connection, for errors that the SDK tells without their cause."""

    status: int = 0
    """Of the last response."""
    unknown: set[str] = msgspec.field(default_factory=set)
    """Ids of the calls that the server refused because it does not know the session; "" for other requests."""

    @property
    def needs_authentication(self) -> bool:
        return self.status == 401

    def record(self, response: httpx2.Response) -> None:
        """Keep the status, and whose request was refused. A server without a stream says 404, too: that is a GET."""
        self.status, request = response.status_code, response.request
        if response.status_code == _NOT_FOUND and request.method == "POST" and _SESSION in request.headers:
            self.unknown.add(_call_id(request.content))


@asynccontextmanager
async def open_http(
    config: McpServerConfig, *, auth: httpx2.Auth | None, network: Network, exchange: HttpExchange
) -> AsyncGenerator[TransportStreams]:
    """Connect to a server over streamable HTTP or SSE.

    Args:
        config: Its address and headers.
        auth: Authenticates the requests, if given.
        network: The proxies and certificate authorities to use.
        exchange: Records each response.
    """
    import httpx2

    async def record(response: httpx2.Response) -> None:
        exchange.record(response)

    transport = await _make_transport(config.url, network)

    def make_client(
        headers: dict[str, str] | None = None,
        timeout: Any = None,  # noqa: ARG001 - the SDK passes it; ours is below
        auth: httpx2.Auth | None = auth,
    ) -> httpx2.AsyncClient:
        # No limit between two bytes: how long a call may take is its own limit.
        return httpx2.AsyncClient(
            headers={**config.headers, **(headers or {})},
            auth=auth,
            timeout=httpx2.Timeout(_CONNECT_TIMEOUT, read=None),
            transport=transport,
            trust_env=False,
            event_hooks={"response": [record]},
        )

    if config.transport == "sse":
        from mcp.client.sse import sse_client

        async with sse_client(config.url, httpx_client_factory=make_client, auth=auth) as streams:
            yield streams
        return
    from mcp.client.streamable_http import streamable_http_client

    async with (
        make_client() as client,
        streamable_http_client(config.url, http_client=client, max_sse_event_size=MAX_MESSAGE) as streams,
    ):
        yield streams


def _call_id(body: bytes) -> str:
    """The id of the call in a message of ours; "" if it is another one."""
    message = msgspec.json.decode(body)
    meta = (message.get("params") or {}).get("_meta") or {}
    return str(meta.get(CALL_ID, ""))


async def _make_transport(url: str, network: Network) -> httpx2.AsyncBaseTransport:
    import httpx2

    from bobstay.http.tls import load_trust

    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    proxy = network.proxies.choose(parts.scheme, parts.hostname or "", port)
    context = (await load_trust(network.authorities)).context
    inner = httpx2.AsyncHTTPTransport(verify=context, proxy=proxy or None, retries=0)

    class BoundedStream(httpx2.AsyncByteStream):
        """The body of a response that is one message: it may not be longer than a message."""

        def __init__(self, stream: httpx2.AsyncByteStream) -> None:
            self._stream = stream

        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for piece in self._stream:
                size += len(piece)
                if size > MAX_MESSAGE:
                    raise httpx2.StreamError(f"the server sent a message of more than {MAX_MESSAGE >> 20} MiB")
                yield piece

        async def aclose(self) -> None:
            await self._stream.aclose()

    class BoundedTransport(httpx2.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            response = await inner.handle_async_request(request)
            is_event_stream = response.headers.get("content-type", "").lower().startswith("text/event-stream")
            if not is_event_stream and isinstance(response.stream, httpx2.AsyncByteStream):
                response.stream = BoundedStream(response.stream)
            return response

        async def aclose(self) -> None:
            await inner.aclose()

    return BoundedTransport()
