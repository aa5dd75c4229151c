"""Inventory of an engine over HTTP: commands, servers, hooks, skills, instructions and capabilities."""

from msgspec import Struct
from msgspec.structs import replace

from bobstay.model.session_events import SessionConfig
from bobstay.server.api.endpoint import ApiCall, Endpoint
from bobstay.server.files.session_directory import resolve_allowed
from bobstay.server.inventory.inventory_types import EngineInventory, McpServer
from bobstay.server.mcp_actions import McpActions
from bobstay.server.sessions.session_view import SessionView
from bobstay.server.workflows import Workflow


class PlaceQuery(Struct, frozen=True):
    cwd: str
    """The directory the session would work in."""
    engine: str = "native"
    """The engine of the session: `native`, or the name of an external one."""
    workflow: Workflow = "chat"
    """The workflow of the session."""
    model: str = ""
    """The model of the session; empty for the default."""


async def show_surroundings(call: ApiCall) -> EngineInventory:
    """Show the inventory and the capabilities of a session's engine."""
    view = call.services.registry.view(call.path["id"])
    resolve_allowed(view.cwd, call.services.roots.allowed())
    mcp = call.services.mcp
    found = await call.services.inventory.read(view, mcp.servers_of(view.id))
    return replace(found, mcp_servers=tuple(_with_sign_in(mcp, view.id, server) for server in found.mcp_servers))


def _with_sign_in(mcp: McpActions, session_id: str, server: McpServer) -> McpServer:
    address, problem = mcp.sign_in_of(session_id, server.name)
    return replace(server, sign_in=address, error=problem or server.error) if address or problem else server


async def show_surroundings_of_place(call: ApiCall) -> EngineInventory:
    """Show the inventory that a new session would have in a directory."""
    query: PlaceQuery = call.query
    call.services.preflight.check_engine(query.engine)
    config = SessionConfig(engine=query.engine, workflow=query.workflow, model=query.model)
    cwd = call.services.roots.resolve(query.cwd)
    return await call.services.inventory.read(SessionView("", cwd=cwd, config=config, model=query.model))


ENDPOINTS = (
    Endpoint("GET", "/sessions/{id}/surroundings", show_surroundings, returns=EngineInventory, errors=("invalid",)),
    Endpoint(
        "GET",
        "/surroundings",
        show_surroundings_of_place,
        query=PlaceQuery,
        returns=EngineInventory,
        errors=("not_found",),
    ),
)
