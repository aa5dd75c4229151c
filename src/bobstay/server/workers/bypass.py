"""Ends the bypassing of permission when its time is over, in the middle of a turn too (FM-39)."""

import asyncio
import time
from collections.abc import Callable

from bobstay.server.workflows import BYPASS


class BypassTimer:
    def __init__(self, over: Callable[[], object]) -> None:
        self._over = over
        self._timer: asyncio.TimerHandle | None = None

    def set(self, mode: str, until: float) -> None:
        """The engine is in `mode` from now on; if that bypasses, then only `until` so many seconds since the epoch."""
        self.cancel()
        if mode == BYPASS:
            left = max(until - time.time(), 0.0)
            self._timer = asyncio.get_running_loop().call_later(left, self._over)

    def cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
