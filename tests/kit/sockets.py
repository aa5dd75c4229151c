"""A test server that handles each connection with a given function, and leaves nothing open."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeAlias

Serve: TypeAlias = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

GONE = (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError, ssl.SSLError)


@asynccontextmanager
async def listening(serve: Serve, *, tls: ssl.SSLContext | None = None, port: int = 0) -> AsyncIterator[str]:
    """Yield the address; `port` if it must be a certain one."""
    tasks: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        with contextlib.suppress(*GONE):
            await serve(reader, writer)
        writer.close()
        with contextlib.suppress(*GONE):
            await writer.wait_closed()

    server = await asyncio.start_server(connected, "127.0.0.1", port, ssl=tls)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
