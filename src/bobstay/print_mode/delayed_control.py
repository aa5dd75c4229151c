"""Lets a console reach a run, but not before the run has asked its model: nothing may stand before that."""

import asyncio
from typing import TYPE_CHECKING

from bobstay.assembly.session import Session

if TYPE_CHECKING:
    from bobstay.print_mode.control_socket import ControlSocket

SOON = 0.2
"""Seconds after the start."""


class DelayedControlSocket:
    def __init__(self) -> None:
        self._contact: ControlSocket | None = None
        self._task: asyncio.Task[None] | None = None

    def contact(self) -> "ControlSocket":
        if self._contact is None:
            from bobstay.print_mode.control_socket import ControlSocket

            self._contact = ControlSocket()
        return self._contact

    def attend(self, session: Session) -> None:
        """Listen for `session`; at once if it has to ask somebody."""
        if self._contact is not None:
            self._contact.attend(session)
        self._task = asyncio.create_task(self._later(session))

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
        if self._contact is not None:
            await self._contact.close()

    async def _later(self, session: Session) -> None:
        await asyncio.sleep(SOON)
        contact = self.contact()
        contact.attend(session)
        await contact.listen()
