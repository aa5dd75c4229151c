"""A log that says only when a test lets it that everything is stored."""

import asyncio
from collections.abc import Callable
from typing import Any

from bobstay.model.event import Durable, Envelope
from bobstay.sessions.jsonl_log import JsonlLog
from bobstay.sessions.log import LogError


class HeldLog(JsonlLog):
    """After an event of the kind `held` it is settled once `stored` is set, or fails with `fault`."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.held: type[Any] | None = None
        self.reached = asyncio.Event()
        self.stored = asyncio.Event()
        self.fault: LogError | None = None
        self.settled_after: list[type[Durable]] = []
        self._last: Durable | None = None
        self._waiting: list[Callable[[], None]] = []

    def append(self, event: Durable, **options: Any) -> Envelope:
        self._last = event
        return super().append(event, **options)

    def when_stored(self, then: Callable[[], None]) -> None:
        if self.stored.is_set() or not isinstance(self._last, self.held or ()):
            then()
        else:
            self._waiting.append(then)

    def let_store(self) -> None:
        """Everything appended so far is stored from now on."""
        self.stored.set()
        for then in self._waiting:
            then()
        self._waiting.clear()

    async def settled(self) -> None:
        last = self._last
        assert last is not None
        self.settled_after.append(type(last))
        if self.held is not None and isinstance(last, self.held):
            self.reached.set()
            await self.stored.wait()
            if self.fault is not None:
                raise self.fault
