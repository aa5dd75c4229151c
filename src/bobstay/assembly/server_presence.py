"""Tells cheaply whether a session has MCP servers, before the modules that reach them are imported."""

import os
from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import Struct

from bobstay.assembly.session_library import SessionLibrary
from bobstay.assembly.start_context import StartContext


class HostPorts(Struct, frozen=True):
    """What a host does for MCP servers."""

    elicit: Callable[[dict[str, Any]], Awaitable[dict[str, Any] | None]] | None = None
    """Answers the question of a server; None to cancel it."""
    send_message: Callable[[str, dict[str, Any]], Awaitable[dict[str, Any] | None]] | None = None
    """Sends a message to a server in the host's own process, by its name; returns the answer."""


def may_have_servers(start: StartContext, library: SessionLibrary) -> bool:
    """Tell cheaply whether a session can have servers, before the modules that reach them are imported."""
    options, paths = start.options, start.environment.paths
    if options.mcp_config or start.loaded.settings.mcp_servers or any(each.servers for each in library.plugins):
        return True
    if options.strict_mcp_config:
        return False
    folder = start.cwd
    while True:
        if os.path.lexists(f"{folder}/.mcp.json"):
            return True
        if folder == os.path.dirname(folder):
            break
        folder = os.path.dirname(folder)
    return any(os.path.lexists(file) for file in (f"{paths.bobstay}/mcp.json", paths.global_file))
