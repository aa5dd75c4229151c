"""The ASGI application: all routes of the server."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, Route

from bobstay.server.api.dispatch import error_response, make_route
from bobstay.server.api.endpoints import AT_ROOT, ENDPOINTS
from bobstay.server.api.services import Services
from bobstay.server.errors import ApiError
from bobstay.server.static_files import page_route


def make_app(services: Services, more: tuple[BaseRoute, ...] = (), begin: Any = None, end: Any = None) -> Starlette:
    """The application of a server. `begin` and `end` are awaited when it starts and stops."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None, None]:
        if begin is not None:
            await begin()
        yield
        if end is not None:
            await end()

    return Starlette(
        routes=[
            *more,
            *(make_route(endpoint, services) for endpoint in ENDPOINTS),
            *(make_route(endpoint, services, "") for endpoint in AT_ROOT),
            page_route(),
        ],
        lifespan=lifespan,
        exception_handlers={404: _missing, 405: _wrong_method},
    )


async def _missing(request: Request, _: Exception) -> Response:
    return error_response(ApiError("not_found", f"There is nothing at {request.url.path[:200]}."))


async def _wrong_method(request: Request, _: Exception) -> Response:
    answer = error_response(ApiError("method_not_allowed", f"{request.method[:20]} is not possible here."))
    routes = [each for each in request.app.routes if isinstance(each, Route)]
    possible = {
        name for each in routes if each.matches(request.scope)[0] is not Match.NONE for name in each.methods or ()
    }
    answer.headers["Allow"] = ", ".join(sorted(possible))
    return answer
