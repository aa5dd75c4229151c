"""The tables: what is made from the logs, and what is nobody's projection. One writer, in batches."""

from bobstay.model.event import Envelope
from bobstay.server.sessions.view import SessionView


class Database:
    def put(self, session_id: str, envelope: Envelope, view: SessionView) -> None:
        """Take note of an entry of a log, soon. See `ports.Index`."""
