"""Runs blocking work in a thread, and waits for the thread when the call is cancelled."""

import asyncio
from collections.abc import Callable
from threading import Event
from typing import TypeVar

from bobstay.tools.base import ToolError

T = TypeVar("T")


async def offload(work: Callable[[Callable[[], bool]], T]) -> T:
    """Run `work` in a thread. Its argument is a function that returns whether the call was cancelled.

    A cancelled call waits for the thread to stop, so that nothing happens after its end.
    """
    stop = Event()
    future = asyncio.get_running_loop().run_in_executor(None, work, stop.is_set)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        stop.set()
        await _wait_until_done(future)
        raise


def require_not_cancelled(cancelled: Callable[[], bool]) -> None:
    """Require that the call is still wanted; the last check before a change.

    Raises:
        ToolError: the call was cancelled.
    """
    if cancelled():
        raise ToolError("The call was interrupted before anything was written.")


async def _wait_until_done(future: "asyncio.Future[T]") -> None:
    while not future.done():
        try:
            await asyncio.wait([future])
        except asyncio.CancelledError:  # a second cancellation changes nothing: the first one is raised
            continue
    if not future.cancelled():
        future.exception()  # retrieve it, or asyncio logs a warning
