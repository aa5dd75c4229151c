"""Interactions over HTTP: list approval requests, questions and plan reviews, and answer them."""

import asyncio
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from bobstay.model.event import InteractionOpened
from bobstay.model.message import ToolCall
from bobstay.server.api.endpoint import ApiCall, Endpoint
from bobstay.server.db.interaction_listing import MOST_LISTED, InteractionRow, State, list_interactions
from bobstay.server.errors import ApiError
from bobstay.server.inbox import Decision, InteractionOutcome, Reach, build_answer
from bobstay.server.sessions.open_interactions import InteractionView
from bobstay.server.sessions.session_view import PREVIEW_LENGTH, SessionView
from bobstay.server.workflows import MODES, allows_mode
from bobstay.sessions.log_reader import read_interactions


class InteractionDecision(Struct, frozen=True):
    """The decision of a closed interaction."""

    outcome: Literal["allowed", "denied", "cancelled"]
    by: str
    """Who decided: a person's name, `hook`, `rule`, or the reason why nobody did."""
    message: str
    input: dict[str, Any] | None
    """The input that was run instead, if the answer changed it; long texts in it are cut."""
    at: float


class OpenItem(Struct, frozen=True):
    """An open or decided interaction, with everything a person needs to decide it."""

    session_id: str
    session_title: str
    cwd: str
    summary: InteractionView
    opened: InteractionOpened
    """The request. Long texts of a decided one are cut; the log has them whole."""
    outcome: InteractionDecision | None = None
    """The decision; null while it is open."""


class Items(Struct, frozen=True):
    interactions: tuple[OpenItem, ...]
    cursor: str | None = None
    """Send it as `cursor` for the next page; null on the last. All open interactions are on one page."""


class DecisionBody(Struct, frozen=True, forbid_unknown_fields=True):
    decision: Decision
    input_sha256: str
    """Hash of the input that was shown: a decision is valid for that input only."""
    scope: Reach = "once"
    """How long it applies; `project` and `user` are stored in the settings and need `admin`."""
    reason: str = ""
    input: dict[str, Any] | None = None
    """Another input to run instead; also needs `operate`."""
    answers: dict[str, Any] | None = None
    """Answers to a question: the text of each question and what was chosen."""
    mode: Literal["", "default", "acceptEdits", "plan", "dontAsk"] = ""
    """For an approved plan: the permission mode in which it is carried out."""
    interrupt: bool = False


class InboxQuery(Struct, frozen=True):
    state: Literal["open", "decided", "all"] = "open"
    """`open` ones, oldest first; `decided` ones or `all`, newest first."""
    session_id: str = ""
    """Only interactions of this session; empty for all."""
    cursor: Annotated[str, Meta(max_length=400)] = ""
    """`cursor` of the previous page; empty for the first."""
    limit: Annotated[int, Meta(ge=1, le=MOST_LISTED)] = 100
    """Maximum number of interactions. Open ones are always on one page, however many there are."""


async def listing(call: ApiCall) -> Items:
    """List the open interactions of all sessions, or decided ones with their decisions."""
    query: InboxQuery = call.query
    if query.state != "open":
        return await _from_tables(call, query)
    found: list[OpenItem] = []
    for view in tuple(call.services.registry.views.values()):
        if view.interactions and call.query.session_id in ("", view.id):
            found += await _items(call, view)
    found.sort(key=lambda item: item.summary.opened_at)
    return Items(tuple(found))


async def decide(call: ApiCall) -> InteractionOutcome:
    """Allow, deny or answer an interaction. The first decision wins; later ones get its outcome."""
    body: DecisionBody = call.body
    opened = call.services.inbox.request_of(call.path["id"]) or await _find_unrecovered(call)
    if opened is None:
        raise await call.services.inbox.late_answer_error(call.path["id"])
    if opened.kind == "permission" and (body.decision == "answer" or body.answers is not None):
        raise ApiError("invalid", "This is a request for permission: decide with allow or deny.")
    _check_scopes(call, opened)
    view = call.services.registry.view(call.services.inbox.session_of(opened.id))
    if body.mode and not allows_mode(view.config, body.mode):
        label = MODES[view.config.workflow].label
        raise ApiError(
            "invalid", f"A session in {label} mode cannot continue in {body.mode}. Start an implementation session."
        )
    answer = build_answer(
        opened,
        body.decision,
        body.scope,
        call.principal.name,
        reason=body.reason,
        input=body.input,
        answers=body.answers,
        mode=body.mode,
        interrupt=body.interrupt,
    )
    deliver = call.services.commands.answer_delivery(view)
    return await call.services.inbox.decide(opened.id, answer, body.input_sha256, deliver)


async def _find_unrecovered(call: ApiCall) -> InteractionOpened | None:
    """An interaction from before a restart whose session is not recovered yet; it can be answered already."""
    id, registry = call.path["id"], call.services.registry
    view = next((one for one in registry.views.values() if any(entry.id == id for entry in one.interactions)), None)
    if view is None:
        return None
    for opened in await asyncio.to_thread(read_interactions, registry.reader(view.id), view.interactions):
        still = any(entry.id == id for entry in registry.view(view.id).interactions)
        if opened.id == id and still:
            call.services.inbox.observe(view.id, opened)
    return call.services.inbox.request_of(id)


def _check_scopes(call: ApiCall, opened: InteractionOpened) -> None:
    """Check the scopes beside `approve`: another input is like a prompt, and a lasting rule is a setting."""
    body: DecisionBody = call.body
    if body.decision == "deny":
        return
    if body.input is not None and body.input != opened.call.input and not call.principal.may("operate"):
        text = "To run another input than the requested one, `operate` is needed too. Allow it unchanged, or deny it."
        raise ApiError("forbidden", text, needed="operate")
    if body.scope in ("project", "user") and not call.principal.may("admin"):
        text = "A rule in the settings needs `admin`. Allow it once or for this session."
        raise ApiError("forbidden", text, needed="admin")


async def _from_tables(call: ApiCall, query: InboxQuery) -> Items:
    services = call.services
    if query.session_id:
        services.registry.view(query.session_id)
    for session in services.registry.all_open():  # so that people see their own last decision
        await services.database.wait_until_indexed(session.id, session.view.seq)
    state: State = "decided" if query.state == "decided" else ""
    page = await list_interactions(
        services.database, state=state, session_id=query.session_id, cursor=query.cursor, limit=query.limit
    )
    return Items(tuple(_item_of_row(row) for row in page.interactions), page.cursor)


def _item_of_row(row: InteractionRow) -> OpenItem:
    summary = InteractionView(
        row.id, row.kind, row.call_id, row.tool, row.input_sha256, row.opened_at, row.agent, row.reason[:PREVIEW_LENGTH]
    )
    asked = ToolCall(row.call_id, row.tool, row.input if isinstance(row.input, dict) else {})
    opened = InteractionOpened(row.id, row.kind, asked, row.reason, description=row.description)
    outcome = None
    if row.state != "open":
        outcome = InteractionDecision(row.state, row.by, row.message, row.changed_input, row.closed_at)
    return OpenItem(row.session_id, row.session_title, row.cwd, summary, opened, outcome)


async def _items(call: ApiCall, view: SessionView) -> list[OpenItem]:
    wanted = {entry.id: entry for entry in view.interactions}
    waiting = {id: opened for id in wanted if (opened := call.services.inbox.request_of(id)) is not None}
    if len(waiting) < len(wanted):
        read = await asyncio.to_thread(read_interactions, call.services.registry.reader(view.id), view.interactions)
        waiting = {**{opened.id: opened for opened in read}, **waiting}
    return [
        OpenItem(view.id, view.title, view.cwd, entry, waiting[id]) for id, entry in wanted.items() if id in waiting
    ]


ENDPOINTS = (
    Endpoint("GET", "/interactions", listing, query=InboxQuery, returns=Items, errors=("not_found",)),
    Endpoint(
        "POST",
        "/interactions/{id}/decision",
        decide,
        "approve",
        DecisionBody,
        returns=InteractionOutcome,
        errors=("already_answered", "input_changed", "unavailable", "cannot_start"),
    ),
)
