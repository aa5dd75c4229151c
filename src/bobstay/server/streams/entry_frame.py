"""The frame of a log entry, with what the entry changed for its session."""

from bobstay.model.event import Envelope
from bobstay.server.sessions.context_threshold import context_threshold
from bobstay.server.sessions.session_view import SessionView
from bobstay.server.streams.stream_frames import Transition, durable


def entry_frame(before: SessionView, after: SessionView, envelope: Envelope) -> bytes:
    """The frame of an entry, with the changes of status and context threshold it caused."""
    changed = None
    if before.status != after.status:
        changed = Transition(before.status, after.status, after.error)
    return durable(after.id, envelope, turn=after.turns, status=changed, threshold=context_threshold(before, after))
