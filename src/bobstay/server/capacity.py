"""Limits how many sessions run at once: others queue, and a session that waits for a person frees its slot."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager


class Capacity:
    def __init__(self, most: int) -> None:
        self.most = most
        self.running = 0
        self._queue: deque[asyncio.Future[None]] = deque()

    @property
    def waiting(self) -> int:
        return len(self._queue)

    @asynccontextmanager
    async def hold(self) -> AsyncGenerator[None, None]:
        """Hold a slot, first come first served."""
        await self._enter()
        try:
            yield
        finally:
            self._leave()

    def release(self) -> None:
        """Give up a held slot temporarily."""
        self._leave()

    def reclaim(self) -> None:
        """Take the slot again without waiting, because work in progress is finished first, even over the limit."""
        self.running += 1

    async def _enter(self) -> None:
        if self.running < self.most and not self._queue:
            self.running += 1
            return
        ticket: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append(ticket)
        try:
            await ticket
        except asyncio.CancelledError:
            if ticket.done() and not ticket.cancelled():
                self._leave()
            else:
                self._queue.remove(ticket)
            raise

    def _leave(self) -> None:
        self.running -= 1
        while self._queue and self.running < self.most:
            ticket = self._queue.popleft()
            if not ticket.done():
                self.running += 1
                ticket.set_result(None)


class CapacitySeat:
    """The slot of one worker, released while it waits for a person."""

    def __init__(self, capacity: Capacity) -> None:
        self._capacity = capacity
        self._held = self._released = False

    @asynccontextmanager
    async def hold(self) -> AsyncGenerator[None, None]:
        async with self._capacity.hold():
            self._held = True
            try:
                yield
            finally:
                self._held = False
                self.set_waiting(False)  # an agent in the background may still wait: the slot is left once

    def set_waiting(self, waiting: bool) -> None:
        """The worker starts or stops waiting for a person."""
        if waiting and self._held:
            self._released = True
            self._capacity.release()
        elif not waiting and self._released:
            self._released = False
            self._capacity.reclaim()
