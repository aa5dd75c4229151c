"""Protocol of the tables beside the logs. The database implements it."""

from typing import Protocol

from bobstay.model.event import Envelope
from bobstay.server.sessions.session_view import SessionView


class Index(Protocol):
    """Tables projected from the logs, for lists, paging and search. They lag behind slightly and can be rebuilt."""

    def put(self, session_id: str, envelope: Envelope, view: SessionView) -> None:
        """Queue an entry of a log for projection. `view` is the session after it."""
        ...

    def archived_log_path(self, session_id: str) -> str:
        """The path of the session's compressed log; empty if the log is not compressed."""
        ...

    async def unpack(self, session_id: str, by: str) -> None:
        """Restore a compressed log to its original path."""
        ...

    async def forget(self, session_id: str) -> None:
        """Remove all rows of a deleted session."""
        ...


class NoIndex:
    """Does nothing; for tests without a database."""

    def put(self, session_id: str, envelope: Envelope, view: SessionView) -> None:
        return

    async def forget(self, session_id: str) -> None:
        return

    def archived_log_path(self, session_id: str) -> str:
        return ""

    async def unpack(self, session_id: str, by: str) -> None:
        return
