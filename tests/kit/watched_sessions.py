"""The sessions of a server in this process, and waiting for what happens in them."""

import asyncio
from collections.abc import Callable
from typing import Any

from bobstay.model.event import Envelope
from bobstay.server.sessions.session_index import NoIndex
from bobstay.server.sessions.session_publisher import SessionPublisher
from bobstay.server.sessions.session_registry import SessionRegistry
from bobstay.server.sessions.session_view import SessionView
from bobstay.server.streams.hub import Hub
from bobstay.server.streams.stream_publisher import StreamPublisher
from bobstay.sessions.log_store import LogStore
from tests.kit.waiting import DEADLINE


def new_registry(store: LogStore, publisher: SessionPublisher | None = None) -> SessionRegistry:
    """A registry of the sessions with logs in a directory, without tables."""
    return SessionRegistry(store, publisher or StreamPublisher(Hub()), NoIndex())


class WatchedSessions:
    """The base of servers in this process: `watch` their registry, then wait for what it says."""

    def watch(self, registry: SessionRegistry, store: LogStore) -> None:
        self.registry = registry
        self.store = store
        self._changed = asyncio.Event()
        registry.listeners.append(self._session_changed)

    def view(self, session_id: str) -> SessionView:
        return self.registry.view(session_id)

    def events(self, session_id: str) -> list[Any]:
        return [envelope.event for envelope in self.registry.reader(session_id).read()]

    async def until(self, session_id: str, condition: Callable[[SessionView], bool]) -> SessionView:
        """Wait until a session's view is as wanted."""
        await self.until_holds(lambda: condition(self.view(session_id)))
        return self.view(session_id)

    async def until_status(self, session_id: str, *statuses: str) -> SessionView:
        return await self.until(session_id, lambda view: view.status in statuses)

    async def until_holds(self, condition: Callable[[], bool]) -> None:
        """Wait for something that changes with an event of any session."""
        async with asyncio.timeout(DEADLINE):
            while not condition():
                await self._changed.wait()

    def release_all(self) -> None:
        for session in self.registry.all_open():
            self.registry.release(session.id)

    def _session_changed(self, before: SessionView, after: SessionView, envelope: Envelope) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
