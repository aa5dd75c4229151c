"""Publishes what happens in sessions as frames on the bus."""

import logging
from functools import partial
from typing import Any

from bobstay.model.event import Envelope, TasksReplaced
from bobstay.model.live_events import Live
from bobstay.server.sessions.session_view import SessionView
from bobstay.server.streams.bus import Bus
from bobstay.server.streams.live_parts import LiveParts
from bobstay.server.streams.session_changes import SessionChanges
from bobstay.server.streams.stream_frames import entry_frame, live, session_topic

log = logging.getLogger(__name__)


class StreamPublisher:
    """The `SessionPublisher` of a server."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._changes = SessionChanges(bus)
        self._parts: dict[str, LiveParts] = {}
        """By session: the messages and outputs that are not finished."""

    def publish_entry(self, before: SessionView, after: SessionView, envelope: Envelope) -> None:
        parts = self._parts.get(after.id)
        if parts is not None:
            parts.stored(envelope.event)
        wanted = self._publish_frame(before, after, envelope)
        if isinstance(envelope.event, TasksReplaced):
            whom = "sent to subscribers" if wanted else "no subscribers"
            log.debug("session %s: %d tasks in entry %d, %s", after.id, len(envelope.event.tasks), envelope.seq, whom)

    def publish_foreign_entry(self, before: SessionView, after: SessionView, envelope: Envelope) -> None:
        self._publish_frame(before, after, envelope)

    def _publish_frame(self, before: SessionView, after: SessionView, envelope: Envelope) -> bool:
        """Returns whether anybody gets it."""
        topic = session_topic(after.id)
        wanted = self._bus.is_wanted(topic)
        if wanted:
            self._bus.publish(topic, entry_frame(before, after, envelope))
        return wanted

    def publish_live(self, session_id: str, event: Live, parent_call: str = "") -> None:
        parts = self._parts.get(session_id)
        if parts is None:
            send = partial(self._bus.publish, session_topic(session_id))
            parts = self._parts[session_id] = LiveParts(session_id, send)
        parts.live(event, parent_call)

    def publish_inventory_change(self, session_id: str) -> None:
        topic = session_topic(session_id)
        if self._bus.is_wanted(topic):
            self._bus.publish(topic, live("inventory.changed", {}, session_id))

    def publish_interaction(self, view: SessionView, envelope: Envelope) -> None:
        self._changes.publish_interaction(view, envelope)

    def publish_view(self, view: SessionView) -> None:
        self._changes.changed(view)

    def end_live(self, session_id: str) -> None:
        parts = self._parts.pop(session_id, None)
        if parts is not None:
            parts.flush()

    def publish_deleted(self, session_id: str) -> None:
        self._changes.deleted(session_id)

    def open_parts(self, session_id: str) -> list[dict[str, Any]]:
        """The unfinished parts of a session as far as they were sent, for a client that joins now."""
        parts = self._parts.get(session_id)
        return parts.snapshot() if parts is not None else []
