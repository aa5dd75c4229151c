"""What happens to sessions, for those who look at lists: each one's newest state, a few times a second at most."""

import asyncio
from collections.abc import Callable

from bobstay.model.event import Envelope, InteractionClosed, InteractionOpened
from bobstay.server.sessions.session_view import SessionView, interaction_view
from bobstay.server.streams.hub import Hub
from bobstay.server.streams.stream_frames import live

APP = "app"
INTERVAL = 0.25
"""Seconds between two frames about one session, unless its status changed or somebody is asked."""


class SessionChanges:
    """Publishes on the app topic. A list needs the newest state of a session and none before it."""

    def __init__(self, hub: Hub, interval: float = INTERVAL) -> None:
        self.listeners: list[Callable[[SessionView], None]] = []
        """Told of every state of every session, whoever runs it."""
        self._hub = hub
        self._interval = interval
        self._told: dict[str, tuple[float, SessionView]] = {}
        self._waiting: dict[str, SessionView] = {}
        self._timer: asyncio.TimerHandle | None = None

    def changed(self, view: SessionView) -> None:
        """A session is now like this."""
        for listener in self.listeners:
            listener(view)
        if not self._hub.followed(APP):
            self._forget_all()
            return
        loop = asyncio.get_running_loop()
        now = loop.time()
        at, before = self._told.get(view.id, (0.0, None))
        if before is None or now - at >= self._interval or _matters(before, view):
            self._tell(view, now)
        else:
            self._waiting[view.id] = view
            if self._timer is None:
                self._timer = loop.call_later(self._interval, self._due)

    def entered(self, view: SessionView, envelope: Envelope) -> None:
        """An entry came that those who answer questions want to know of."""
        event = envelope.event
        if isinstance(event, InteractionOpened):
            said = {"session_id": view.id, "interaction": interaction_view(envelope, event)}
            self._hub.publish(APP, live("interaction.opened", said, topic=APP))
        elif isinstance(event, InteractionClosed):
            said = {"session_id": view.id, "id": event.id, "outcome": event.outcome, "by": event.by}
            self._hub.publish(APP, live("interaction.resolved", said, topic=APP))

    def deleted(self, session_id: str) -> None:
        self._told.pop(session_id, None)
        self._waiting.pop(session_id, None)
        for topic in (APP, f"session:{session_id}"):
            self._hub.publish(topic, live("session.deleted", {"id": session_id}, topic=topic))
        self._hub.dissolve(f"session:{session_id}")

    def _tell(self, view: SessionView, now: float) -> None:
        self._waiting.pop(view.id, None)
        self._told[view.id] = now, view
        self._hub.publish(APP, live("session.changed", {"session": view.shown()}, topic=APP))

    def _due(self) -> None:
        self._timer = None
        now = asyncio.get_running_loop().time()
        for view in tuple(self._waiting.values()):
            self._tell(view, now)
        for id in [id for id, (at, _) in self._told.items() if now - at > 10 * self._interval]:
            del self._told[id]

    def _forget_all(self) -> None:
        if self._told:
            self._told.clear()
            self._waiting.clear()


def _matters(before: SessionView, after: SessionView) -> bool:
    return (
        before.status != after.status
        or before.interactions != after.interactions
        or before.title != after.title
        or before.archived != after.archived
        or before.pinned != after.pinned
    )
