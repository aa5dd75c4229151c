"""Requests to a connected MCP server: calls of tools, reading resources, getting prompts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

from bobstay.mcp.clean_text import clean_line, clean_text
from bobstay.mcp.failure_text import describe_failure
from bobstay.mcp.http_transport import CALL_ID
from bobstay.mcp.mcp_ports import ElicitationRequest
from bobstay.mcp.server_connection import ServerConnection
from bobstay.mcp.skill_listing import ListedSkill, fetch_skill
from bobstay.tools.base import ToolError

if TYPE_CHECKING:
    from mcp.client.client import Client
    from mcp.types import CallToolResult, GetPromptResult, ReadResourceResult

T = TypeVar("T")
_CLOSED = -32000
_TIMED_OUT = -32001
_METHOD_NOT_FOUND = -32601
_URL_REQUIRED = -32042
_MAX_URLS = 5
_MAX_PROGRESS = 500


async def call_tool(
    connection: ServerConnection, name: str, arguments: dict[str, Any], call_id: str, report: Callable[[str], None]
) -> CallToolResult:
    """Call a tool by the name the server gave it. Cancelling this tells the server.

    Raises:
        ToolError: there is no result.
    """
    limit = connection.config.tool_timeout or connection.options.tool_timeout

    async def show_progress(progress: float, total: float | None, message: str | None) -> None:
        done = f"{progress:g}/{total:g}" if total else f"{progress:g}"
        report(clean_line(f"{done} {message or ''}", _MAX_PROGRESS) + "\n")

    meta: Any = {CALL_ID: call_id} if call_id else None

    async def send(client: Client) -> CallToolResult:
        return await client.call_tool(
            name,
            arguments,
            read_timeout_seconds=limit,
            progress_callback=show_progress,
            meta=meta,
        )

    return await _request(connection, send, f"the tool {name!r}", limit, call_id)


async def read_resource(connection: ServerConnection, uri: str) -> ReadResourceResult:
    """Raises `ToolError`."""
    limit = connection.config.tool_timeout or connection.options.tool_timeout
    return await _request(connection, lambda client: client.read_resource(uri), f"the resource {uri[:200]!r}", limit)


async def get_skill(connection: ServerConnection, uri: str) -> ListedSkill | None:
    """Return the entry of a skill as it is now. Raises `ToolError`."""
    limit = connection.options.connect_timeout
    return await _request(connection, lambda client: fetch_skill(client, uri), f"the skill {uri[:200]!r}", limit)


async def get_prompt(connection: ServerConnection, name: str, arguments: dict[str, str]) -> GetPromptResult:
    """Raises `ToolError`."""
    limit = connection.options.connect_timeout
    return await _request(connection, lambda client: client.get_prompt(name, arguments), f"the prompt {name!r}", limit)


async def _request(
    connection: ServerConnection,
    send: Callable[[Client], Awaitable[T]],
    what: str,
    limit: float,
    call_id: str = "",
) -> T:
    server = clean_line(connection.config.name, 80)
    for is_last in (False, True):
        client = await connection.connect()
        if client is None:
            raise ToolError(_explain_absence(connection, server))
        try:
            # A little longer than the SDK's own limit, whose message says more and which tells the server.
            async with asyncio.timeout(limit + 5):
                result = await send(client)
            connection.confirm()
            return result  # noqa: TRY300 - the answer of this attempt
        except Exception as error:
            from mcp.shared.exceptions import MCPError

            is_error_answer = isinstance(error, MCPError) and error.code != _METHOD_NOT_FOUND
            if is_error_answer and not is_last and connection.forget_session(call_id):
                continue  # the server did not look at the request, so sending it again is safe
            wants_url = isinstance(error, MCPError) and error.code == _URL_REQUIRED and not is_last
            if wants_url and await _ask_to_open(connection, getattr(error, "data", None)):
                continue  # the person did what the server wants first
            raise ToolError(_explain(connection, server, what, limit, error)) from error
    raise AssertionError("unreachable: the last attempt returns or raises")


async def _ask_to_open(connection: ServerConnection, data: Any) -> bool:
    """Ask the person to open the addresses that a server wants opened first. Returns whether that was done."""
    wanted = data.get("elicitations") if isinstance(data, dict) else None
    if connection.ports.elicit is None or not isinstance(wanted, list) or not wanted:
        return False
    for each in wanted[:_MAX_URLS]:
        if not isinstance(each, dict) or not isinstance(each.get("url"), str):
            return False
        request = ElicitationRequest(
            connection.config.name,
            clean_text(str(each.get("message", "")), 4_000),
            "url",
            url=each["url"],
            elicitation_id=str(each.get("elicitationId", "")),
        )
        if (await connection.ports.elicit(request)).action != "accept":
            return False
    return True


def _explain(connection: ServerConnection, server: str, what: str, limit: float, error: Exception) -> str:
    from mcp.shared.exceptions import MCPError

    code = error.code if isinstance(error, MCPError) else None
    if isinstance(error, TimeoutError) or code == _TIMED_OUT:
        return (
            f"The MCP server {server} did not answer within {limit:g} seconds ({what}). "
            "The limit is MCP_TOOL_TIMEOUT, in milliseconds."
        )
    if connection.refuse_authentication():
        return f"The MCP server {server} wants the person to sign in again; {what} was not used."
    if code == _CLOSED and connection.client is None:
        return (
            f"The MCP server {server} ended while {what} was used: {connection.describe_end()}. "
            "It is started again for the next call."
        )
    if isinstance(error, MCPError):
        return f"The MCP server {server} answered with error {code}: {clean_text(error.message, 4_000)}"
    return f"The MCP server {server} failed ({what}): {describe_failure(error)}"


def _explain_absence(connection: ServerConnection, server: str) -> str:
    match connection.state:
        case "disabled":
            why = connection.error or "it is switched off"
        case "needs-auth":
            why = "the person has to sign in to it first"
        case "pending" | "connected" | "failed":
            why = connection.error or "it has ended again"
    return f"The MCP server {server} is not connected: {why}"
