"""HTTP server for streams: uvicorn options, and a shutdown that does not wait for open streams."""

import socket
from typing import Any

import uvicorn

from bobstay.server.streams.http_protocol import bounded_protocol
from bobstay.server.streams.hub import Hub
from bobstay.server.streams.socket_protocol import StreamProtocol
from bobstay.server.streams.stream_timing import StreamTiming

LARGEST_MESSAGE = 1024 * 1024
"""Maximum bytes of a message from a client; a larger one closes the connection with 1009."""


def server_options(timing: StreamTiming) -> dict[str, Any]:
    """Options of `uvicorn.Config` that streams rely on.

    Compression is off, because it would pack each message separately for each client. Pings are sent once per
    heartbeat, so that a dead client is noticed even if there is nothing to send.
    """
    return {
        "ws": StreamProtocol,
        "ws_max_size": LARGEST_MESSAGE,
        "ws_per_message_deflate": False,
        "ws_ping_interval": timing.heartbeat,
        "ws_ping_timeout": timing.pong,
        "http": bounded_protocol(),
        "server_header": False,
        "access_log": False,
        "timeout_graceful_shutdown": 10,
    }


class StreamServer(uvicorn.Server):
    """Closes the streams before waiting for connections, so that open streams do not delay a shutdown."""

    def __init__(self, config: uvicorn.Config, hub: Hub) -> None:
        super().__init__(config)
        self._hub = hub

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._hub.close_all()
        await super().shutdown(sockets)
