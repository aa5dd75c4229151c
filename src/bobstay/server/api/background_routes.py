"""Sub-agents and background commands of a session over HTTP: stop one. The session itself lists them."""

from bobstay.server.api.endpoint import ApiCall, Endpoint
from bobstay.server.errors import ApiError
from bobstay.server.sessions.session_view import SessionView
from bobstay.server.workers.worker import StopsBackground


async def stop_in_background(call: ApiCall) -> SessionView:
    """Stop a sub-agent or a background command; the agent is told with the next prompt."""
    services, id = call.services, call.path["background_id"]
    view = services.registry.view(call.path["id"])
    if view.elsewhere:
        raise ApiError("busy_elsewhere", "Another process runs this session. Stop it there.", status=view.status)
    item = next((each for each in view.background if each.id == id), None)
    if item is None:
        raise ApiError("not_found", "There is no such agent or command in this session.")
    worker: object = services.runner.worker(view.id)
    is_stopped = isinstance(worker, StopsBackground) and await worker.stop_background(id)
    if not is_stopped:
        text = "It does not run now: the next message continues it." if item.state == "paused" else "It has ended."
        raise ApiError("wrong_state", text)
    return services.registry.view(view.id)


ENDPOINTS = (
    Endpoint(
        "POST",
        "/sessions/{id}/background/{background_id}/stop",
        stop_in_background,
        "operate",
        returns=SessionView,
        errors=("busy_elsewhere", "wrong_state"),
    ),
)
