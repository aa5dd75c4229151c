"""What the parts of the server need from each other, as narrow protocols."""

from typing import Protocol

from bobstay.model.event import Envelope
from bobstay.server.sessions.session_view import SessionView


class Index(Protocol):
    """Tables made from the logs, for lists, paging and search. They lag a moment behind and can be made anew."""

    def put(self, session_id: str, envelope: Envelope, view: SessionView) -> None:
        """Take note of an entry of a log, soon. `view` is the session after it."""
        ...

    def packed_log(self, session_id: str) -> str:
        """Where the session's log is if it was packed away: then it is not gone. Else empty."""
        ...

    async def unpack(self, session_id: str, by: str) -> None:
        """Bring a packed log back to where it was."""
        ...

    async def forget(self, session_id: str) -> None:
        """Remove all that was made from the log of a session that is gone."""
        ...


class NoIndex:
    """For parts that are tried without a database."""

    def put(self, session_id: str, envelope: Envelope, view: SessionView) -> None:
        return

    async def forget(self, session_id: str) -> None:
        return

    def packed_log(self, session_id: str) -> str:
        return ""

    async def unpack(self, session_id: str, by: str) -> None:
        return
