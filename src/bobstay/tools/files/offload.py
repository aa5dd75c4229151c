"""Runs blocking work beside the event loop, and never leaves it running behind a cancelled call."""

import asyncio
from collections.abc import Callable
from threading import Event
from typing import TypeVar

from bobstay.tools.base import ToolError

T = TypeVar("T")


async def offload(work: Callable[[Callable[[], bool]], T]) -> T:
    """Run `work` in a thread. It is given a function that tells whether the call was cancelled.

    A cancelled call waits for the thread to notice, so that nothing happens after its end.
    """
    stop = Event()
    future = asyncio.get_running_loop().run_in_executor(None, work, stop.is_set)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        stop.set()
        await _settled(future)
        raise


def require_wanted(cancelled: Callable[[], bool]) -> None:
    """Go on only if somebody still waits; the last thing to ask before a change is made.

    Raises:
        ToolError: the call was cancelled.
    """
    if cancelled():
        raise ToolError("The call was interrupted before anything was written.")


async def _settled(future: "asyncio.Future[T]") -> None:
    while not future.done():
        try:
            await asyncio.wait([future])
        except asyncio.CancelledError:  # told twice is not told more: the first one is raised in the end
            continue
    if not future.cancelled():
        future.exception()  # looked at, so that nobody is warned about it
