"""Channel to an MCP server over a WebSocket, which the SDK has no transport for: one message in each text frame."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from bobstay.http.network import Network
from bobstay.mcp.channel_transport import ChannelClosedError
from bobstay.mcp.stdio_channel import MAX_MESSAGE

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

_SUBPROTOCOL = "mcp"


class WebsocketRefusedError(Exception):
    """The server refused the connection with an HTTP status."""

    def __init__(self, status: int) -> None:
        super().__init__(f"the server refused the connection with HTTP status {status}")
        self.status = status


class WebsocketChannel:
    def __init__(self, connection: "ClientConnection") -> None:
        self._connection = connection

    @classmethod
    async def open(cls, url: str, headers: Mapping[str, str], network: Network, limit: float) -> "WebsocketChannel":
        """Connect.

        Raises:
            WebsocketRefusedError: the server answered with another status than 101.
            OSError: the connection failed.
            TimeoutError: it took longer than `limit` seconds.
        """
        from websockets.asyncio.client import connect
        from websockets.exceptions import InvalidHandshake, InvalidStatus
        from websockets.typing import Subprotocol

        parts = urlsplit(url)
        is_secure = parts.scheme == "wss"
        port = parts.port or (443 if is_secure else 80)
        proxy = network.proxies.choose("https" if is_secure else "http", parts.hostname or "", port)
        options: dict[str, Any] = {"proxy": proxy or None}
        if is_secure:
            from bobstay.http.tls import load_trust

            options["ssl"] = (await load_trust(network.authorities)).context
        try:
            connection = await connect(
                url,
                additional_headers=dict(headers),
                subprotocols=[Subprotocol(_SUBPROTOCOL)],
                max_size=MAX_MESSAGE,
                open_timeout=limit,
                close_timeout=1.0,
                **options,
            )
        except InvalidStatus as error:
            raise WebsocketRefusedError(error.response.status_code) from error
        except InvalidHandshake as error:
            raise ConnectionError(f"the server does not speak WebSocket: {error}") from error
        return cls(connection)

    async def receive(self) -> bytes | None:
        from websockets.exceptions import ConnectionClosed

        try:
            message = await self._connection.recv()
        except ConnectionClosed:
            return None
        return message.encode() if isinstance(message, str) else message

    async def send(self, message: bytes) -> None:
        from websockets.exceptions import ConnectionClosed

        try:
            await self._connection.send(message.decode())
        except ConnectionClosed as error:
            raise ChannelClosedError("the server closed the connection") from error

    async def close(self) -> None:
        await self._connection.close()
