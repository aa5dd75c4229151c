"""Loads the official MCP SDK in a thread: it takes more than a second, and nothing else waits for it."""

import asyncio
import logging
from importlib import import_module

_MODULES = ("mcp.client.client", "mcp.client.sse", "mcp.client.streamable_http", "httpx2")
_LOGGERS = ("mcp", "client", "httpx2")
"""The SDK logs under these names, also what servers send; without a handler it would reach standard error."""


async def load_sdk() -> None:
    """Import the SDK, unless it is imported already. Other tasks go on meanwhile."""
    await asyncio.to_thread(_import_all)


def _import_all() -> None:
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())
    for module in _MODULES:
        import_module(module)
