"""Tools that list and read the resources of MCP servers; offered while a server has some."""

import asyncio
from collections.abc import Callable
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from bobstay.mcp.clean_text import clean_line
from bobstay.mcp.result_content import ContentConverter, describe_parts
from bobstay.mcp.server_calls import read_resource
from bobstay.mcp.server_connection import ServerConnection
from bobstay.mcp.server_skills import check_resource
from bobstay.mcp.tool_names import normalise
from bobstay.permissions.access import Access
from bobstay.tools.base import Args, Claim, Context, Outcome, Tool, ToolError

FindServers = Callable[[], list[ServerConnection]]
_MAX_LISTED = 500
_CAP = 100_000


class ListResourcesArgs(Args, frozen=True):
    server: Annotated[str, Meta(description="Name of the server whose resources to list; all servers if omitted")] = ""


class ReadResourceArgs(Args, frozen=True):
    server: Annotated[str, Meta(description="Name of the MCP server")]
    uri: Annotated[str, Meta(description="URI of the resource, as it is listed")]


class ListMcpResources(Tool[ListResourcesArgs]):
    name = "ListMcpResourcesTool"
    aliases = ("ListMcpResources",)
    hint = "list resources of connected MCP servers"
    description = (
        "Lists the resources that the connected MCP servers offer. Each has a `server` and a `uri`, with which "
        "ReadMcpResourceTool reads it. An entry with `uriTemplate` needs its placeholders filled in first."
    )
    args = ListResourcesArgs
    cap = _CAP

    def __init__(self, find: FindServers) -> None:
        self._find = find

    def read_only(self, args: ListResourcesArgs, context: Context) -> bool:
        return True

    def access(self, args: ListResourcesArgs, context: Context) -> tuple[Access, ...]:
        return (Access("none"),)

    def claims(self, args: ListResourcesArgs, context: Context) -> tuple[Claim, ...]:
        return ()

    async def run(self, args: ListResourcesArgs, context: Context) -> Outcome:
        servers = self._find()
        if args.server:
            servers = [_choose(servers, args.server)]
        listed: list[dict[str, Any]] = []
        for connection in servers:
            for resource in connection.listing.resources:
                entry: dict[str, Any] = {
                    "server": connection.config.name,
                    "uriTemplate" if resource.is_template else "uri": resource.uri,
                    "name": resource.name,
                }
                if resource.mime_type:
                    entry["mimeType"] = resource.mime_type
                if resource.description:
                    entry["description"] = resource.description
                listed.append(entry)
        if not listed:
            return Outcome("No resources are offered. Servers may offer tools even if they have no resources.")
        text = "\n".join(msgspec.json.encode(entry).decode() for entry in listed[:_MAX_LISTED])
        if len(listed) > _MAX_LISTED:
            text += f"\n[{len(listed) - _MAX_LISTED:,} more are not shown; name a server to see fewer.]"
        return Outcome(text, display=listed[:_MAX_LISTED])


class ReadMcpResource(Tool[ReadResourceArgs]):
    name = "ReadMcpResourceTool"
    aliases = ("ReadMcpResource",)
    hint = "read a resource of an MCP server by its URI"
    description = (
        "Reads one resource of an MCP server by the name of the server and the URI of the resource. Content that is "
        "not text is saved to a file, whose path is returned."
    )
    args = ReadResourceArgs
    cap = _CAP

    def __init__(self, find: FindServers) -> None:
        self._find = find

    def read_only(self, args: ReadResourceArgs, context: Context) -> bool:
        return True

    def access(self, args: ReadResourceArgs, context: Context) -> tuple[Access, ...]:
        return (Access("none"),)

    def claims(self, args: ReadResourceArgs, context: Context) -> tuple[Claim, ...]:
        return (Claim(f"mcp:{normalise(args.server)}", shared=True),)

    async def run(self, args: ReadResourceArgs, context: Context) -> Outcome:
        connection = _choose(self._find(), args.server)
        result = await read_resource(connection, args.uri)
        check_resource(connection, args.uri, result)
        converter = ContentConverter(context.spill, context.call_id)
        parts = await asyncio.to_thread(converter.convert_contents, result.contents)
        return Outcome(parts, display=describe_parts(parts))


def _choose(servers: list[ServerConnection], name: str) -> ServerConnection:
    for connection in servers:
        if name in (connection.config.name, connection.config.called):
            return connection
    known = ", ".join(clean_line(connection.config.name, 80) for connection in servers) or "none"
    raise ToolError(f"No MCP server with resources is called {name[:80]!r}. Servers with resources: {known}.")
