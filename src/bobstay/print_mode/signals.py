"""What signals mean for a run: stop it in good order the first time, at once the second."""

import asyncio
import os
import signal

_CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}


class SignalStop:
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

    def _signalled(self, code: int) -> None:
        if self.code:
            os._exit(code)
        self.code = code
        self._asked.set()
