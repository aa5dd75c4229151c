"""The strings a running turn can be pulled by from outside: stop it, or give it more to read."""

import asyncio
from collections.abc import Callable

from bobstay.model.event import InputQueued


class Control:
    def __init__(self, take: Callable[[], tuple[InputQueued, ...]] = tuple) -> None:
        self.aborted = False
        self.model = ""
        """The model to ask from the next call on, if somebody chose another one meanwhile."""
        self.take = take
        """Messages to fold in now; each is answered by a `Prompted` of the same id."""
        self._wake: Callable[[], None] | None = None
        self._sleeping: asyncio.Future[None] | None = None

    def abort(self) -> None:
        """End the turn as soon as its calls are stopped and answered."""
        self.aborted = True
        if self._wake is not None:
            self._wake()
        if self._sleeping is not None and not self._sleeping.done():
            self._sleeping.set_result(None)

    def on_abort(self, wake: Callable[[], None] | None) -> None:
        self._wake = wake

    async def sleep(self, seconds: float) -> None:
        """Wait, but no longer than until the turn is aborted."""
        if self.aborted:
            return
        self._sleeping = asyncio.get_running_loop().create_future()
        try:
            await asyncio.wait_for(self._sleeping, seconds)
        except TimeoutError:
            pass
        finally:
            self._sleeping = None
