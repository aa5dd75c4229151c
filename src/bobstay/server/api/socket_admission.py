"""Authorizes WebSockets and records refused ones in the audit log."""

from starlette.requests import HTTPConnection

from bobstay.server.api.services import Services
from bobstay.server.auth.principal import Principal, Scope
from bobstay.server.errors import ApiError


async def admit_to_socket(services: Services, socket: HTTPConnection, scope: Scope | None) -> Principal:
    """Raises:
    ApiError: unauthorized or forbidden, among others.
    """
    try:
        return await services.auth.admit(socket, scope)
    except ApiError as error:
        if error.status in (401, 403):
            detail = {"path": socket.url.path, "code": error.problem.code}
            services.refusals.record("", "socket", detail)
        raise
