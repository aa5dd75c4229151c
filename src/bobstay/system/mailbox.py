"""A queue with several producers and one consumer, whose producers may wait until an item is processed."""

import asyncio
from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")


class Mailbox(Generic[T]):
    """`put` returns at once; `commit` waits until the consumer has processed the item.

    The consumer takes an item, processes it, and confirms that by taking the next one.
    """

    def __init__(self) -> None:
        self._items: deque[tuple[T, asyncio.Future[None] | None]] = deque()
        self._waiting: asyncio.Future[None] | None = None
        self._committing: asyncio.Future[None] | None = None

    def put(self, item: T) -> None:
        self._items.append((item, None))
        self.wake()

    async def commit(self, item: T) -> None:
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._items.append((item, done))
        self.wake()
        await done

    def wake(self) -> None:
        """Wake a waiting consumer, even if there is no new item."""
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def take(self) -> T | None:
        """Return the next item, or None if there is none now. Confirms that the previous one is processed."""
        if self._committing is not None:
            if not self._committing.done():
                self._committing.set_result(None)
            self._committing = None
        if not self._items:
            return None
        item, self._committing = self._items.popleft()
        return item

    async def wait(self) -> None:
        """Sleep until an item arrives or `wake` is called. Returns at once if there is an item."""
        if self._items:
            return
        self._waiting = asyncio.get_running_loop().create_future()
        try:
            await self._waiting
        finally:
            self._waiting = None
