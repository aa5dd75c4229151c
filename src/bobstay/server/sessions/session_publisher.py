"""Protocol by which sessions publish what happens in them. The streams implement it."""

from typing import Protocol

from bobstay.model.event import Envelope
from bobstay.model.live_events import Live
from bobstay.server.sessions.session_view import SessionView


class SessionPublisher(Protocol):
    """Publishes to whoever subscribes. Nothing is published before it is stored, except live events."""

    def publish_entry(self, before: SessionView, after: SessionView, envelope: Envelope) -> None:
        """Publish a stored entry of a session that this server writes, with the views before and after it."""
        ...

    def publish_foreign_entry(self, before: SessionView, after: SessionView, envelope: Envelope) -> None:
        """Publish an entry that another process wrote."""
        ...

    def publish_live(self, session_id: str, event: Live, parent_call: str = "") -> None:
        """Publish an event that is not stored."""
        ...

    def publish_inventory_change(self, session_id: str) -> None:
        """Publish that commands or MCP servers of a session changed; clients read them again."""
        ...

    def publish_interaction(self, view: SessionView, envelope: Envelope) -> None:
        """Publish an entry that opens or closes an interaction to lists of sessions."""
        ...

    def publish_view(self, view: SessionView) -> None:
        """Publish the new state of a session to lists of sessions."""
        ...

    def end_live(self, session_id: str) -> None:
        """Send the live events that wait: this server no longer writes the session."""
        ...

    def publish_deleted(self, session_id: str) -> None:
        """Publish that a session was deleted, and end its subscriptions."""
        ...
