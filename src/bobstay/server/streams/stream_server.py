"""How the HTTP server must be set up for streams: options, and an end that does not wait for those who only listen."""

import socket
from typing import Any

import uvicorn

from bobstay.server.streams.http_protocol import bounded
from bobstay.server.streams.hub import Hub
from bobstay.server.streams.socket_protocol import StreamProtocol
from bobstay.server.streams.stream_timing import StreamTiming

LARGEST_MESSAGE = 1024 * 1024
"""Bytes of a message from a client; a larger one ends the connection with 1009."""


def server_options(timing: StreamTiming) -> dict[str, Any]:
    """Options of `uvicorn.Config` that streams rely on.

    No compression: it would pack each message anew for each client. Pings go out once a heartbeat, so a client that is
    gone is noticed even if it is never sent anything.
    """
    return {
        "ws": StreamProtocol,
        "ws_max_size": LARGEST_MESSAGE,
        "ws_per_message_deflate": False,
        "ws_ping_interval": timing.heartbeat,
        "ws_ping_timeout": timing.pong,
        "http": bounded(),
        "server_header": False,
        "access_log": False,
        "timeout_graceful_shutdown": 10,
    }


class StreamServer(uvicorn.Server):
    """Ends the streams before it waits for connections to end: nobody who only listens can hold it up."""

    def __init__(self, config: uvicorn.Config, hub: Hub) -> None:
        super().__init__(config)
        self._hub = hub

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._hub.shut()
        await super().shutdown(sockets)
