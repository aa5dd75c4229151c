"""Publishes changes of sessions for lists: the latest state of each, at a limited rate."""

import asyncio

from bobstay.model.event import Envelope, InteractionClosed, InteractionOpened
from bobstay.server.sessions.open_interactions import interaction_view
from bobstay.server.sessions.session_view import SessionView
from bobstay.server.streams.bus import Bus
from bobstay.server.streams.stream_frames import live, session_topic

APP = "app"
INTERVAL = 0.25
"""Seconds between two frames about one session, unless its status or its interactions changed."""


class SessionChanges:
    """Publishes on the app topic. A list needs only the latest state of a session."""

    def __init__(self, bus: Bus, interval: float = INTERVAL) -> None:
        self._bus = bus
        self._interval = interval
        self._published: dict[str, tuple[float, SessionView]] = {}
        self._waiting: dict[str, SessionView] = {}
        self._timer: asyncio.TimerHandle | None = None

    def changed(self, view: SessionView) -> None:
        """Publish the new state of a session, now or soon."""
        if not self._bus.is_wanted(APP):
            self._forget_all()
            return
        loop = asyncio.get_running_loop()
        now = loop.time()
        at, before = self._published.get(view.id, (0.0, None))
        if before is None or now - at >= self._interval or _is_urgent(before, view):
            self._publish(view, now)
        else:
            self._waiting[view.id] = view
            if self._timer is None:
                self._timer = loop.call_later(self._interval, self._publish_due)

    def publish_interaction(self, view: SessionView, envelope: Envelope) -> None:
        """Publish an entry that opens or closes an interaction."""
        event = envelope.event
        if isinstance(event, InteractionOpened):
            data = {"session_id": view.id, "interaction": interaction_view(envelope, event, view.background)}
            self._bus.publish(APP, live("interaction.opened", data, topic=APP))
        elif isinstance(event, InteractionClosed):
            data = {"session_id": view.id, "id": event.id, "outcome": event.outcome, "by": event.by}
            self._bus.publish(APP, live("interaction.resolved", data, topic=APP))

    def deleted(self, session_id: str) -> None:
        self._published.pop(session_id, None)
        self._waiting.pop(session_id, None)
        for topic in (APP, session_topic(session_id)):
            self._bus.publish(topic, live("session.deleted", {"id": session_id}, topic=topic))
        self._bus.remove_topic(session_topic(session_id))

    def _publish(self, view: SessionView, now: float) -> None:
        self._waiting.pop(view.id, None)
        self._published[view.id] = now, view
        self._bus.publish(APP, live("session.changed", {"session": view.without_memory()}, topic=APP))

    def _publish_due(self) -> None:
        self._timer = None
        now = asyncio.get_running_loop().time()
        for view in tuple(self._waiting.values()):
            self._publish(view, now)
        for id in [id for id, (at, _) in self._published.items() if now - at > 10 * self._interval]:
            del self._published[id]

    def _forget_all(self) -> None:
        if self._published:
            self._published.clear()
            self._waiting.clear()


def _is_urgent(before: SessionView, after: SessionView) -> bool:
    return (
        before.status != after.status
        or before.interactions != after.interactions
        or before.background != after.background
        or before.title != after.title
        or before.archived != after.archived
        or before.pinned != after.pinned
    )
