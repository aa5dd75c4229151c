"""One channel into which several tasks put things and from which one consumer takes them in order."""

import asyncio
from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")


class Mailbox(Generic[T]):
    """`put` hands over and goes on; `commit` also waits until the consumer has dealt with the thing.

    The consumer takes a thing, deals with it, and says so by taking the next one.
    """

    def __init__(self) -> None:
        self._things: deque[tuple[T, asyncio.Future[None] | None]] = deque()
        self._waiting: asyncio.Future[None] | None = None
        self._taken: asyncio.Future[None] | None = None

    def put(self, thing: T) -> None:
        self._things.append((thing, None))
        self.wake()

    async def commit(self, thing: T) -> None:
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._things.append((thing, done))
        self.wake()
        await done

    def wake(self) -> None:
        """Let a consumer that waits look again, even if nothing came."""
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def take(self) -> T | None:
        """The next thing, or None if there is none now. Says that the one before has been dealt with."""
        if self._taken is not None:
            if not self._taken.done():
                self._taken.set_result(None)
            self._taken = None
        if not self._things:
            return None
        thing, self._taken = self._things.popleft()
        return thing

    async def wait(self) -> None:
        """Sleep until something comes or `wake` is called. Returns at once if something is there."""
        if self._things:
            return
        self._waiting = asyncio.get_running_loop().create_future()
        try:
            await self._waiting
        finally:
            self._waiting = None
