"""Heartbeats of a connection as frames, which a client can see, unlike WebSocket pings or SSE comments."""

import asyncio

from bobstay.model.ids import timestamp
from bobstay.server.streams.hub import HubClient
from bobstay.server.streams.stream_frames import live

NAME = "server.heartbeat"


class HeartbeatLoop:
    """Starts immediately and runs until it is cancelled."""

    def __init__(self, client: HubClient, seconds: float) -> None:
        self._client = client
        self._seconds = seconds
        self._timer = asyncio.get_running_loop().call_later(seconds, self._beat)

    def cancel(self) -> None:
        self._timer.cancel()

    def _beat(self) -> None:
        self._client.offer(live(NAME, {"ts": timestamp()}))
        self._timer = asyncio.get_running_loop().call_later(self._seconds, self._beat)
