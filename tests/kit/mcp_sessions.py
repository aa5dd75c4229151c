"""MCP servers of a test session: their configuration, the class under test, and what it told."""

from __future__ import annotations

import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bobstay.mcp.mcp_ports import Backoff, McpOptions, McpPorts
from bobstay.mcp.mcp_servers import McpServers
from bobstay.mcp.server_config import McpServerConfig, parse_server
from bobstay.mcp.variable_expansion import Variables
from bobstay.tools.schema import RawArgs
from tests.kit.tool_context import make_context

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bobstay.tools.base import Context, Outcome

SCRIPTED = Path(__file__).with_name("scripted_mcp_server.py")
QUICK = Backoff(first=0.01, longest=0.05)


def scripted_entry(**env: str) -> dict[str, Any]:
    """The scripted server as an entry of `mcpServers`."""
    return {"command": sys.executable, "args": [str(SCRIPTED)], "env": env}


def configure(**entries: dict[str, Any]) -> list[McpServerConfig]:
    return [parse_server(name, raw, "user", "test", Variables({})) for name, raw in entries.items()]


class McpSession:
    """The servers of a session in `folder`."""

    def __init__(self, folder: Path, configs: list[McpServerConfig], ports: dict[str, Any], **options: Any) -> None:
        self.notices: list[str] = []
        self.folder = folder
        environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(folder), "PYTHONUTF8": "1"}
        self.session_id = "00000000-0000-4000-8000-0000000000aa"
        self.servers = McpServers(
            configs,
            McpOptions(str(folder), environment, self.session_id, lambda: (folder,), **{"backoff": QUICK, **options}),
            McpPorts(notice=self.notices.append, **ports),
        )

    @property
    def names(self) -> list[str]:
        return [tool.name for tool in self.servers.tools()]

    def state(self, name: str) -> str:
        connection = self.servers.connection(name)
        assert connection is not None
        return connection.state

    def error(self, name: str) -> str:
        connection = self.servers.connection(name)
        assert connection is not None
        return connection.error

    def context(self) -> Context:
        return make_context(self.folder)

    async def call(self, tool: str, context: Context | None = None, **given: Any) -> Outcome:
        found = next(each for each in self.servers.tools() if each.name == tool)
        args = RawArgs(given) if found.args is RawArgs else found.args(**given)
        return await found.run(args, context or self.context())

    async def text(self, tool: str, **given: Any) -> str:
        """The text of the result of a call."""
        outcome = await self.call(tool, **given)
        if isinstance(outcome.content, str):
            return outcome.content
        return "\n".join(getattr(part, "text", "<image>") for part in outcome.content)


@asynccontextmanager
async def mcp_session(
    folder: Path, ports: dict[str, Any] | None = None, options: dict[str, Any] | None = None, **entries: dict[str, Any]
) -> AsyncIterator[McpSession]:
    """Servers that have had their first attempt."""
    session = McpSession(folder, configure(**entries), ports or {}, **(options or {}))
    session.servers.start()
    try:
        await session.servers.settled(60)
        yield session
    finally:
        await session.servers.close()
