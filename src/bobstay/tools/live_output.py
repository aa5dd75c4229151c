"""Passes on the output of a running command: in time for people to follow it, seldom enough to cost little."""

import asyncio
import codecs
from collections.abc import Callable

_PAUSE = 0.05
_MOST = 8_192


class LiveOutput:
    """Collects output and reports it at most twenty times a second, no more than a screenful at once.

    A command that ends before the first report is due reports nothing: its result is about to come.
    """

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._waiting = bytearray()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, data: bytes) -> None:
        self._waiting += data[-_MOST:]
        if len(self._waiting) > 2 * _MOST:
            del self._waiting[:-_MOST]
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_PAUSE, self._due)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._waiting.clear()

    def _due(self) -> None:
        self._timer = None
        text = self._decoder.decode(bytes(self._waiting[-_MOST:]))
        self._waiting.clear()
        if text:
            self._report(text)
