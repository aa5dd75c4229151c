"""All compatibility routes: the APIs of the consoles that preceded this one, on top of the current services."""

from starlette.routing import BaseRoute

from bobstay.server.compat import compat_rest, compat_sse
from bobstay.server.compat.agent_socket import AgentNames
from bobstay.server.compat.app_socket import app_route
from bobstay.server.compat.worker_socket import worker_route
from bobstay.server.console import Console
from bobstay.server.streams.subscription import Streams


def routes(console: Console, streams: Streams) -> tuple[BaseRoute, ...]:
    """`/api/sessions…`, `/api/tasks`, `/api/stream/events`, `/ws/app`, `/ws/agent`, and the sockets of workers."""
    return (
        *compat_rest.routes(),
        *(compat_rest.compat_route(endpoint) for endpoint in compat_sse.ENDPOINTS),
        app_route(console, streams),
        worker_route(console, streams),
        AgentNames(console, streams).route(),
    )
