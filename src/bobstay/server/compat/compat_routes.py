"""All compatibility routes: the APIs of the consoles that preceded this one, on top of the current services."""

from starlette.routing import BaseRoute

from bobstay.server.api.services import Services
from bobstay.server.compat import compat_rest, compat_sse
from bobstay.server.compat.agent_socket import AgentNames
from bobstay.server.compat.app_socket import app_route
from bobstay.server.compat.worker_socket import worker_route


def routes(services: Services) -> tuple[BaseRoute, ...]:
    """`/api/sessions…`, `/api/tasks`, `/api/stream/events`, `/ws/app`, `/ws/agent`, and the sockets of workers."""
    return (
        *compat_rest.routes(services),
        *(compat_rest.compat_route(endpoint, services) for endpoint in compat_sse.ENDPOINTS),
        app_route(services, services.streams),
        worker_route(services, services.streams),
        AgentNames(services, services.streams).route(),
    )
