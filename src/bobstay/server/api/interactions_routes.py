"""Interactions over HTTP: one inbox for permissions, questions and plans, one way to answer."""

import asyncio
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from bobstay.model.event import InteractionOpened
from bobstay.model.message import ToolCall
from bobstay.server.api.endpoint import ApiCall, Endpoint
from bobstay.server.db.session_listing import MOST_LISTED, InteractionRow, State, list_interactions
from bobstay.server.errors import ApiError
from bobstay.server.inbox import Decision, InteractionOutcome, Reach, answer_of
from bobstay.server.session_commands import delivery
from bobstay.server.sessions.log_reader import questions
from bobstay.server.sessions.session_view import PREVIEW_LENGTH, InteractionView, SessionView
from bobstay.server.workflows import MODES, may_be_in


class InteractionDecision(Struct, frozen=True):
    """How an interaction ended."""

    outcome: Literal["allowed", "denied", "cancelled"]
    by: str
    """Who decided: a person's name, `hook`, `rule`, or why nobody did."""
    message: str
    input: dict[str, Any] | None
    """What was run instead, where the answer changed it; long texts in it are cut."""
    at: float


class OpenItem(Struct, frozen=True):
    """Something a person is or was needed for, with all that must be seen before deciding."""

    session_id: str
    session_title: str
    cwd: str
    summary: InteractionView
    opened: InteractionOpened
    """What is asked. Of one that is decided long texts are cut; the log has them whole."""
    outcome: InteractionDecision | None = None
    """How it ended; null while it is open."""


class Items(Struct, frozen=True):
    interactions: tuple[OpenItem, ...]
    cursor: str | None = None
    """Give it back as `cursor` for the next page; null on the last. All open ones are on one page."""


class DecisionBody(Struct, frozen=True, forbid_unknown_fields=True):
    decision: Decision
    input_sha256: str
    """Of what was shown: an answer is good for that very input."""
    scope: Reach = "once"
    """How far it reaches; `project` and `user` are kept in settings and need `admin`."""
    reason: str = ""
    input: dict[str, Any] | None = None
    """What to run instead; needs `operate` too."""
    answers: dict[str, Any] | None = None
    """To a question: the words of each question and what was chosen."""
    mode: Literal["", "default", "acceptEdits", "plan", "dontAsk"] = ""
    """Of a plan that is approved: the permission mode in which it is carried out."""
    interrupt: bool = False


class InboxQuery(Struct, frozen=True):
    state: Literal["open", "decided", "all"] = "open"
    """Those that wait for a person, oldest first; those that are decided, or all of them, newest first."""
    session_id: str = ""
    """Only those of this session; empty for all sessions."""
    cursor: Annotated[str, Meta(max_length=400)] = ""
    """`cursor` of the page that was answered last; empty for the first page."""
    limit: Annotated[int, Meta(ge=1, le=MOST_LISTED)] = 100
    """Interactions on a page at most. All open ones come on one page, however many there are."""


async def listing(call: ApiCall) -> Items:
    """List what waits for a person, over all sessions, or what was decided and by whom."""
    query: InboxQuery = call.query
    if query.state != "open":
        return await _from_tables(call, query)
    found: list[OpenItem] = []
    for view in tuple(call.console.registry.views.values()):
        if view.interactions and call.query.session_id in ("", view.id):
            found += await _items(call, view)
    found.sort(key=lambda item: item.summary.opened_at)
    return Items(tuple(found))


async def decide(call: ApiCall) -> InteractionOutcome:
    """Allow, deny or answer. The first answer wins; a later one is told the outcome."""
    verdict: DecisionBody = call.body
    opened = call.console.inbox.opened(call.path["id"]) or await _not_taken_up_yet(call)
    if opened is None:
        raise await call.console.inbox.too_late(call.path["id"])
    if opened.kind == "permission" and (verdict.decision == "answer" or verdict.answers is not None):
        raise ApiError("invalid", "This is a request for permission: decide with allow or deny.")
    _check_scopes(call, opened)
    view = call.console.registry.view(call.console.inbox.session_of(opened.id))
    if verdict.mode and not may_be_in(view.config, verdict.mode):
        label = MODES[view.config.workflow].label
        raise ApiError(
            "invalid", f"A session in {label} mode cannot go on in {verdict.mode}: begin one that implements."
        )
    answer = answer_of(
        opened,
        verdict.decision,
        verdict.scope,
        call.principal.name,
        reason=verdict.reason,
        input=verdict.input,
        answers=verdict.answers,
        mode=verdict.mode,
        interrupt=verdict.interrupt,
    )
    deliver = delivery(call.console, view)
    return await call.console.inbox.decide(opened.id, answer, verdict.input_sha256, deliver)


async def _not_taken_up_yet(call: ApiCall) -> InteractionOpened | None:
    """A question from before the server started, whose session waits to be taken up: it can be answered already."""
    id, registry = call.path["id"], call.console.registry
    view = next((one for one in registry.views.values() if any(entry.id == id for entry in one.interactions)), None)
    if view is None:
        return None
    for opened in await asyncio.to_thread(questions, registry.reader(view.id), view.interactions):
        still = any(entry.id == id for entry in registry.view(view.id).interactions)
        if opened.id == id and still:
            call.console.inbox.heard(view.id, opened)
    return call.console.inbox.opened(id)


def _check_scopes(call: ApiCall, opened: InteractionOpened) -> None:
    """To approve is to say yes or no to what is asked. Another input is a prompt, and a lasting rule is a setting."""
    verdict: DecisionBody = call.body
    if verdict.decision == "deny":
        return
    if verdict.input is not None and verdict.input != opened.call.input and not call.principal.may("operate"):
        text = "To run something else than what was asked, `operate` is needed too. Allow it as it is, or deny it."
        raise ApiError("forbidden", text, needed="operate")
    if verdict.scope in ("project", "user") and not call.principal.may("admin"):
        text = "A rule that is kept in the settings needs `admin`. Allow it once or for this session."
        raise ApiError("forbidden", text, needed="admin")


async def _from_tables(call: ApiCall, query: InboxQuery) -> Items:
    console = call.console
    if query.session_id:
        console.registry.view(query.session_id)
    for session in console.registry.all_open():  # whoever just decided sees it here
        await console.database.flushed(session.id, session.view.seq)
    state: State = "decided" if query.state == "decided" else ""
    page = await list_interactions(
        console.database, state=state, session_id=query.session_id, cursor=query.cursor, limit=query.limit
    )
    return Items(tuple(_kept(row) for row in page.interactions), page.cursor)


def _kept(row: InteractionRow) -> OpenItem:
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
    waiting = {id: opened for id in wanted if (opened := call.console.inbox.opened(id)) is not None}
    if len(waiting) < len(wanted):
        read = await asyncio.to_thread(questions, call.console.registry.reader(view.id), view.interactions)
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
