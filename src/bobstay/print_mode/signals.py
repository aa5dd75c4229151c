"""Signal handling of print mode: the first signal stops the run gracefully, the second at once."""

import asyncio
import os
import signal

_CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}


class SignalStop:
    """Set by the first signal; `code` is then the exit code of the process."""

    def __init__(self) -> None:
        self.code = 0
        self._requested = asyncio.Event()

    def listen(self) -> None:
        loop = asyncio.get_running_loop()
        for number, code in _CODES.items():
            loop.add_signal_handler(number, self._on_signal, code)

    async def requested(self) -> None:
        await self._requested.wait()

    def _on_signal(self, code: int) -> None:
        if self.code:
            os._exit(code)
        self.code = code
        self._requested.set()
