"""Protocol of the bus that carries frames from sessions to subscribers."""

from typing import Protocol


class Bus(Protocol):
    """Carries frames by topic. `Hub` is the bus of one server; subscribers elsewhere need another implementation."""

    def publish(self, topic: str, frame: bytes) -> None:
        """Send a frame to all subscribers of a topic."""
        ...

    def is_wanted(self, topic: str) -> bool:
        """Whether anybody would get a frame of this topic; if not, none needs to be made."""
        ...

    def has_subscribers(self, topic: str) -> bool:
        """Whether this topic itself has subscribers."""
        ...

    def remove_topic(self, topic: str) -> None:
        """Remove a topic with its subscribers."""
        ...
