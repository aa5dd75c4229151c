"""Loads sessions when the server starts: indexed ones at once, the others while it already serves."""

import logging
import os
import time

from bobstay.server.db.database import Database
from bobstay.server.sessions.abandoned_view import observed_view
from bobstay.server.sessions.session_registry import SessionRegistry
from bobstay.server.streams.bus import Bus
from bobstay.server.streams.session_changes import APP
from bobstay.server.streams.stream_frames import live
from bobstay.sessions.jsonl_log import SUFFIX
from bobstay.sessions.log import LogError
from bobstay.sessions.log_store import LogStore

log = logging.getLogger(__name__)
BEFORE_SERVING = 2.0
"""Seconds spent on logs that are not indexed before the server accepts requests. After a crash that suffices."""
TELL_EVERY = 0.5


class SessionLoading:
    """Loads sessions in order; one that is requested earlier is loaded at once."""

    def __init__(self, registry: SessionRegistry, store: LogStore, database: Database, bus: Bus) -> None:
        self._registry = registry
        self._store = store
        self._database = database
        self._bus = bus
        self._total = 0
        self._skipped = 0
        self._reported_at = 0.0

    @property
    def is_complete(self) -> bool:
        """Whether all sessions are known: none is pending, and none was skipped because it could not be read."""
        return not self._registry.pending and not self._skipped

    async def begin(self) -> None:
        """Load the indexed sessions, then the logs that changed last, for a limited time."""
        registry = self._registry
        known, changed = await self._database.known_views()
        for view in known.values():
            registry.update_view(view if view.stored else observed_view(self._store, view))
        newest = sorted(
            changed, key=lambda id: _changed_at(os.path.join(self._store.directory, id + SUFFIX)), reverse=True
        )
        registry.pending.update(dict.fromkeys(newest))
        self._total = len(newest)
        await self._load(time.monotonic() + BEFORE_SERVING)
        if registry.pending:
            log.warning("%d sessions are loaded while the server runs", len(registry.pending))

    async def finish(self) -> None:
        """Load all other sessions, and index new entries."""
        if self._registry.pending:
            await self._load()
            log.warning("all %d sessions are loaded", len(self._registry.views))
        await self._database.catch_up()

    async def _load(self, until: float = float("inf")) -> None:
        pending = self._registry.pending
        while pending and time.monotonic() < until:
            session_id = next(iter(pending))
            try:
                view = await self._database.current_view(session_id)
                if view is not None and session_id in pending:
                    self._registry.update_view(observed_view(self._store, view))
            except (OSError, LogError) as error:  # skip it: the others are loaded
                self._skipped += 1
                log.warning("%s is not a readable session: %s", session_id, error)
            pending.pop(session_id, None)
            self._report_progress()

    def _report_progress(self) -> None:
        left, now = len(self._registry.pending), time.monotonic()
        if left and now - self._reported_at < TELL_EVERY:
            return
        self._reported_at = now
        frame = live("sessions.loading", {"left": left, "total": self._total}, topic=APP)
        self._bus.publish(APP, frame)


def _changed_at(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0
