"""Routes as data: what each takes, gives and needs. From it come the router, the checks and the OpenAPI document."""

from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import Struct
from starlette.requests import Request

from bobstay.server.auth.principal import Principal, Scope
from bobstay.server.console import Console
from bobstay.server.errors import Code


class ApiCall(Struct):
    """One request, checked: who asks, what for, with which words."""

    console: Console
    request: Request
    principal: Principal
    path: dict[str, str]
    query: Any = None
    """An instance of the endpoint's `query` type."""
    body: Any = None
    """An instance of the endpoint's `body` type."""
    made: str = ""
    """Id of the session that this request began, for the audit trail."""


class Endpoint(Struct, frozen=True):
    method: str
    path: str
    """Below `/api/v1`, with `{names}` for its parameters."""
    run: Callable[[ApiCall], Awaitable[Any]]
    """Its docstring is the summary in the documentation."""
    scope: Scope | None = "read"
    """None: no one is asked who they are."""
    body: Any = None
    query: Any = None
    returns: Any = None
    """Type of the answer; None answers with nothing, `Response` with whatever `run` returns."""
    status: int = 200
    errors: tuple[Code, ...] = ()
    """Beside those any route may give."""
    body_limit: int = 1024 * 1024
    media: str = "application/json"
    """Of the answer."""


class EndpointAnswer(Struct, frozen=True):
    """An answer with another status than the usual one of its endpoint."""

    value: Any
    status: int
    headers: dict[str, str] = {}
