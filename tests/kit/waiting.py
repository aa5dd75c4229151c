"""How tests wait for what must happen: for a condition, with a deadline long enough for a busy machine."""

import asyncio
import time
from collections.abc import Awaitable, Callable

DEADLINE = 60.0
"""Seconds. Nothing that works takes so long; what is broken fails after it."""

Why = str | Callable[[], object]


async def until(condition: Callable[[], object], why: Why = "it did not happen", within: float = DEADLINE) -> None:
    """Wait for what other tasks or processes bring about; `why` explains a failure."""
    deadline = time.monotonic() + within
    while not condition():
        assert time.monotonic() < deadline, why() if callable(why) else why
        await asyncio.sleep(0.005)


async def until_true(
    condition: Callable[[], Awaitable[bool]], why: Why = "it did not happen", within: float = DEADLINE
) -> None:
    """The same for a condition that has to be asked for."""
    deadline = time.monotonic() + within
    while not await condition():
        assert time.monotonic() < deadline, why() if callable(why) else why
        await asyncio.sleep(0.02)


def wait_until(condition: Callable[[], object], why: Why = "it did not happen", within: float = DEADLINE) -> None:
    """The same for tests without an event loop."""
    deadline = time.monotonic() + within
    while not condition():
        assert time.monotonic() < deadline, why() if callable(why) else why
        time.sleep(0.01)
