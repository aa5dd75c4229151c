"""How many sessions may work at once: others wait in line, and one that waits for a person lets another go first."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager


class Capacity:
    def __init__(self, most: int) -> None:
        self.most = most
        self.running = 0
        self._line: deque[asyncio.Future[None]] = deque()

    @property
    def waiting(self) -> int:
        return len(self._line)

    @asynccontextmanager
    async def held(self) -> AsyncGenerator[None, None]:
        """Hold a place, first come first served."""
        await self._enter()
        try:
            yield
        finally:
            self._leave()

    def lend(self) -> None:
        """Give the place one holds to others for a while."""
        self._leave()

    def take_back(self) -> None:
        """Work that had begun is finished: it needs no waiting, even if there are too many for a moment."""
        self.running += 1

    async def _enter(self) -> None:
        if self.running < self.most and not self._line:
            self.running += 1
            return
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._line.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self._leave()
            else:
                self._line.remove(place)
            raise

    def _leave(self) -> None:
        self.running -= 1
        while self._line and self.running < self.most:
            place = self._line.popleft()
            if not place.done():
                self.running += 1
                place.set_result(None)


class CapacitySeat:
    """The place of one worker, which others have while it waits for a person."""

    def __init__(self, slots: Capacity) -> None:
        self._slots = slots
        self._held = self._lent = False

    @asynccontextmanager
    async def held(self) -> AsyncGenerator[None, None]:
        async with self._slots.held():
            self._held = True
            try:
                yield
            finally:
                self._held = False

    def waits(self, waiting: bool) -> None:
        """The worker begins to wait for a person, or no longer does."""
        if waiting and self._held:
            self._lent = True
            self._slots.lend()
        elif not waiting and self._lent:
            self._lent = False
            self._slots.take_back()
