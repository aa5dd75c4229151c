"""The times both ends of a stream keep to, all from one number: a client is more patient than the server is slow."""

from msgspec import Struct


class StreamTiming(Struct, frozen=True):
    """In seconds. Goes to clients as it is, in `server.hello` and in the configuration."""

    heartbeat: float = 15.0
    """The server says something at least this often."""
    silence: float = 37.5
    """After so long without a word a client takes the connection for dead."""
    connect: float = 10.0
    """So long a client waits for a connection to come up, and the server for a hello where it needs one."""
    retry_first: float = 1.0
    retry_most: float = 30.0
    """Waits between tries double from the first to the most."""
    retry_jitter: float = 0.3
    """Each wait is made longer or shorter by up to this part of it."""
    retry_calm: float = 30.0
    """A connection that held so long makes the next wait the first again."""

    @classmethod
    def of(cls, heartbeat: float) -> "StreamTiming":
        return cls(heartbeat=heartbeat, silence=2.5 * heartbeat)

    @property
    def pong(self) -> float:
        """So long the server waits for the answer to a ping, sent once a heartbeat."""
        return 1.5 * self.heartbeat
