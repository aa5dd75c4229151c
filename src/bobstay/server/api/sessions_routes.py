"""Sessions over HTTP: create, list, show, prompt, interrupt, continue, fork, change and delete them."""

import math
from typing import Any, get_args

from msgspec import UNSET
from msgspec.structs import asdict, replace

from bobstay.engine.agent_message import from_agent
from bobstay.model.message import Block, Image, Text
from bobstay.model.session_events import SessionChanged, SessionConfig
from bobstay.server import artifacts, session_secrets
from bobstay.server.api.endpoint import ApiCall, Endpoint
from bobstay.server.api.permission_lifting import bypass_end, check_child, check_lifting, check_workflow
from bobstay.server.api.session_bodies import (
    MOST_SENT,
    ContinueBody,
    ForkBody,
    ImagePart,
    InputChange,
    MessageAccepted,
    NewMessage,
    NewSession,
    SessionChange,
    SessionList,
    SessionListQuery,
)
from bobstay.server.api.session_idempotency import create_once
from bobstay.server.errors import ApiError
from bobstay.server.session_creation import UserMessage, WorktreeRequest
from bobstay.server.sessions.session_status import BUSY, Status
from bobstay.server.sessions.session_view import SessionView

LISTED = tuple(status for status in get_args(Status) if status != "discarded")
"""Statuses of sessions that are listed."""


async def create(call: ApiCall) -> SessionView:
    """Create a session; with a prompt, its agent starts working."""
    new: NewSession = call.body
    check_lifting(call, new.permission_mode, given=bool(new.allowed_tools or new.mcp_config or new.env))
    config = SessionConfig(
        engine=new.engine,
        workflow=new.workflow,
        model=new.model,
        permission_mode=new.permission_mode,
        max_turns=new.max_turns,
        max_budget_usd=new.max_budget_usd,
        system_prompt=new.system_prompt,
        append_system_prompt=new.append_system_prompt,
        allowed_tools=new.allowed_tools,
        disallowed_tools=new.disallowed_tools,
        inputs=new.inputs,
        live=new.live,
        output_format=new.output_format,
        ephemeral=new.ephemeral,
        mcp_servers=session_secrets.server_names(new.mcp_config),
        bypass_until=bypass_end(new.permission_mode, new.bypass_minutes),
    )
    handed = await artifacts.artifact_blocks(
        call.services.registry, [(one.session_id, one.id) for one in new.artifacts]
    )
    blocks = blocks_of(new.prompt, new.images)
    session_secrets.check_variables(new.env)
    message = UserMessage(
        (*handed, *blocks) if blocks else (), call.principal.name, new.client_id, new.env, new.mcp_config
    )
    tree = WorktreeRequest(new.branch, new.base) if new.worktree else None
    return await create_once(
        call,
        message,
        lambda id: call.services.creation.launch(new.cwd, config, message, title=new.title, tree=tree, id=id),
    )


async def listing(call: ApiCall) -> SessionList:
    """List the sessions, the most recently changed first."""
    query: SessionListQuery = call.query
    statuses = _statuses(query.status)
    known = call.services.registry.views.values()
    engines = {worker.engine_session for view in known for worker in view.workers if worker.engine_session}
    # The log that an external engine keeps of a conversation is not listed beside the session it runs in.
    views = [view for view in known if _wanted(view, query, statuses) and (view.id not in engines or view.workers)]
    if query.leaves:
        parents = {view.parent for view in views}
        views = [view for view in views if view.id not in parents]
    views.sort(key=lambda view: (view.updated_at, view.id), reverse=True)
    if query.cursor:
        last = _read_cursor(query.cursor)
        views = [view for view in views if (view.updated_at, view.id) < last]
    page = views[: query.limit]
    more = f"{page[-1].updated_at!r}_{page[-1].id}" if len(views) > query.limit else None
    return SessionList(tuple(page), more)


async def show(call: ApiCall) -> SessionView:
    """Show one session."""
    return call.services.registry.view(call.path["id"])


async def send(call: ApiCall) -> MessageAccepted:
    """Send a message to a session; it is delivered once per client_message_id."""
    new: NewMessage = call.body
    blocks = blocks_of(new.content, new.images)
    if not blocks:
        raise ApiError("invalid", "The message is empty.")
    if new.sender:
        blocks = blocks_of(from_agent(new.sender, new.content), new.images)
    message = UserMessage(blocks, call.principal.name, new.client_message_id, sender=new.sender)
    id = await call.services.commands.send_message(call.path["id"], message, new.delivery)
    return MessageAccepted(id, call.services.registry.view(call.path["id"]))


async def interrupt(call: ApiCall) -> SessionView:
    """Interrupt the session's current turn."""
    return await call.services.commands.interrupt(call.path["id"], by=call.principal.name)


async def kill(call: ApiCall) -> SessionView:
    """End the session's current turn by force, if an interrupt did not help."""
    return await call.services.commands.interrupt(call.path["id"], by=call.principal.name, force=True)


async def retry(call: ApiCall) -> SessionView:
    """Retry the failed or interrupted turn of a session."""
    return await call.services.commands.retry(call.path["id"], by=call.principal.name)


async def go_on(call: ApiCall) -> SessionView:
    """Continue an ended session in a child session."""
    new: ContinueBody = call.body
    check_lifting(call, new.permission_mode or "")
    view = call.services.registry.view(call.path["id"])
    given = {name: value for name, value in asdict(new).items() if name in SessionConfig.__struct_fields__}
    config = replace(view.config, max_turns=SessionConfig().max_turns)
    config = replace(config, **{name: value for name, value in given.items() if value is not None})
    check_child(call, view, config)
    message = UserMessage(blocks_of(new.prompt), call.principal.name, new.client_id)
    return await create_once(
        call, message, lambda id: call.services.creation.continue_session(view.id, message, config, id=id)
    )


async def fork(call: ApiCall) -> SessionView:
    """Fork a session: copy it, up to an entry if one is given."""
    new: ForkBody = call.body
    view = call.services.registry.view(call.path["id"])
    check_child(call, view, view.config)
    message = UserMessage(blocks_of(new.prompt), call.principal.name, new.client_id)
    return await create_once(
        call,
        message,
        lambda id: call.services.creation.continue_session(view.id, message, at=new.at, state_checked=False, id=id),
    )


async def change(call: ApiCall) -> SessionView:
    """Change a session's title, archive or pin it, or change its model, permission mode, workflow or limits."""
    given = {name: value for name, value in asdict(call.body).items() if value is not UNSET}
    check_lifting(call, given.get("permission_mode", ""))
    about = {name: given[name] for name in ("title", "archived", "pinned") if name in given}
    view = call.services.registry.view(call.path["id"])
    if about:
        view = await call.services.commands.change_metadata(view.id, SessionChanged(**about, by=call.principal.name))
    minutes = given.pop("bypass_minutes")
    settings = {name: value for name, value in given.items() if name not in about}
    if settings:
        if "permission_mode" in settings:
            settings["bypass_until"] = bypass_end(settings["permission_mode"], minutes)
        config = replace(view.config, **settings)
        check_workflow(call, view.config, config)
        view = await call.services.commands.configure(view.id, config, by=call.principal.name)
    return view


async def delete(call: ApiCall) -> None:
    """Move a session to the trash; a running one must be stopped first."""
    view = call.services.registry.view(call.path["id"])
    if view.status in BUSY:
        raise ApiError("wrong_state", "Stop the session before deleting it.", status=view.status)
    await call.services.deletion.discard(view.id)


async def edit_input(call: ApiCall) -> SessionView:
    """Change a queued message."""
    blocks = blocks_of(call.body.content)
    if not blocks:
        raise ApiError("invalid", "The message is empty. Delete the input instead.")
    await call.services.commands.edit_input(call.path["id"], call.path["input_id"], blocks)
    return call.services.registry.view(call.path["id"])


async def drop_input(call: ApiCall) -> SessionView:
    """Remove a queued message."""
    await call.services.commands.drop_input(call.path["id"], call.path["input_id"])
    return call.services.registry.view(call.path["id"])


def blocks_of(text: str, images: tuple[ImagePart, ...] = ()) -> tuple[Block, ...]:
    image_blocks = tuple(Image(image.media_type, image.data) for image in images)
    return (*((Text(text),) if text.strip() else ()), *image_blocks)


def _read_cursor(cursor: str) -> tuple[float, str]:
    """Parse a cursor: a position in the order of the list that stays valid even if its session is deleted."""
    moment, _, id = cursor.partition("_")
    try:
        at = float(moment)
    except ValueError:
        at = math.nan
    if not math.isfinite(at):
        raise ApiError("invalid", "This cursor does not come from a list of sessions. Start without one.")
    return at, id


def _statuses(text: str) -> frozenset[str]:
    """Raises:
    ApiError: invalid, one of them does not exist.
    """
    wanted = frozenset(name for name in text.split(",") if name)
    if unknown := sorted(wanted - frozenset(LISTED)):
        message = f"There is no status {unknown[0][:80]!r}. There are {', '.join(LISTED)}."
        raise ApiError("invalid", message, field="status", allowed=list(LISTED))
    return wanted


def _wanted(view: SessionView, query: SessionListQuery, statuses: frozenset[str]) -> bool:
    return (
        view.archived == query.archived
        and view.status != "discarded"
        and (not statuses or view.status in statuses)
        and (not query.project or query.project in (view.config.project, view.cwd))
        and (not query.q or query.q.lower() in f"{view.title} {view.first_prompt} {view.cwd}".lower())
    )


_ID = "/sessions/{id}"
_BEGIN: Any = ("not_found", "wrong_state", "busy_elsewhere", "storage", "cannot_start", "not_supported", "conflict")
_STATE: Any = ("wrong_state", "busy_elsewhere", "storage", "cannot_start", "not_supported")

ENDPOINTS = (
    Endpoint("POST", "/sessions", create, "operate", NewSession, None, SessionView, 201, _BEGIN, MOST_SENT),
    Endpoint("GET", "/sessions", listing, query=SessionListQuery, returns=SessionList),
    Endpoint("GET", _ID, show, returns=SessionView),
    Endpoint("PATCH", _ID, change, "operate", SessionChange, returns=SessionView, errors=_STATE),
    Endpoint("DELETE", _ID, delete, "operate", errors=_STATE),
    Endpoint("POST", _ID + "/messages", send, "operate", NewMessage, None, MessageAccepted, 202, _STATE, MOST_SENT),
    Endpoint("POST", _ID + "/interrupt", interrupt, "operate", returns=SessionView, errors=_STATE),
    Endpoint("POST", _ID + "/kill", kill, "operate", returns=SessionView, errors=_STATE),
    Endpoint("POST", _ID + "/retry", retry, "operate", returns=SessionView, errors=_STATE),
    Endpoint("POST", _ID + "/continue", go_on, "operate", ContinueBody, None, SessionView, 201, _STATE),
    Endpoint("POST", _ID + "/fork", fork, "operate", ForkBody, None, SessionView, 201, _STATE),
    Endpoint("PATCH", _ID + "/inputs/{input_id}", edit_input, "operate", InputChange, None, SessionView, 200, _STATE),
    Endpoint("DELETE", _ID + "/inputs/{input_id}", drop_input, "operate", returns=SessionView, errors=_STATE),
)
