"""Turns an endpoint into a route: authorizes the request, validates its input, runs it and sends the response."""

import logging
from typing import Any

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from bobstay.server.api.endpoint import ApiCall, Endpoint, EndpointAnswer
from bobstay.server.api.idempotency import run_once
from bobstay.server.api.query_parsing import read_query
from bobstay.server.api.services import Services
from bobstay.server.errors import ApiError, ProblemBody, error_of_log
from bobstay.server.sessions.public_view import to_public
from bobstay.sessions.log import LogError
from bobstay.sessions.log_codec import to_json

log = logging.getLogger(__name__)


def make_route(endpoint: Endpoint, services: Services, prefix: str = "/api/v1") -> Route:
    async def handle(request: Request) -> Response:
        try:
            return await respond(endpoint, services, request)
        except ApiError as error:
            return error_response(error)
        except LogError as error:
            return error_response(error_of_log(error))
        except ClientDisconnect:
            return Response(status_code=400)
        except Exception:  # the last boundary before the client, who must not read a traceback
            log.exception("%s %s failed", endpoint.method, endpoint.path)
            text = "An internal error occurred, and the request may have had no effect. See the server's log."
            return error_response(ApiError("internal", text))

    return Route(prefix + endpoint.path, handle, methods=[endpoint.method], name=endpoint.run.__name__)


async def respond(endpoint: Endpoint, services: Services, request: Request) -> Response:
    path = dict(request.path_params)
    session = session_of(services, endpoint, path)  # before it runs: afterwards the session may not exist any more
    try:
        principal = await services.auth.admit(request, endpoint.scope)
    except ApiError as error:
        audit_refusal(services, endpoint, "", session, error)
        raise
    call = ApiCall(
        services,
        request,
        principal,
        path,
        _query(endpoint, request),
        await _body(endpoint, request),
    )
    try:
        answer = await _forward(endpoint, call, session)
        if answer is None:
            answer = await run_once(endpoint, call, lambda: run_endpoint(endpoint, call))
    except ApiError as error:
        audit_refusal(services, endpoint, principal.name, session, error)
        raise
    audit_action(endpoint, call, session, path=request.url.path, status=answer.status_code)
    return answer


async def _forward(endpoint: Endpoint, call: ApiCall, session: str) -> Response | None:
    if endpoint.at == "here":
        return None
    return await call.services.owners.forward(session, call.request, call.principal)


def audit_action(endpoint: Endpoint, call: ApiCall, session: str, **detail: Any) -> None:
    """Record a request that changes something in the audit log."""
    if endpoint.method != "GET":
        if call.created_session:
            detail["made"] = call.created_session
        call.services.audit.record(call.principal.name, endpoint.run.__name__, detail, session or call.created_session)


def audit_refusal(services: Services, endpoint: Endpoint, who: str, session: str, error: ApiError) -> None:
    """Record a request that was refused for lack of authorization in the audit log."""
    if error.status in (401, 403):
        detail = {"path": endpoint.path, "code": error.problem.code}
        services.refusals.record(who, f"{endpoint.method} {endpoint.run.__name__}", detail, session)


def session_of(services: Services, endpoint: Endpoint, path: dict[str, str]) -> str:
    """The session an endpoint is about."""
    if endpoint.path.startswith(("/sessions/{id}", "/trash/{id}")):
        return path.get("id", "")
    if endpoint.path.startswith("/terminals/{worker_id}"):
        return services.auxiliary_workers.session_of(path.get("worker_id", ""))
    if endpoint.path.startswith("/interactions/{id}"):
        return services.inbox.session_of(path.get("id", ""))
    return ""


async def run_endpoint(endpoint: Endpoint, call: ApiCall) -> Response:
    """Run an endpoint and make its result an HTTP response."""
    endpoint_answer = await endpoint.run(call)
    if isinstance(endpoint_answer, Response):
        return endpoint_answer
    if isinstance(endpoint_answer, EndpointAnswer):
        return json_response(endpoint_answer.value, endpoint_answer.status, endpoint_answer.headers)
    if endpoint.returns is None:
        return Response(status_code=204)
    return json_response(endpoint_answer, endpoint.status)


def json_response(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(to_json(to_public(value)), status, headers, "application/json")


def error_response(error: ApiError) -> Response:
    return json_response(ProblemBody(error.problem), error.status)


def _query(endpoint: Endpoint, request: Request) -> Any:
    if endpoint.query is None:
        return None
    given = {name: request.query_params.getlist(name)[-1] for name in request.query_params}
    return read_query(given, endpoint.query)


async def _body(endpoint: Endpoint, request: Request) -> Any:
    if endpoint.body is None:
        return None
    raw = await read_body(request, endpoint.body_limit)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise ApiError("unsupported_media_type", "Send the body as application/json.")
    try:
        return msgspec.json.decode(raw, type=endpoint.body)
    except msgspec.ValidationError as error:
        raise ApiError("invalid", f"Invalid body: {error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ApiError("invalid_json", f"The body is not JSON: {error}") from None


async def read_body(request: Request, limit: int) -> bytes:
    """The whole body.

    Raises:
        ApiError: too_large.
    """
    too_large = ApiError("too_large", f"The body may have at most {limit} bytes.", limit=limit)
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > limit:
        raise too_large
    pieces: list[bytes] = []
    size = 0
    async for piece in request.stream():
        size += len(piece)
        if size > limit:
            raise too_large
        pieces.append(piece)
    return b"".join(pieces)
