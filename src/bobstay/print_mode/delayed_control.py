"""Opens the control socket of a run with a delay, so that it does not delay the first model request."""

import asyncio
from typing import TYPE_CHECKING

from bobstay.assembly.session import AgentSession

if TYPE_CHECKING:
    from bobstay.print_mode.control_socket import ControlSocket

DELAY = 0.2
"""Seconds after the start."""


class DelayedControlSocket:
    def __init__(self) -> None:
        self._socket: ControlSocket | None = None
        self._task: asyncio.Task[None] | None = None

    def socket(self) -> "ControlSocket":
        if self._socket is None:
            from bobstay.print_mode.control_socket import ControlSocket

            self._socket = ControlSocket()
        return self._socket

    def attach(self, session: AgentSession) -> None:
        """Control `session`. Listening starts after the delay, or earlier if an approval is needed."""
        if self._socket is not None:
            self._socket.attach(session)
        self._task = asyncio.create_task(self._listen_later(session))

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
        if self._socket is not None:
            await self._socket.close()

    async def _listen_later(self, session: AgentSession) -> None:
        await asyncio.sleep(DELAY)
        socket = self.socket()
        socket.attach(session)
        await socket.listen()
