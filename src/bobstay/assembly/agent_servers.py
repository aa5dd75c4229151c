"""The MCP servers of a sub-agent, which its definition names: connected for it alone, and closed with it."""

from typing import Any

from bobstay.assembly import session_servers
from bobstay.assembly.server_presence import HostPorts
from bobstay.assembly.session_parts import SessionParts
from bobstay.engine.toolbox import Toolbox
from bobstay.library.definition import FROM_FOLDERS, AgentDefinition
from bobstay.mcp.mcp_servers import McpServers
from bobstay.mcp.server_config import BadServer, McpServerConfig, parse_server
from bobstay.mcp.tool_names import BadServerName, normalise_server
from bobstay.mcp.variable_expansion import Variables
from bobstay.model.event import Noted
from bobstay.permissions.policy import Policy
from bobstay.tools.base import Tool


class AgentServers:
    """Keeps the tools of one sub-agent those of its definition and of its servers."""

    def __init__(
        self, servers: McpServers, definition: AgentDefinition, session: SessionParts, toolbox: Toolbox, policy: Policy
    ) -> None:
        self._servers = servers
        self._definition = definition
        self._session = session
        self._toolbox = toolbox
        self._policy = policy
        self._base = toolbox.registry
        self._seen = -1

    async def ready(self) -> None:
        """Wait for the servers, and offer what they have."""
        await self._servers.settled(session_servers.NAMED_WAIT)
        for each in self._servers.status():
            if each["status"] != "connected":
                problem = each.get("error") or each["status"]
                _warn(self._session, self._definition, f"the MCP server {each['name']} is not connected: {problem}")
        self._toolbox.refresh = self.refresh
        self.refresh()

    def refresh(self) -> None:
        """Offer the tools that the servers have now; called before each request."""
        if self._seen == self._servers.revision:
            return
        self._seen = self._servers.revision
        tools = [tool for tool in self._servers.tools() if self._may_have(tool)]
        # The tools of the session's own servers may be deferred; these are few, and the agent was made for them.
        self._toolbox.offer(self._base.extended(tools), self._session.tools.hidden)

    async def close(self) -> None:
        await self._servers.close()

    def _may_have(self, tool: Tool[Any]) -> bool:
        return tool.name not in self._definition.disallowed_tools and not self._policy.denies_tool(tool.name)


def find_agent_servers(
    definition: AgentDefinition, session: SessionParts, toolbox: Toolbox, policy: Policy, host: HostPorts
) -> AgentServers | None:
    """Begin to connect the servers that a definition configures, and offer the tools of those it names.

    None if it configures none.
    """
    if session.start.options.strict_mcp_config and definition.origin.file:
        return None  # only servers of the command line are wanted
    configs: dict[str, McpServerConfig] = {}
    for entry in definition.mcp_servers:
        if isinstance(entry, str):
            _offer_known(entry, definition, session, toolbox)
            continue
        for name, raw in entry.items():
            config = _parse(str(name), raw, definition, session)
            if config is not None and all(config.called != other.called for other in configs.values()):
                configs[config.name] = config
    if not configs:
        return None
    servers = session_servers.prepare_servers(configs.values(), session, toolbox, host)
    servers.start()
    return AgentServers(servers, definition, session, toolbox, policy)


def _offer_known(name: str, definition: AgentDefinition, session: SessionParts, toolbox: Toolbox) -> None:
    """Offer the tools of a server of the session, also if the definition's list of tools does not name them."""
    try:
        prefix = f"mcp__{normalise_server(name)}__"
    except BadServerName as error:
        _warn(session, definition, str(error))
        return
    every = session.tools.registry
    names = [entry.name for entry in every.entries if entry.name.startswith(prefix)]
    if not names:
        _warn(session, definition, f"the session has no MCP server {name[:80]!r}, or it has no tools")
        return
    wanted = (*toolbox.registry.names, *names)
    toolbox.offer(every.select(wanted, definition.disallowed_tools), session.tools.hidden)


def _parse(name: str, raw: Any, definition: AgentDefinition, session: SessionParts) -> McpServerConfig | None:
    environment, from_folder = session.start.environment, definition.origin.source in FROM_FOLDERS
    variables = Variables(environment.all_variables, environment.is_model_key if from_folder else None)
    try:
        config = parse_server(name, raw, "dynamic", definition.origin.file or "agents", variables)
    except BadServer as error:
        _warn(session, definition, f"the MCP server {name[:80]!r} is ignored: {error}")
        return None
    if variables.refused:
        refused = f"${{{variables.refused[0]}}} was not replaced: a project cannot have your model key"
        _warn(session, definition, f"the MCP server {name[:80]!r}: {refused}")
    if config.transport == "sdk" and definition.origin.source != "host":
        _warn(session, definition, f"the MCP server {name[:80]!r} is ignored: only hosts have servers of the type sdk")
        return None
    return config


def _warn(session: SessionParts, definition: AgentDefinition, problem: str) -> None:
    session.notes.tell(Noted(f"Agent {definition.name}: {problem}.", "warning"))
