"""Waits for MCP servers before a first turn: the time that loading the SDK takes here is not counted as theirs."""

import asyncio
from collections.abc import Callable, Collection
from typing import Any

Loading = Callable[[], "asyncio.Task[None] | None"]
"""Returns the task that loads the SDK; None before a server needs it."""


async def wait_for_servers(waiting: "Collection[asyncio.Future[Any]]", loading: Loading, within: float) -> bool:
    """Wait for all of `waiting`, `within` seconds from when servers can be talked to. Returns whether all are there.

    On a busy machine loading the SDK alone takes seconds. Counted as the servers' time it would leave none for them,
    and they would be remembered as late.
    """
    await asyncio.sleep(0)  # the servers begin, and say whether they need the SDK
    pending = set(waiting)
    while (task := loading()) is not None and not task.done() and pending:
        done, _ = await asyncio.wait({task, *pending}, return_when=asyncio.FIRST_COMPLETED)
        pending.difference_update(done)
    if pending:
        _, pending = await asyncio.wait(pending, timeout=within)
    return not pending
