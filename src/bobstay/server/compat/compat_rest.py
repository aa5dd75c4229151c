"""Compatibility REST routes for sessions and tasks, in the shapes of the first consoles."""

import logging
import os
from typing import Any

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from bobstay.model.message import Text
from bobstay.model.session_events import SessionConfig
from bobstay.server.api.dispatch import json_response, respond
from bobstay.server.api.endpoint import ApiCall, Endpoint
from bobstay.server.api.permission_lifting import check_child
from bobstay.server.api.services import Services
from bobstay.server.api.session_bodies import MOST_SENT
from bobstay.server.compat.compat_shapes import CompatSession, WorkflowMode, session_of
from bobstay.server.db import task_table
from bobstay.server.errors import ApiError, error_of_log
from bobstay.server.files.session_directory import is_allowed
from bobstay.server.session_creation import UserMessage
from bobstay.sessions.log import LogError, SessionMissing

log = logging.getLogger(__name__)
PREFIX = "/api"
DEFAULT_TURNS = SessionConfig().max_turns
"""Limit of turns if the request has none."""


class CompatLaunch(Struct, frozen=True):
    """Request to start a session. Each name in both spellings; unknown fields are ignored."""

    query: str
    workflowMode: WorkflowMode | None = None  # noqa: N815 - as the first console spells it
    workflow_mode: WorkflowMode | None = None
    model: str | None = None
    workingDir: str | None = None  # noqa: N815
    working_dir: str | None = None
    maxTurns: int | None = None  # noqa: N815
    max_turns: int | None = None


class CompatContinue(Struct, frozen=True):
    query: str
    maxTurns: int | None = None  # noqa: N815
    max_turns: int | None = None


class Success(Struct, frozen=True):
    success: bool = True


class CompatListQuery(Struct, frozen=True):
    leaves: bool = True
    """Leave out sessions that others continue."""


class TaskQuery(Struct, frozen=True):
    session_id: str = ""
    sessionId: str = ""  # noqa: N815


class TaskOut(Struct, frozen=True):
    """A task in the shape of the second console."""

    id: str
    session_id: str
    source: str
    title: str
    status: str
    description: str
    sort_order: int


class TasksOut(Struct, frozen=True):
    tasks: tuple[TaskOut, ...]


async def launch(call: ApiCall) -> CompatSession:
    """Create a session and start its agent."""
    new: CompatLaunch = call.body
    config = SessionConfig(
        workflow=new.workflowMode or new.workflow_mode or "chat",
        model=new.model or "",
        max_turns=_turns(new.maxTurns, new.max_turns),
    )
    where = new.workingDir or new.working_dir or _default_directory(call.services)
    view = await call.services.creation.launch(where, config, _user_message(call, new.query))
    call.created_session = view.id
    return session_of(view, new.query)


async def go_on(call: ApiCall) -> CompatSession:
    """Continue an ended session in a child session."""
    new: CompatContinue = call.body
    try:
        parent = call.services.registry.view(call.path["id"])
    except SessionMissing:
        raise ApiError("not_found", "Parent session not found") from None
    config = replace(parent.config, max_turns=_turns(new.maxTurns, new.max_turns))
    check_child(call, parent, config)
    view = await call.services.creation.continue_session(parent.id, _user_message(call, new.query), config)
    call.created_session = view.id
    return session_of(view, new.query)


async def interrupt(call: ApiCall) -> Success:
    """Interrupt a session's current turn."""
    try:
        await call.services.commands.interrupt(call.path["id"], by=call.principal.name)
    except SessionMissing:
        raise ApiError("not_found", "Session not found or not running") from None
    except ApiError as error:
        if error.problem.code == "wrong_state":
            raise ApiError("wrong_state", "Session not found or not running") from None
        raise
    return Success()


async def show(call: ApiCall) -> CompatSession:
    """Show a session."""
    try:
        return session_of(call.services.registry.view(call.path["id"]))
    except SessionMissing:
        raise ApiError("not_found", "Session not found") from None


async def listing(call: ApiCall) -> tuple[CompatSession, ...]:
    """List the sessions, the most recently changed first; of continued ones only the last."""
    views = [view for view in call.services.registry.views.values() if view.status != "discarded" and not view.archived]
    if call.query.leaves:
        parents = {view.parent for view in views}
        views = [view for view in views if view.id not in parents]
    views.sort(key=lambda view: (view.updated_at, view.id), reverse=True)
    return tuple(session_of(view) for view in views)


async def tasks(call: ApiCall) -> TasksOut:
    """List the tasks of a session, or of all."""
    session_id = call.query.session_id or call.query.sessionId
    if session_id:
        view = call.services.registry.view(session_id)
        await call.services.database.wait_until_indexed(view.id, view.seq)
    rows = await task_table.list_tasks(call.services.database, session_id)
    return TasksOut(
        tuple(
            TaskOut(row.id, row.session_id, row.source, row.title, row.status, row.description, row.sort_order)
            for row in rows
        )
    )


def routes(services: Services) -> list[Route]:
    return [compat_route(endpoint, services) for endpoint in ENDPOINTS]


def compat_route(endpoint: Endpoint, services: Services) -> Route:
    """A route whose errors have the shape `{"error": "…", "code": "…"}`."""

    async def handle(request: Request) -> Response:
        try:
            return await respond(endpoint, services, request)
        except ApiError as error:
            return compat_error(error)
        except LogError as error:
            return compat_error(error_of_log(error))
        except ClientDisconnect:
            return Response(status_code=400)
        except Exception:  # the last boundary before the client, who must not read a traceback
            log.exception("%s %s failed", endpoint.method, endpoint.path)
            return compat_error(ApiError("internal", "An internal error occurred. See the server's log."))

    return Route(PREFIX + endpoint.path, handle, methods=[endpoint.method], name=f"compat_{endpoint.run.__name__}")


class CompatError(Struct, frozen=True):
    error: str
    code: str
    details: dict[str, Any] | UnsetType = UNSET


def compat_error(error: ApiError) -> Response:
    problem = error.problem
    return json_response(CompatError(problem.message, problem.code, problem.details or UNSET), error.status)


def _user_message(call: ApiCall, query: str) -> UserMessage:
    if not query.strip():
        raise ApiError("invalid", "The query is empty.")
    return UserMessage((Text(query),), call.principal.name)


def _turns(*given: int | None) -> int:
    asked = next((turns for turns in given if turns), DEFAULT_TURNS)
    if asked < 0:
        raise ApiError("invalid", "maxTurns must not be negative.")
    return asked


def _default_directory(services: Services) -> str:
    """The directory where the server was started, if sessions may work there, else the first allowed one."""
    bounds = services.roots.allowed()
    here = os.path.realpath(os.getcwd())
    return here if is_allowed(here, bounds) else bounds.roots[0]


_ID = "/sessions/{id}"
ENDPOINTS = (
    Endpoint("POST", "/sessions", launch, "operate", CompatLaunch, None, CompatSession, body_limit=MOST_SENT),
    Endpoint("GET", "/sessions", listing, query=CompatListQuery, returns=tuple[CompatSession, ...]),
    Endpoint("GET", _ID, show, returns=CompatSession),
    Endpoint("POST", _ID + "/continue", go_on, "operate", CompatContinue, None, CompatSession, body_limit=MOST_SENT),
    Endpoint("POST", _ID + "/interrupt", interrupt, "operate", returns=Success),
    Endpoint("GET", "/tasks", tasks, query=TaskQuery, returns=TasksOut),
)
