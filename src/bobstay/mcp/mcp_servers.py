"""The MCP servers of a session: connects them in the background and offers what they have."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from bobstay.mcp.clean_text import clean_line
from bobstay.mcp.config_sources import parse_host_servers
from bobstay.mcp.first_wait import wait_for_servers
from bobstay.mcp.mcp_ports import McpOptions, McpPorts
from bobstay.mcp.mcp_tool import McpTool, build_tools
from bobstay.mcp.official_sdk import load_sdk
from bobstay.mcp.prompt_commands import PromptCommand, list_commands, run_command
from bobstay.mcp.resource_tools import ListMcpResources, ReadMcpResource
from bobstay.mcp.server_calls import call_tool
from bobstay.mcp.server_config import McpServerConfig
from bobstay.mcp.server_connection import ServerConnection
from bobstay.mcp.server_skills import ServerSkill, list_skills, load_skill
from bobstay.model.message import ReplyPart
from bobstay.tools.base import Tool, ToolError
from bobstay.tools.deferred_tools import DeferrableTool

if TYPE_CHECKING:
    from pathlib import Path


class McpRequestError(Exception):
    """A request about a server cannot be met. The text is for whoever asked."""


class McpServers:
    """All servers of one session. Nothing here waits for a server, unless it says so."""

    def __init__(self, configs: Iterable[McpServerConfig], options: McpOptions, ports: McpPorts | None = None) -> None:
        """Nothing is started before `start`. Each name and each normalised name must occur once in `configs`."""
        self.revision = 0
        """Changes with every change of a state or list."""
        self._options = options
        self._ports = ports or McpPorts()
        self._listeners: list[Callable[[], None]] = []
        self._connections: dict[str, ServerConnection] = {}
        self._number = 0
        self._set_by_host: set[str] = set()
        self._loading: asyncio.Task[None] | None = None
        self._load_after: asyncio.Event | None = None
        self._tools: tuple[Tool[Any], ...] | None = None
        self._is_started = False
        self._timer: asyncio.TimerHandle | None = None
        for config in configs:
            self._connections[config.name] = self._make_connection(config)

    # Starting and ending

    def start(self, load_after: asyncio.Event | None = None) -> None:
        """Begin to connect all servers at once, in the background.

        Processes start at once. The SDK, whose import takes a second of a processor, is loaded after `load_after`,
        such as one that says that the first request was sent.
        """
        self._is_started = True
        if self._timer is not None:
            self._timer.cancel()
        self._load_after = load_after
        for connection in self._connections.values():
            connection.start()

    def start_later(self, delay: float) -> None:
        """Begin to connect after so many seconds, unless a call needs a server before."""
        if not self._is_started:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = asyncio.get_running_loop().call_later(delay, self.start)

    @property
    def are_known(self) -> bool:
        """Whether it is known of each server what it offers, or that it is not there in time."""
        return all(each.memory.is_known or each.has_settled.is_set() for each in self._connections.values())

    async def settled(self, within: float, *, known_too: bool = True) -> bool:
        """Wait until every server is connected or has failed, at most `within` seconds. Returns whether all are.
        Without `known_too`, only those of which nothing is known are waited for, and those that are late remembered.
        """
        waiting = [
            asyncio.ensure_future(connection.has_settled.wait())
            for connection in self._connections.values()
            if not connection.has_settled.is_set() and (known_too or not connection.memory.is_known)
        ]
        if not waiting:
            return True
        try:
            are_there = await wait_for_servers(waiting, lambda: self._loading, within)
        finally:
            for each in waiting:
                each.cancel()
        for connection in self._connections.values() if not are_there and not known_too else ():
            if not connection.has_settled.is_set() and not connection.memory.is_known:
                connection.memory.miss()
        return are_there

    async def close(self) -> None:
        """End all connections and all processes of servers."""
        self._listeners.clear()
        if self._timer is not None:
            self._timer.cancel()
        try:
            await asyncio.gather(*(connection.stop() for connection in self._connections.values()))
        finally:
            if self._loading is not None and not self._loading.done():
                self._loading.cancel()
                with suppress(asyncio.CancelledError):
                    await self._loading

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` after every change; returns what ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    # What the servers offer

    def tools(self) -> tuple[Tool[Any], ...]:
        """The tools of all servers, sorted by name; then those for resources, if a server has some."""
        if self._tools is None:
            found: dict[str, Tool[Any]] = {}
            for connection in self._connections.values():
                tools, left_out = build_tools(connection, self._options)
                found.update((tool.name, tool) for tool in tools)
                for name in left_out:
                    connection.note(f"its tool {clean_line(name, 80)!r} is left out: another one has the same name")
            if self._with_resources():
                for tool in (ListMcpResources(self._with_resources), ReadMcpResource(self._with_resources)):
                    found[tool.name] = tool
            self._tools = tuple(found[name] for name in sorted(found))
        return self._tools

    def deferrable_tools(self) -> tuple[DeferrableTool, ...]:
        """The tools of all servers, as the search for tools knows them; those for resources are not deferred."""
        return tuple(
            DeferrableTool(tool.name, tool.description, tool.hint, tool.schema, tool.always_load)
            for tool in self.tools()
            if isinstance(tool, McpTool)
        )

    async def call(self, name: str, arguments: dict[str, Any], call_id: str = "") -> tuple[str, bool]:
        """Call a tool for the session itself, such as one that answers permission requests; `name` is the model's.

        Returns the text of the result, and whether it is an error.

        Raises:
            McpRequestError: there is no such tool, or the server fails.
        """
        tool = next((each for each in self.tools() if isinstance(each, McpTool) and each.name == name), None)
        if tool is None:
            raise McpRequestError(f"There is no MCP tool {name[:100]}.")
        try:
            result = await call_tool(tool.connection, tool.listed.name, arguments, call_id, lambda _: None)
        except ToolError as error:
            raise McpRequestError(str(error)) from error
        texts = [block.text for block in result.content if block.type == "text"]
        return "\n".join(texts), bool(result.is_error)

    def commands(self) -> tuple[PromptCommand, ...]:
        """The prompts of all servers, as commands."""
        return tuple(command for connection in self._connections.values() for command in list_commands(connection))

    async def run_prompt(self, command: str, arguments: tuple[str, ...], spill: "Path") -> tuple[ReplyPart, ...]:
        """Return the content of the messages of a prompt; `command` is a name of `commands`.

        Raises:
            McpRequestError: there is no such prompt, an argument is missing, or the server fails.
        """
        for connection in self._connections.values():
            if any(each.name == command for each in list_commands(connection)):
                try:
                    return await run_command(connection, command, arguments, spill)
                except ToolError as error:
                    raise McpRequestError(str(error)) from error
        raise McpRequestError(f"There is no MCP prompt /{command[:100]}.")

    def skills(self) -> tuple[ServerSkill, ...]:
        """The skills of all servers, sorted by name."""
        found = (skill for connection in self._with_resources() for skill in list_skills(connection))
        return tuple(sorted(found, key=lambda skill: skill.name))

    async def load_skill(self, name: str) -> str:
        """Return the text of a skill; `name` is one of `skills`. Raises `ToolError`."""
        for connection in self._with_resources():
            if any(skill.name == name for skill in list_skills(connection)):
                return await load_skill(connection, name)
        raise ToolError(f"There is no skill {name[:100]}.")

    def instructions(self) -> tuple[tuple[str, str], ...]:
        """What servers tell the model about themselves: name and text."""
        return tuple(
            (clean_line(name, 80), connection.instructions)
            for name, connection in sorted(self._connections.items())
            if connection.instructions and connection.state in ("connected", "pending")
        )

    # What hosts see and ask

    def summary(self) -> list[dict[str, str]]:
        """Name, status and source of each server, as the first frame of a session lists them."""
        return [
            {"name": connection.config.name, "status": connection.state, "source": connection.config.scope}
            for connection in self._connections.values()
        ]

    def status(self) -> list[dict[str, Any]]:
        """Everything there is to know about each server, without secrets."""
        return [_describe(connection) for connection in self._connections.values()]

    async def reconnect(self, name: str) -> None:
        """Connect a server anew, and wait for the outcome.

        Raises:
            McpRequestError: there is no such server, it is disabled, or it cannot be connected.
        """
        connection = self._find(name)
        if connection.state == "disabled":
            raise McpRequestError(f"Server {name} is disabled. {connection.error}".strip())
        await connection.restart()
        if connection.state != "connected":
            raise McpRequestError(f"Server {name}: {connection.error or connection.state}")

    async def toggle(self, name: str, *, enabled: bool) -> None:
        """Switch a server off, or on again, in the background.

        Raises:
            McpRequestError: there is no such server, or it must not be started.
        """
        connection = self._find(name)
        if not enabled:
            await connection.disable()
        elif connection.config.blocked:
            raise McpRequestError(f"Server {name} was not started. {connection.config.blocked}")
        elif connection.state == "disabled":
            await connection.enable()

    async def approve(self, name: str) -> None:
        """Start a project's server that a person approved just now; whoever asked stores that (`ApprovalStore`).

        Raises:
            McpRequestError: there is no such server.
        """
        connection = self._find(name)
        if connection.config.blocked:
            connection.config = msgspec.structs.replace(connection.config, blocked="")
            await connection.enable()

    async def set_servers(self, entries: Mapping[str, Any], variables: Mapping[str, str]) -> dict[str, Any]:
        """Replace the servers that the host set before; those of files and flags stay.

        Returns the names that were added and removed, and why others were not added.
        """
        wanted, errors = parse_host_servers(entries, variables)
        kept: set[str] = set()
        added: list[str] = []
        removed: list[str] = []
        for config in wanted:
            before = self._connections.get(config.name)
            if before is not None and config.name in self._set_by_host and before.config.digest == config.digest:
                kept.add(config.name)
        for name in sorted(self._set_by_host - kept):
            await self._connections.pop(name).stop()
            self._set_by_host.discard(name)
            removed.append(name)
        for config in wanted:
            if config.name in kept:
                continue
            if any(config.called == other.config.called for other in self._connections.values()):
                errors[config.name] = "another server has this name, or one that its tools would share"
                continue
            connection = self._connections[config.name] = self._make_connection(config)
            self._set_by_host.add(config.name)
            added.append(config.name)
            if self._is_started:
                connection.start()
        self._change()
        return {"added": added, "removed": [name for name in removed if name not in added], "errors": errors}

    async def roots_changed(self) -> None:
        """Tell the servers that the working directories changed."""
        for connection in self._connections.values():
            client = connection.client
            if client is not None and client.session.discover_result is None:
                from mcp.types import RootsListChangedNotification

                await client.session.send_notification(RootsListChangedNotification())

    def connection(self, name: str) -> ServerConnection | None:
        """The connection of a server, for tests and sign-in."""
        return self._connections.get(name)

    def _make_connection(self, config: McpServerConfig) -> ServerConnection:
        self._number += 1
        return ServerConnection(
            config, self._options, self._ports, number=self._number, load=self._load, changed=self._change
        )

    async def _load(self) -> None:
        """Load the SDK once for all servers."""
        if self._loading is None:
            self._loading = asyncio.create_task(self._load_in_time())
        await asyncio.shield(self._loading)

    async def _load_in_time(self) -> None:
        if self._load_after is not None:
            await self._load_after.wait()
        await load_sdk()

    def _change(self) -> None:
        self.revision += 1
        self._tools = None
        for listener in list(self._listeners):
            listener()

    def _with_resources(self) -> list[ServerConnection]:
        return [connection for connection in self._connections.values() if connection.has_resources]

    def _find(self, name: str) -> ServerConnection:
        connection = self._connections.get(name)
        if connection is None:
            raise McpRequestError(f"Server not found: {clean_line(str(name), 80)}")
        return connection


def _describe(connection: ServerConnection) -> dict[str, Any]:
    config = connection.config
    found: dict[str, Any] = {
        "name": config.name,
        "status": connection.state,
        "scope": config.scope,
        "source": config.scope,
        "transport": config.transport,
        "config": config.public,
    }
    if connection.server_info:
        found["serverInfo"] = connection.server_info
    if connection.error:
        found["error"] = connection.error
    if connection.state == "connected":
        found["tools"] = [{"name": tool.name, "annotations": tool.annotations} for tool in connection.listing.tools]
    return found
