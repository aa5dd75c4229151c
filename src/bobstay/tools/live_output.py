"""Reports the output of a running command to people at a limited rate."""

import asyncio
import codecs
from collections.abc import Callable

_INTERVAL = 0.05
_MAX_BYTES = 8_192


class LiveOutput:
    """Buffers output and reports it at most twenty times a second, a screenful at a time.

    A command that ends before the first report is due reports nothing: its result follows at once.
    """

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._pending = bytearray()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, data: bytes) -> None:
        self._pending += data[-_MAX_BYTES:]
        if len(self._pending) > 2 * _MAX_BYTES:
            del self._pending[:-_MAX_BYTES]
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_INTERVAL, self._flush)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._pending.clear()

    def _flush(self) -> None:
        self._timer = None
        text = self._decoder.decode(bytes(self._pending[-_MAX_BYTES:]))
        self._pending.clear()
        if text:
            self._report(text)
