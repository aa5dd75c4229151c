"""Connects the MCP servers of a session when it has some, and waits for them before its first turn."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bobstay.assembly.server_presence import HostPorts, may_have_servers
from bobstay.assembly.session_parts import SessionParts
from bobstay.engine.toolbox import Toolbox
from bobstay.model.event import Prompted

if TYPE_CHECKING:
    from bobstay.assembly.session_servers import SessionServers


class ServerConnector:
    """One per session; without servers none of their modules is imported."""

    def __init__(self, parts: SessionParts, toolbox: Toolbox, host: HostPorts) -> None:
        self.current: SessionServers | None = None
        self.listeners: list[Callable[[SessionServers], None]] = []
        """Called once, when there are servers."""
        self._parts = parts
        self._toolbox = toolbox
        self._host = host
        self._is_first = True
        self.of_host: dict[str, Any] = {}
        """The servers that the host gave last, by name."""

    def begin(self) -> None:
        """Begin to connect in the background, if the session can have servers.

        Raises:
            ValueError: the command line names a configuration that cannot be read.
        """
        if may_have_servers(self._parts.start, self._parts.library):
            self.connect()

    def connect(self) -> "SessionServers":
        """Return the servers, of which there may be none yet."""
        if self.current is None:
            from bobstay.assembly.session_servers import connect_servers

            self.current = connect_servers(self._parts, self._toolbox, self._host)
            self._toolbox.refresh = self.current.refresh
        return self.current

    def server_rows(self) -> list[dict[str, Any]]:
        """The prompts and skills of the servers as commands, as the answer to `initialize` lists them."""
        if self.current is None:
            return []
        prompts = [(each.name, each.description, each.argument_hint) for each in self.current.servers.commands()]
        skills = [(each.name, f"{each.description} ({each.server})", "") for each in self.current.skills]
        return [
            {"name": name, "description": description, "argumentHint": hint}
            for name, description, hint in (*prompts, *skills)
        ]

    def list_skills(self) -> tuple[str, ...]:
        """Names of the skills of the servers."""
        return tuple(each.name for each in self.current.skills) if self.current is not None else ()

    async def set_host_servers(self, entries: dict[str, Any]) -> dict[str, Any]:
        """Connect the servers that a host gives instead of those it gave before; returns what changed."""
        self.of_host = entries
        servers = self.connect()
        servers.named = True
        return await servers.servers.set_servers(entries, self._parts.start.environment.all_variables)

    async def prepare_turn(self) -> list[Prompted]:
        """Wait for servers before the first turn. Returns what the model is told before the next prompt."""
        servers = self.current
        if servers is None:
            return []
        if self._is_first:
            await servers.ready()
            self._is_first = False  # not before: an interrupt does not make the servers ready
        else:
            servers.refresh()
        return servers.reminders()

    async def close(self) -> None:
        if self.current is not None:
            await self.current.servers.close()
