"""What is around an engine over HTTP: commands, servers, hooks, skills, instructions, and what it can do."""

from msgspec import Struct

from bobstay.model.session_events import SessionConfig
from bobstay.server.api.endpoint import ApiCall, Endpoint
from bobstay.server.files.session_directory import allowed, bounds_of
from bobstay.server.inventory.gather_inventory import around
from bobstay.server.inventory.inventory_types import EngineInventory
from bobstay.server.preflight import check_engine
from bobstay.server.session_commands import working_directory
from bobstay.server.sessions.session_view import SessionView
from bobstay.server.workflows import Workflow


class PlaceQuery(Struct, frozen=True):
    cwd: str
    """The directory the session would work in."""
    engine: str = "native"
    """The engine it would have: `native`, or the name of an external one."""
    workflow: Workflow = "chat"
    """The workflow it would have."""
    model: str = ""
    """The model it would have; empty for the default one."""


async def show_surroundings(call: ApiCall) -> EngineInventory:
    """Show what a session's engine has around it, and what can be done with the session."""
    view = call.console.registry.view(call.path["id"])
    allowed(view.cwd, bounds_of(call.console))
    return await around(call.console, view)


async def show_surroundings_of_place(call: ApiCall) -> EngineInventory:
    """Show what a new session would have around it in a directory."""
    query: PlaceQuery = call.query
    check_engine(call.console, query.engine)
    config = SessionConfig(engine=query.engine, workflow=query.workflow, model=query.model)
    cwd = working_directory(call.console, query.cwd)
    return await around(call.console, SessionView("", cwd=cwd, config=config, model=query.model))


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
