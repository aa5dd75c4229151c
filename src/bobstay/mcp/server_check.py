"""Connects to the MCP servers of a folder once, all at the same time, and says what came of each."""

from collections.abc import Collection

from msgspec import Struct

from bobstay.config.environment import Environment
from bobstay.config.settings_files import load
from bobstay.mcp.config_sources import McpSources, collect_servers
from bobstay.mcp.mcp_ports import Backoff, McpOptions, McpPorts
from bobstay.mcp.mcp_servers import McpServers
from bobstay.mcp.oauth import stored_authorization
from bobstay.mcp.server_connection import ServerConnection

_SECONDS = 15.0
"""How long a server may take, unless MCP_TIMEOUT says otherwise."""


class CheckedServer(Struct, frozen=True):
    """What came of one server."""

    state: str
    """As in a session, or `blocked` if it must not be started."""
    text: str
    """The same for a person, with the reason."""


async def check_servers(environment: Environment, cwd: str, names: Collection[str]) -> dict[str, CheckedServer]:
    """Connect to those servers that a session in `cwd` would start, and end them again; return what came of each.

    A server of a project that is not trusted or not approved is not started.

    Raises:
        BrokenSettings: a settings file cannot be read.
    """
    loaded = load(cwd, environment.paths)
    found = collect_servers(
        McpSources(
            cwd=cwd,
            paths=environment.paths,
            trusted=loaded.trusted,
            layers=tuple(loaded.layers),
            variables=environment.all_variables,
            is_model_key=environment.is_model_key,
        )
    )
    seconds = (environment.mcp_timeout_ms or 0) / 1000 or _SECONDS
    options = McpOptions(
        cwd=cwd,
        environment=environment.children,
        session_id="",
        directories=lambda: (),
        network=environment.network,
        connect_timeout=seconds,
        backoff=Backoff(attempts=0),
    )
    wanted = [server for server in found.servers if server.name in names]
    servers = McpServers(wanted, options, McpPorts(auth=stored_authorization(environment.paths.bobstay)))
    servers.start()
    try:
        # A little longer, so that a server that is too slow is told of as such; the SDK is loaded in that time, too.
        await servers.settled(seconds + 10)
        checked = {each.name: _describe(servers.connection(each.name)) for each in wanted}
    finally:
        await servers.close()
    for name in set(names) - set(checked):
        why = next((notice for notice in found.notices if repr(name[:80]) in notice), "its entry cannot be used.")
        checked[name] = CheckedServer("failed", f"failed: {why}")
    return checked


def _describe(connection: ServerConnection | None) -> CheckedServer:
    assert connection is not None
    name, error = connection.config.name, connection.error
    match connection.state:
        case "connected":
            count = len(connection.listing.tools)
            return CheckedServer("connected", f"connected, {count} tool{'s' * (count != 1)}")
        case "needs-auth":
            return CheckedServer("needs-auth", f"needs you to sign in: bobstay mcp login {name}")
        case "disabled" if connection.config.blocked:
            return CheckedServer("blocked", f"not started: {error}")
        case "disabled":
            return CheckedServer("disabled", "switched off")
        case "failed":
            return CheckedServer("failed", f"failed: {error}")
        case "pending":
            return CheckedServer("failed", "failed: it did not answer in time (MCP_TIMEOUT, in milliseconds).")
