"""MCP servers of a session of bobstay's own engine: as they are configured, or as its running agent holds them."""

import os
import shlex

from bobstay.config.paths import Paths
from bobstay.config.trust import is_trust_list_outside
from bobstay.mcp.mcp_servers import McpServers
from bobstay.mcp.server_config import McpServerConfig
from bobstay.mcp.server_connection import ServerConnection
from bobstay.server.inventory.inventory_types import Level, McpServer, McpToolView, SlashCommand
from bobstay.server.inventory.redacted_commands import redact_command

LONGEST_TARGET = 2_000
LONGEST_DESCRIPTION = 300
_LEVELS: dict[str, Level] = {
    "local": "local",
    "project": "project",
    "user": "user",
    "dynamic": "session",
    "plugin": "plugin",
    "sdk": "session",
}


def configured_server(config: McpServerConfig, paths: Paths, *, cwd: str, trusted: bool) -> McpServer:
    """A server that no running agent holds."""
    return McpServer(
        config.name[:300],
        "disabled" if config.disabled or config.blocked else "configured",
        config.origin,
        _LEVELS[config.scope],
        trusted or config.scope != "project",
        error=config.blocked,
        transport=config.transport,
        target=describe_target(config),
        digest=config.digest,
        needs_approval=may_be_approved(config, paths, cwd=cwd, trusted=trusted),
        can_sign_in=can_sign_in(config),
    )


def live_server(connection: ServerConnection, paths: Paths, *, cwd: str, trusted: bool) -> McpServer:
    """A server that a running agent holds."""
    config, listing = connection.config, connection.listing
    is_connected = connection.state == "connected"
    return McpServer(
        config.name[:300],
        connection.state,
        config.origin,
        _LEVELS[config.scope],
        trusted or config.scope != "project",
        error=connection.error,
        transport=config.transport,
        target=describe_target(config),
        tools=tuple(
            McpToolView(tool.name, tool.description[:LONGEST_DESCRIPTION], tool.annotations.get("readOnly") is True)
            for tool in (listing.tools if is_connected else ())
        ),
        prompts=len(listing.prompts) if is_connected else 0,
        resources=len(listing.resources) if is_connected else 0,
        digest=config.digest,
        needs_approval=may_be_approved(config, paths, cwd=cwd, trusted=trusted),
        can_sign_in=can_sign_in(config),
        live=True,
    )


def connections_of(servers: McpServers) -> list[ServerConnection]:
    found = (servers.connection(row["name"]) for row in servers.summary())
    return [connection for connection in found if connection is not None]


def prompt_commands(servers: McpServers) -> tuple[SlashCommand, ...]:
    """The prompts of connected servers, as commands."""
    return tuple(
        SlashCommand(each.name, each.description, each.argument_hint, each.server, "session", True, "prompt")
        for each in servers.commands()
    )


def describe_target(config: McpServerConfig) -> str:
    """What it runs or connects to, as it is written: without the values of variables, and without secrets.

    Of a project's entry also its variables and headers: they decide what runs and what is sent, and need an approval.
    """
    shown, is_project = config.public, config.scope == "project"
    if config.transport == "stdio":
        given = (config.raw.get("env") or {}).items() if is_project else ()
        words = [str(shown.get("command", "")), *(str(word) for word in shown.get("args") or ())]
        words = [*(f"{name}={value}" for name, value in given), *words]
        text = " ".join(shlex.quote(word) if " " in word else word for word in words)
    else:
        given = (config.raw.get("headers") or {}).items() if is_project else ()
        text = "\n".join((str(shown.get("url", "")), *(f"{name}: {value}" for name, value in given)))
    text = redact_command(text)
    return text if len(text) <= LONGEST_TARGET else f"{text[:LONGEST_TARGET]} [...]"


def may_be_approved(config: McpServerConfig, paths: Paths, *, cwd: str, trusted: bool) -> bool:
    """Whether only an approval is missing: trust in the folder comes first."""
    if config.scope != "project" or config.disabled or not config.blocked or not trusted:
        return False
    return is_trust_list_outside(paths, os.path.realpath(approval_folder(config, cwd)))


def approval_folder(config: McpServerConfig, cwd: str) -> str:
    """The folder for which an approval of the server is stored."""
    is_own_file = os.path.basename(config.origin) == ".mcp.json"
    return os.path.dirname(config.origin) if is_own_file else os.path.realpath(cwd)


def can_sign_in(config: McpServerConfig) -> bool:
    given = any(name.lower() == "authorization" for name in config.headers)
    return config.transport in ("http", "sse") and not given and not config.blocked
