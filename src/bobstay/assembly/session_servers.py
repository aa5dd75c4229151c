"""The MCP servers of a session: connected in the background, and what they add to its tools, commands and prompts."""

import asyncio
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from bobstay.assembly.server_presence import HostPorts
from bobstay.assembly.session_library import SessionLibrary
from bobstay.assembly.session_parts import SessionParts
from bobstay.assembly.start_context import StartContext
from bobstay.config.paths import Paths
from bobstay.context.instructions import as_reminder
from bobstay.engine.reminders import remind
from bobstay.engine.toolbox import Toolbox
from bobstay.engine.turn_hooks import after_elicitation, before_elicitation
from bobstay.mcp.config_sources import McpSources, PluginServers, collect_servers
from bobstay.mcp.mcp_ports import ElicitationAnswer, ElicitationRequest, McpOptions, McpPorts
from bobstay.mcp.mcp_servers import McpServers
from bobstay.mcp.server_config import McpServerConfig
from bobstay.model.event import Event, PermissionsChanged, Prompted
from bobstay.tools.deferred_tools import (
    DeferrableTool,
    LoadedTools,
    choose_deferred,
    describe_deferred,
    parse_search_mode,
    split_tools,
)
from bobstay.tools.tool_search import ToolSearch

if TYPE_CHECKING:
    import httpx2

SERVERS = "mcp_servers"
"""Why the model is told what servers say about themselves, and which tools can be searched for."""
FIRST_WAIT = 2.0
"""Seconds that the first turn waits for servers."""
NAMED_WAIT = 30.0
"""The same, if the command line or the host names some."""


class SessionServers:
    """Keeps the tools of a session those of its servers. Nothing waits for a server but the first turn, briefly."""

    def __init__(self, servers: McpServers, parts: SessionParts, toolbox: Toolbox, *, named: bool) -> None:
        """`named`: the command line or the host names servers, so that the first turn waits longer for them."""
        self.servers = servers
        self.named = named
        self._start = parts.start
        self._policy = parts.policy
        self._toolbox = toolbox
        self._base = toolbox.registry
        self._shared = parts.tools
        self._all = parts.tools.registry
        self._mode = parse_search_mode(parts.start.environment.tool_search or "")
        self._window = parts.start.routes.route(parts.start.model).window
        self._loaded = LoadedTools()
        self._deferred: tuple[DeferrableTool, ...] = ()
        self._seen: tuple[int, frozenset[str]] = (-1, frozenset())
        self._reminded = ""
        self._telling: set[asyncio.Future[None]] = set()
        for envelope in parts.start.history.branch:
            self._loaded.apply(envelope.event)
        parts.journal.observers += (self._loaded, self)

    def apply(self, event: Event) -> None:
        """Tell the servers when the working directories change."""
        if isinstance(event, PermissionsChanged) and any("directories" in update for update in event.updates):
            self._telling.add(task := asyncio.ensure_future(self.servers.roots_changed()))
            task.add_done_callback(self._telling.discard)

    async def ready(self) -> None:
        """Wait for the servers before the first turn, and offer what they have."""
        await self.servers.settled(NAMED_WAIT if self.named else FIRST_WAIT)
        self.refresh()

    def refresh(self) -> None:
        """Offer the tools that the servers have now; called before each request."""
        seen = (self.servers.revision, self._loaded.names)
        if seen == self._seen:
            return
        self._seen = seen
        tools = [tool for tool in self.servers.tools() if not self._policy.denies_tool(tool.name)]
        deferrable = tuple(each for each in self.servers.deferrable_tools() if not self._policy.denies_tool(each.name))
        hidden = choose_deferred(deferrable, self._mode, self._window)
        self._deferred = tuple(each for each in deferrable if each.name in hidden)
        sent = split_tools(deferrable, hidden, self._loaded.names)
        search = [ToolSearch(lambda: self._deferred)] if self._deferred else []
        registry = self._base.extended((*search, *tools))
        hidden_names = frozenset(each.name for each in deferrable) - sent
        self._toolbox.offer(registry, hidden_names)
        self._shared.registry, self._shared.hidden = self._all.extended((*search, *tools)), hidden_names

    def reminders(self) -> list[Prompted]:
        """Return what the model is told before the next prompt: only what changed since the last time."""
        texts = [f"What the MCP server {name} says about itself:\n{text}" for name, text in self.servers.instructions()]
        hidden = describe_deferred(self._deferred, frozenset(each.name for each in self._deferred))
        text = "\n\n".join((*texts, *([hidden] if hidden else ())))
        if not text or text == self._reminded:
            return []
        self._reminded = text
        return [remind(self._start.redactor.redact(as_reminder(text)), SERVERS)]


def connect_servers(parts: SessionParts, toolbox: Toolbox, host: HostPorts) -> SessionServers:
    """Read the configuration of the servers, and begin to connect them in the background.

    Raises:
        ValueError: the command line names a configuration that cannot be read.
    """
    found = collect_servers(_sources(parts.start, parts.library))
    parts.start.warnings.extend(found.notices)
    servers = start_servers(found.servers, parts, toolbox, host)
    return SessionServers(servers, parts, toolbox, named=found.has_dynamic)


def start_servers(
    configs: Iterable[McpServerConfig], parts: SessionParts, toolbox: Toolbox, host: HostPorts
) -> McpServers:
    """Begin to connect servers for the agent whose toolbox this is."""
    start, configs = parts.start, tuple(configs)
    for config in configs:
        start.redactor.add_secrets(config.secrets)
    environment = start.environment
    options = McpOptions(
        cwd=start.cwd,
        environment=parts.environment,
        session_id=start.session_id,
        directories=lambda: toolbox.tool_environment.directories,
        network=environment.network,
        **_limits(start),
    )
    ports = McpPorts(
        elicit=partial(_elicit, toolbox, host) if host.elicit is not None else None,
        send_to_host=host.send_message,
        auth=_make_auth(start, environment.paths),
        notice=start.warnings.append,
    )
    servers = McpServers(configs, options, ports)
    servers.start()
    return servers


async def _elicit(toolbox: Toolbox, host: HostPorts, request: ElicitationRequest) -> ElicitationAnswer:
    """Answer a question of a server: hooks come before the host."""
    schema, mode = request.schema, request.mode
    outcome = await before_elicitation(toolbox, request.server, request.message, mode=mode, schema=schema)
    toolbox.notes.add(outcome)
    answer = outcome.elicitation
    if answer is None and host.elicit is not None:
        answer = await host.elicit(
            {
                "mcp_server_name": request.server,
                "message": request.message,
                "mode": mode,
                "requested_schema": schema,
                "property_order": list(schema.get("properties") or ()),
                **({"url": request.url} if request.url else {}),
            }
        )
    action = answer.get("action") if isinstance(answer, dict) else None
    if action not in ("accept", "decline"):
        return ElicitationAnswer("cancel")
    given = answer.get("content") if isinstance(answer, dict) else None
    content = given if isinstance(given, dict) else None
    after = await after_elicitation(toolbox, request.server, action=action, content=content, mode=mode)
    toolbox.notes.add(after)
    return ElicitationAnswer("accept" if action == "accept" else "decline", content)


def _limits(start: StartContext) -> dict[str, Any]:
    environment = start.environment
    given = {
        "connect_timeout": (environment.mcp_timeout_ms or 0) / 1000,
        "tool_timeout": (environment.mcp_tool_timeout_ms or 0) / 1000,
        "output_tokens": environment.mcp_output_tokens or 0,
    }
    return {name: value for name, value in given.items() if value}


def _sources(start: StartContext, library: SessionLibrary) -> McpSources:
    options = start.options
    plugins = [
        PluginServers(plugin.name, {server.name.rpartition(":")[2]: server.config}, server.file)
        for plugin in library.plugins
        for server in plugin.servers
    ]
    return McpSources(
        cwd=start.cwd,
        paths=start.environment.paths,
        trusted=start.loaded.trusted,
        layers=tuple(start.loaded.layers),
        setting_sources=options.setting_sources,
        mcp_config=options.mcp_config,
        strict=options.strict_mcp_config,
        plugins=tuple(plugins),
        variables=start.environment.all_variables,
        is_model_key=start.environment.is_model_key,
    )


def _make_auth(start: StartContext, paths: Paths) -> "Callable[[McpServerConfig], httpx2.Auth | None]":
    def make(config: McpServerConfig) -> "httpx2.Auth | None":
        if any(name.lower() == "authorization" for name in config.headers):
            return None
        from bobstay.mcp.oauth import build_auth
        from bobstay.mcp.oauth_store import OAuthStore

        return build_auth(config.name, config.url, OAuthStore(paths.bobstay), report_secrets=start.redactor.add_secrets)

    return make
