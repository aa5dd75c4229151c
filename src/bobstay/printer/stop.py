"""What signals mean for a run: stop it in good order the first time, at once the second."""

import asyncio
import os
import signal
from collections.abc import Coroutine
from typing import Any

_CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}


class Stop:
    """Set by the first signal; `code` is then what the process should exit with."""

    def __init__(self) -> None:
        self.code = 0
        self._asked = asyncio.Event()

    def listen(self) -> None:
        loop = asyncio.get_running_loop()
        for number, code in _CODES.items():
            loop.add_signal_handler(number, self._signalled, code)

    async def asked(self) -> None:
        await self._asked.wait()

    async def or_done(self, work: Coroutine[Any, Any, None]) -> None:
        """Do `work`, or leave it when a signal comes."""
        running = asyncio.ensure_future(work)
        asked = asyncio.ensure_future(self.asked())
        await asyncio.wait((running, asked), return_when=asyncio.FIRST_COMPLETED)
        asked.cancel()
        if running.done():
            running.result()
        running.cancel()

    def _signalled(self, code: int) -> None:
        if self.code:
            os._exit(code)
        self.code = code
        self._asked.set()
