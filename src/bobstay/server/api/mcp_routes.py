"""MCP servers of a session over HTTP: reconnect, switch off and on, approve, sign in."""

from msgspec import Struct

from bobstay.server.api.endpoint import ApiCall, Endpoint
from bobstay.server.api.inventory_routes import show_surroundings
from bobstay.server.errors import ApiError, Code
from bobstay.server.inventory.inventory_types import McpServer
from bobstay.server.sessions.session_view import SessionView


class SwitchBody(Struct, frozen=True, forbid_unknown_fields=True):
    enabled: bool


class ApprovalBody(Struct, frozen=True, forbid_unknown_fields=True):
    digest: str
    """`digest` of the entry that was shown: an approval is valid for that entry only."""


class SignInAddress(Struct, frozen=True):
    address: str
    """Where a person signs in, with a browser of the machine that runs the console; empty if that is not needed."""


async def reconnect_server(call: ApiCall) -> McpServer:
    """Connect an MCP server anew, and wait for the outcome."""
    await call.services.mcp.reconnect(_view(call), call.path["name"])
    return await _server(call)


async def switch_server(call: ApiCall) -> McpServer:
    """Switch an MCP server off or on for as long as the agent of the session runs."""
    await call.services.mcp.switch(_view(call), call.path["name"], enabled=call.body.enabled)
    return await _server(call)


async def approve_server(call: ApiCall) -> McpServer:
    """Approve an MCP server of the project as its entry is written now; it starts, and does so in later sessions."""
    await call.services.mcp.approve(_view(call), call.path["name"], call.body.digest)
    return await _server(call)


async def sign_in_to_server(call: ApiCall) -> SignInAddress:
    """Begin to sign in to an MCP server; it is connected when the person returns from the address."""
    return SignInAddress(await call.services.mcp.sign_in(_view(call), call.path["name"]))


def _view(call: ApiCall) -> SessionView:
    view = call.services.registry.view(call.path["id"])
    if view.config.engine != "native":
        raise ApiError("not_supported", f"The MCP servers of {view.config.engine} can only be changed there.")
    if view.elsewhere:
        raise ApiError("busy_elsewhere", "Another process runs this session. Change its MCP servers there.")
    return view


async def _server(call: ApiCall) -> McpServer:
    inventory = await show_surroundings(call)
    for server in inventory.mcp_servers:
        if server.name == call.path["name"][:300]:
            return server
    raise ApiError("not_found", "This session has no such MCP server.")


_PATH = "/sessions/{id}/mcp-servers/{name}"
_ERRORS: tuple[Code, ...] = ("not_supported", "busy_elsewhere", "wrong_state", "invalid")
ENDPOINTS = (
    Endpoint("POST", f"{_PATH}/reconnect", reconnect_server, "operate", returns=McpServer, errors=_ERRORS),
    Endpoint("POST", f"{_PATH}/switch", switch_server, "operate", SwitchBody, returns=McpServer, errors=_ERRORS),
    Endpoint(
        "POST",
        f"{_PATH}/approve",
        approve_server,
        "admin",
        ApprovalBody,
        returns=McpServer,
        errors=(*_ERRORS, "input_changed"),
    ),
    Endpoint(
        "POST",
        f"{_PATH}/sign-in",
        sign_in_to_server,
        "admin",
        returns=SignInAddress,
        errors=(*_ERRORS, "unavailable"),
    ),
)
