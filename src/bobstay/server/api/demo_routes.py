"""Demo session over HTTP: a scratch project with a failing test that the demo model fixes."""

from bobstay.model.message import Text
from bobstay.model.session_events import SessionConfig
from bobstay.server.api.endpoint import ApiCall, Endpoint
from bobstay.server.demo_project import PROMPT, TEST, make_demo
from bobstay.server.errors import Code
from bobstay.server.session_creation import UserMessage
from bobstay.server.sessions.session_view import SessionView


async def start_demo(call: ApiCall) -> SessionView:
    """Create a scratch project with a failing test, and start a session in which the offline demo model fixes it."""
    services = call.services
    folder = await make_demo(services.roots.allowed().roots[0], services.environment.children)
    # No scope `approve` is needed for this rule: it allows only a file that the server itself has just written.
    config = SessionConfig(model="demo", permission_mode="default", allowed_tools=(f"Bash({TEST})",))
    message = UserMessage((Text(PROMPT),), call.principal.name)
    view = await services.creation.launch(folder, config, message, title="Fix the failing test")
    call.created_session = view.id
    return view


_ERRORS: tuple[Code, ...] = ("storage", "cannot_start", "busy_elsewhere", "not_found")
ENDPOINTS = (Endpoint("POST", "/demo", start_demo, "operate", returns=SessionView, status=201, errors=_ERRORS),)
