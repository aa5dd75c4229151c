"""Control of a running turn from outside: abort it, or add input."""

import asyncio
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from typing import Any, TypeVar

from bobstay.model.event import Prompted

Result = TypeVar("Result")


class TurnControl:
    def __init__(self, take: Callable[[], tuple[Prompted, ...]] = tuple, *, take_at_end: bool = False) -> None:
        self.aborted = False
        self.expired = False
        """It was aborted because its time was over, not by a person."""
        self.take = take
        """Returns the prompts to add now: steering messages, and notices of background commands that ended."""
        self.take_at_end = take_at_end
        """Whether messages that arrive during the last answer are still part of this turn."""
        self._wake: Callable[[], object] | None = None
        self._sleeping: asyncio.Future[None] | None = None

    def abort(self) -> None:
        """End the turn as soon as its calls are stopped and answered."""
        self.aborted = True
        if self._wake is not None:
            self._wake()
        if self._sleeping is not None and not self._sleeping.done():
            self._sleeping.set_result(None)

    def expire(self) -> None:
        """Abort the turn because its time is over."""
        if not self.aborted:
            self.expired = True
            self.abort()

    @contextmanager
    def time_limit(self, seconds: float | None) -> Generator[None, None, None]:
        """Abort the turn after so many seconds, in the middle of an answer or a call too."""
        timer = asyncio.get_running_loop().call_later(seconds, self.expire) if seconds is not None else None
        try:
            yield
        finally:
            if timer is not None:
                timer.cancel()

    @property
    def reason(self) -> str:
        """Why the turn is aborted, as part of a sentence."""
        return "because the time for this run was over" if self.expired else "by the user"

    def on_abort(self, wake: Callable[[], object] | None) -> None:
        self._wake = wake

    async def unless_aborted(self, awaitable: Coroutine[Any, Any, Result]) -> Result | None:
        """Await a coroutine. If the turn is aborted meanwhile, cancel it and return None."""
        task = asyncio.ensure_future(awaitable)
        if self.aborted:
            task.cancel()
        before, self._wake = self._wake, task.cancel
        try:
            await asyncio.wait([task])
        finally:
            self._wake = before
            if not task.done():
                task.cancel()
                await asyncio.wait([task])
        return None if task.cancelled() else task.result()

    async def sleep(self, seconds: float) -> None:
        """Sleep until the time is over or the turn is aborted."""
        if self.aborted:
            return
        self._sleeping = asyncio.get_running_loop().create_future()
        try:
            await asyncio.wait_for(self._sleeping, seconds)
        except TimeoutError:
            pass
        finally:
            self._sleeping = None
