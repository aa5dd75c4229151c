"""Endpoint definitions, from which the router, the validation and the OpenAPI document are made."""

from collections.abc import Awaitable, Callable
from typing import Any, Literal

from msgspec import Struct
from starlette.requests import Request

from bobstay.server.api.services import Services
from bobstay.server.auth.principal import Principal, Scope
from bobstay.server.errors import Code

OF_ONE_SESSION = ("/sessions/{id}", "/trash/{id}", "/terminals/{worker_id}", "/interactions/{id}")
"""Beginnings of the paths of endpoints about one session."""


class ApiCall(Struct):
    """One authorized and validated request."""

    services: Services
    request: Request
    principal: Principal
    path: dict[str, str]
    query: Any = None
    """An instance of the endpoint's `query` type."""
    body: Any = None
    """An instance of the endpoint's `body` type."""
    created_session: str = ""
    """Id of the session that this request created, for the audit log."""


class Endpoint(Struct, frozen=True):
    method: str
    path: str
    """Below `/api/v1`, with `{names}` for its parameters."""
    run: Callable[[ApiCall], Awaitable[Any]]
    """Its docstring is the summary in the documentation."""
    scope: Scope | None = "read"
    """The scope that is needed; None allows anonymous requests."""
    body: Any = None
    query: Any = None
    returns: Any = None
    """Type of the result; None for an empty response, `Response` if `run` returns one itself."""
    status: int = 200
    errors: tuple[Code, ...] = ()
    """Error codes beside those of every route."""
    body_limit: int = 1024 * 1024
    media: str = "application/json"
    """Media type of the response."""

    @property
    def at(self) -> Literal["here", "owner"]:
        """Where it runs: on the server that owns the session in its path, or on any."""
        return "owner" if self.path.startswith(OF_ONE_SESSION) else "here"


class EndpointAnswer(Struct, frozen=True):
    """A result with headers, or with another status than that of its endpoint."""

    value: Any
    status: int
    headers: dict[str, str] = {}
