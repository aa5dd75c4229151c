"""Gives memory back to the system that ended turns have left: without it, a server stays as large as it ever was.

The requests of a turn are some hundred kilobytes each and are freed among blocks that stay, where the C library keeps
the room for itself.
"""

import asyncio
from collections.abc import Callable

from bobstay.model.event import Envelope, RunDone
from bobstay.server.sessions.session_registry import SessionRegistry
from bobstay.server.sessions.session_view import SessionView
from bobstay.system import heap

WAIT = 5.0
"""Seconds from the end of a turn, until which all that it held is free, and between two times."""


class MemoryTrimming:
    """Hangs itself into the registry; made where a loop runs."""

    def __init__(self, registry: SessionRegistry, *, wait: float = WAIT, trim: Callable[[], None] = heap.trim) -> None:
        self._loop = asyncio.get_running_loop()
        self._wait = wait
        self._trim = trim
        self._timer: asyncio.TimerHandle | None = None
        self._again = False
        """A turn has ended since the timer was set: it is seen to when the next one is over."""
        registry.listeners.append(self._heard)

    def _heard(self, before: SessionView, after: SessionView, envelope: Envelope) -> None:
        if not isinstance(envelope.event, RunDone):
            return
        self._again = self._timer is not None
        if self._timer is None:
            self._timer = self._loop.call_later(self._wait, self._begin)

    def _begin(self) -> None:
        self._timer = self._loop.call_later(self._wait, self._begin) if self._again else None
        self._again = False
        self._loop.run_in_executor(None, self._trim)  # in C, without the interpreter's lock: others go on
