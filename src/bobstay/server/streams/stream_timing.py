"""Timing of streams, derived from the heartbeat interval: a client's timeout is longer than the server's interval."""

from msgspec import Struct


class StreamTiming(Struct, frozen=True):
    """Times in seconds, sent to clients in `server.hello` and in the configuration."""

    heartbeat: float = 15.0
    """Interval of heartbeats."""
    silence: float = 37.5
    """After so long without a frame a client considers the connection dead."""
    connect: float = 10.0
    """Timeout for a connection to open, and for a hello if the server needs one."""
    retry_first: float = 1.0
    retry_most: float = 30.0
    """Delays between attempts to reconnect double from `retry_first` up to `retry_most`."""
    retry_jitter: float = 0.3
    """Each delay is randomly changed by up to this fraction."""
    retry_calm: float = 30.0
    """After a connection of this length the next delay is `retry_first` again."""

    @classmethod
    def of(cls, heartbeat: float) -> "StreamTiming":
        return cls(heartbeat=heartbeat, silence=2.5 * heartbeat)

    @property
    def pong(self) -> float:
        """Timeout of the server for the pong to a ping, which is sent once per heartbeat."""
        return 1.5 * self.heartbeat
