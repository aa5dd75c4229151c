"""Timer that ends the bypassing of permissions when its time is over, even during a turn."""

import asyncio
import time
from collections.abc import Callable

from bobstay.server.workflows import BYPASS

CHECK_SECONDS = 15.0
"""Seconds between two checks of the clock: timers stop while the machine sleeps, the clock does not."""


class BypassTimer:
    def __init__(self, on_expiry: Callable[[], object]) -> None:
        self._on_expiry = on_expiry
        self._timer: asyncio.TimerHandle | None = None
        self._until = 0.0

    def set(self, mode: str, until: float) -> None:
        """The engine is in `mode` from now on; if that bypasses permissions, it ends at `until` (Unix time)."""
        self.cancel()
        if mode == BYPASS:
            self._until = until
            self._wait()

    def _wait(self) -> None:
        left = min(max(self._until - time.time(), 0.0), CHECK_SECONDS)
        self._timer = asyncio.get_running_loop().call_later(left, self._check)

    def _check(self) -> None:
        self._timer = None
        if time.time() < self._until:
            self._wait()
        else:
            self._on_expiry()

    def cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
