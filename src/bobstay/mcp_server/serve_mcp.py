"""Serves one MCP client over standard input and output."""

import asyncio
import logging
import os
import signal
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, cast

import anyio
from mcp.server.stdio import stdio_server

from bobstay.config.environment import Environment
from bobstay.config.options import Options
from bobstay.mcp_server.mcp_service import McpService
from bobstay.wire.stdio import FrameWriter, HostGoneError, LineReader

Say = Callable[[str], None]
"""Tells the person who started the server something."""
# The SDK logs tracebacks of clients that went away.
logging.getLogger("mcp").addHandler(logging.NullHandler())


async def serve_stdio(options: Options, environment: Environment, cwd: str, say: Say) -> None:
    """Serve one client until it closes our input, or this process is told to end. Raises `StartError`."""
    with _private_descriptors() as (reading, writing):
        async with running_service(options, environment, cwd, say) as service, _until_signal():
            # The SDK reads lines and writes texts; its own reader cannot be cancelled before the next line.
            lines = cast("Any", _Lines(LineReader(reading)))
            async with stdio_server(lines, cast("Any", _Output(FrameWriter(writing)))) as (read, write):
                server = service.server
                await server.run(read, write, server.create_initialization_options())


@asynccontextmanager
async def running_service(
    options: Options, environment: Environment, cwd: str, say: Say
) -> AsyncGenerator[McpService, None]:
    service = McpService(options, environment, cwd)
    for warning in await service.open():
        say(f"Warning: {warning}")
    try:
        yield service
    finally:
        with anyio.CancelScope(shield=True):
            await service.close()


@asynccontextmanager
async def _until_signal() -> AsyncGenerator[None, None]:
    """Cancel the block when this process is told to end."""
    loop = asyncio.get_running_loop()
    with anyio.CancelScope() as scope:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, scope.cancel)
        with suppress(HostGoneError):
            yield


class _private_descriptors:  # noqa: N801 - used like a function
    """Keep our input and output for the protocol: what a library or child reads or prints must not disturb it."""

    def __enter__(self) -> tuple[int, int]:
        self._reading, self._writing = os.dup(0), os.dup(1)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        os.dup2(2, 1)
        return self._reading, self._writing

    def __exit__(self, *_: object) -> None:
        os.dup2(self._writing, 1)  # the reading end stays open: a thread may wait for it


class _Lines:
    def __init__(self, reader: LineReader) -> None:
        self._reader = reader

    async def __aiter__(self) -> AsyncIterator[str]:
        async for line in self._reader.lines():
            yield line.decode(errors="replace")


class _Output:
    def __init__(self, writer: FrameWriter) -> None:
        self._writer = writer

    async def write(self, text: str) -> None:
        # In a thread: a client that does not read must not stop the calls of this process.
        await asyncio.to_thread(self._writer.write, text.encode(errors="replace"))

    async def flush(self) -> None:
        """Nothing is held back."""
