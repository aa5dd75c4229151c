"""A first session over HTTP: a scratch project with a failing test, and the demo model that mends it."""

from bobstay.model.message import Text
from bobstay.model.session_events import SessionConfig
from bobstay.server import session_commands
from bobstay.server.api.endpoint import ApiCall, Endpoint
from bobstay.server.demo_project import PROMPT, TEST, make_demo
from bobstay.server.errors import Code
from bobstay.server.files.session_directory import bounds_of
from bobstay.server.session_commands import UserMessage
from bobstay.server.sessions.session_view import SessionView


async def start_demo(call: ApiCall) -> SessionView:
    """Make a scratch project with a failing test, and start a session of the offline demo model that mends it."""
    console = call.console
    folder = await make_demo(bounds_of(console).roots[0], console.environment.children)
    # The rule is the server's own, for a file that it has just written: whoever may start a session may start this one.
    config = SessionConfig(model="demo", permission_mode="default", allowed_tools=(f"Bash({TEST})",))
    words = UserMessage((Text(PROMPT),), call.principal.name)
    view = await session_commands.launch(console, folder, config, words, title="Fix the failing test")
    call.made = view.id
    return view


_ERRORS: tuple[Code, ...] = ("storage", "cannot_start", "busy_elsewhere", "not_found")
ENDPOINTS = (Endpoint("POST", "/demo", start_demo, "operate", returns=SessionView, status=201, errors=_ERRORS),)
