"""Tool of an MCP server, as the model calls it."""

import asyncio
from typing import Any

from bobstay.mcp.mcp_ports import McpOptions
from bobstay.mcp.result_content import ContentConverter, describe_parts
from bobstay.mcp.server_calls import call_tool
from bobstay.mcp.server_connection import ServerConnection
from bobstay.mcp.server_listing import ListedTool
from bobstay.mcp.tool_names import tool_name
from bobstay.tools.base import Claim, Context, Outcome, Tool
from bobstay.tools.schema import RawArgs

CHARACTERS_PER_TOKEN = 4


class McpTool(Tool[RawArgs]):
    """One tool of one server. What the server says about it, such as `readOnlyHint`, is shown and not believed."""

    args = RawArgs
    schema: dict[str, Any]

    def __init__(self, connection: ServerConnection, listed: ListedTool, options: McpOptions) -> None:
        self.connection = connection
        self.listed = listed
        self.schema = listed.schema
        self.always_load = connection.config.always_load or listed.always_load
        """Its schema is never deferred."""
        # Of other tools these belong to the class; of these tools each instance has its own.
        own = {
            "name": tool_name(connection.config.called, listed.name),
            "description": listed.description,
            "hint": " ".join(filter(None, (listed.title, listed.hint))),
            "cap": options.output_tokens * CHARACTERS_PER_TOKEN,
        }
        for attribute, value in own.items():
            setattr(self, attribute, value)

    @property
    def mcp_server(self) -> dict[str, str]:
        return {"name": self.connection.config.name, "source": self.connection.config.scope}

    def claims(self, args: RawArgs, context: Context) -> tuple[Claim, ...]:
        # A wrong hint costs the server its own order, and nobody else anything.
        return (Claim(f"mcp:{self.connection.config.called}", shared=self.listed.annotations.get("readOnly", False)),)

    async def run(self, args: RawArgs, context: Context) -> Outcome:
        result = await call_tool(self.connection, self.listed.name, args.value, context.call_id, context.report)
        # In a thread: images are decoded and scaled, and files written.
        parts = await asyncio.to_thread(ContentConverter(context.spill, context.call_id).convert_result, result)
        return Outcome(parts, display=describe_parts(parts), is_error=bool(result.is_error))


def build_tools(connection: ServerConnection, options: McpOptions) -> tuple[list[McpTool], list[str]]:
    """Return the tools of a server, sorted by name, and the names of those whose name another one has already."""
    tools: dict[str, McpTool] = {}
    left_out: list[str] = []
    for listed in sorted(connection.listing.tools, key=lambda each: each.name):
        tool = McpTool(connection, listed, options)
        if tools.setdefault(tool.name, tool) is not tool:
            left_out.append(listed.name)
    return [tools[name] for name in sorted(tools)], left_out
