"""Ends the bypassing of permission when its time is over, in the middle of a turn too (FM-39)."""

import asyncio
import time
from collections.abc import Callable

from bobstay.server.workflows import BYPASS

LOOK_EVERY = 15.0
"""Seconds after which the clock is read again: a timer stands still while the machine sleeps, the clock does not."""


class BypassTimer:
    def __init__(self, over: Callable[[], object]) -> None:
        self._over = over
        self._timer: asyncio.TimerHandle | None = None
        self._until = 0.0

    def set(self, mode: str, until: float) -> None:
        """The engine is in `mode` from now on; if that bypasses, then only `until` so many seconds since the epoch."""
        self.cancel()
        if mode == BYPASS:
            self._until = until
            self._wait()

    def _wait(self) -> None:
        left = min(max(self._until - time.time(), 0.0), LOOK_EVERY)
        self._timer = asyncio.get_running_loop().call_later(left, self._look)

    def _look(self) -> None:
        self._timer = None
        if time.time() < self._until:
            self._wait()
        else:
            self._over()

    def cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
