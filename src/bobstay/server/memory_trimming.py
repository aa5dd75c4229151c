"""Returns freed memory of ended turns to the system: otherwise a server keeps its peak size.

The requests of a turn are some hundred kilobytes each and are freed between blocks that stay in use, so that the C
library does not return the memory by itself.
"""

import asyncio
from collections.abc import Callable

from bobstay.model.event import Envelope, RunDone
from bobstay.server.sessions.session_registry import SessionRegistry
from bobstay.server.sessions.session_view import SessionView
from bobstay.system import heap

WAIT = 5.0
"""Seconds after the end of a turn, when its memory is free, and between two trims."""


class MemoryTrimming:
    """Registers itself as a listener of the registry; created where an event loop runs."""

    def __init__(self, registry: SessionRegistry, *, wait: float = WAIT, trim: Callable[[], None] = heap.trim) -> None:
        self._loop = asyncio.get_running_loop()
        self._wait = wait
        self._trim = trim
        self._timer: asyncio.TimerHandle | None = None
        self._again = False
        """A turn has ended since the timer was set: another trim is needed afterwards."""
        registry.listeners.append(self._on_entry)

    def _on_entry(self, before: SessionView, after: SessionView, envelope: Envelope) -> None:
        if not isinstance(envelope.event, RunDone):
            return
        self._again = self._timer is not None
        if self._timer is None:
            self._timer = self._loop.call_later(self._wait, self._begin)

    def _begin(self) -> None:
        self._timer = self._loop.call_later(self._wait, self._begin) if self._again else None
        self._again = False
        self._loop.run_in_executor(None, self._trim)  # in C, without the GIL: other tasks continue
