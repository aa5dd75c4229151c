"""The MCP servers of a session: connected in the background, and what they add to its tools, commands and prompts."""

import asyncio
from collections.abc import Iterable
from functools import partial
from typing import Any

from bobstay.assembly.server_presence import HostPorts
from bobstay.assembly.session_hooks import plugin_folder
from bobstay.assembly.session_library import SessionLibrary
from bobstay.assembly.session_parts import SessionParts
from bobstay.assembly.start_context import StartContext
from bobstay.assembly.tool_services import coordinates
from bobstay.context.instructions import as_reminder
from bobstay.engine.reminders import remind
from bobstay.engine.toolbox import Toolbox
from bobstay.engine.turn_hooks import after_elicitation, before_elicitation
from bobstay.mcp.config_sources import McpSources, PluginServers, collect_servers
from bobstay.mcp.listing_store import ListingStore
from bobstay.mcp.mcp_ports import ElicitationAnswer, ElicitationRequest, McpOptions, McpPorts, Sample
from bobstay.mcp.mcp_servers import McpServers
from bobstay.mcp.oauth import stored_authorization
from bobstay.mcp.server_config import McpServerConfig
from bobstay.mcp.server_skills import ServerSkill
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

SERVERS = "mcp_servers"
"""Why the model is told what servers say about themselves, and which tools can be searched for."""
SKILLS = "Skills of MCP servers, which you may call with the Skill tool:"
FIRST_WAIT = 2.0
"""Seconds that the first turn waits for servers of which nothing is known."""
NAMED_WAIT = 30.0
"""The same, if the command line or the host names some."""
AFTER_REQUEST = 0.25
"""Seconds after which known servers are connected: the first request is on its way by then, and has the processor."""
IDLE = 1.0
"""The same while there is no prompt."""


class SessionServers:
    """Keeps the tools of a session those of its servers. Nothing waits for a server but the first turn, briefly."""

    def __init__(self, servers: McpServers, parts: SessionParts, toolbox: Toolbox, *, named: bool) -> None:
        """`named`: the command line or the host names servers, so that the first turn waits longer for them."""
        self.servers = servers
        self.named = named
        self._start = parts.start
        self._policy = parts.policy
        self._library = parts.library
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
            if not envelope.agent:  # what a sub-agent found is its own
                self._loaded.apply(envelope.event)
        parts.journal.observers += (self._loaded, self)

    def apply(self, event: Event) -> None:
        """Tell the servers when the working directories change."""
        if isinstance(event, PermissionsChanged) and any("directories" in update for update in event.updates):
            self._telling.add(task := asyncio.ensure_future(self.servers.roots_changed()))
            task.add_done_callback(self._telling.discard)

    async def ready(self) -> None:
        """Wait for servers of which nothing is known before the first turn, and offer what all of them have."""
        if self.named or not self.servers.are_known:
            self.servers.start()
            await self.servers.settled(NAMED_WAIT if self.named else FIRST_WAIT, known_too=self.named)
        else:
            self.servers.start_later(AFTER_REQUEST)
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
        found = hidden & self._loaded.names
        if not coordinates(self._start):
            self._toolbox.offer(registry, hidden_names, found)
        self._shared.registry, self._shared.hidden = self._all.extended((*search, *tools)), hidden_names
        self._shared.found = found

    @property
    def skills(self) -> tuple[ServerSkill, ...]:
        """The skills of the servers, without those whose name one of the library has."""
        taken = self._library.current.find_command
        return tuple(each for each in self.servers.skills() if taken(each.name) is None)

    def reminders(self) -> list[Prompted]:
        """Return what the model is told before the next prompt: only what changed since the last time."""
        texts = [f"What the MCP server {name} says about itself:\n{text}" for name, text in self.servers.instructions()]
        if self.skills and any(entry.needs == "skills" for entry in self._toolbox.registry.entries):
            lines = "\n".join(f"- {skill.name}: {skill.description} ({skill.server})" for skill in self.skills)
            texts.append(f"{SKILLS}\n{lines}")
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
    servers = prepare_servers(found.servers, parts, toolbox, host)
    if found.has_dynamic or not servers.are_known:
        servers.start()
    else:
        servers.start_later(IDLE)
    return SessionServers(servers, parts, toolbox, named=found.has_dynamic)


def prepare_servers(
    configs: Iterable[McpServerConfig], parts: SessionParts, toolbox: Toolbox, host: HostPorts
) -> McpServers:
    """Return servers for the agent whose toolbox this is; they are not connected yet."""
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
        denies=parts.policy.denies_tool,
        store=ListingStore(environment.paths.bobstay, start.cwd),
        **_limits(start),
    )
    ports = McpPorts(
        elicit=partial(_elicit, toolbox, host) if host.elicit is not None else None,
        sample=_make_sampling(parts, toolbox, host),
        send_to_host=host.send_message,
        auth=stored_authorization(environment.paths.bobstay, start.redactor.add_secrets),
        notice=start.warnings.append,
    )
    return McpServers(configs, options, ports)


def _make_sampling(parts: SessionParts, toolbox: Toolbox, host: HostPorts) -> Sample | None:
    """Without anybody to ask, servers are told that they cannot use the model."""
    if host.elicit is None:
        return None
    ask = host.elicit

    async def sample(server: str, params: dict[str, Any]) -> dict[str, Any] | None:
        from bobstay.assembly.server_sampling import ServerSampling

        return await ServerSampling(parts.start, parts.journal, toolbox, ask)(server, params)

    return sample


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
        PluginServers(
            plugin.name,
            {server.name.rpartition(":")[2]: server.config},
            server.file,
            is_of_project=bool(plugin_folder(start, plugin.path)),
        )
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
