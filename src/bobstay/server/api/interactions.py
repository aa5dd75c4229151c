"""Interactions over HTTP: one inbox for permissions, questions and plans, one way to answer."""

import asyncio
from typing import Any, Literal

from msgspec import Struct

from bobstay.model.event import InteractionOpened
from bobstay.server.api.table import Call, Endpoint
from bobstay.server.commands import delivery
from bobstay.server.errors import ApiError
from bobstay.server.inbox import Decision, Outcome, Reach, answer_of
from bobstay.server.sessions.reader import questions
from bobstay.server.sessions.view import InteractionView, SessionView
from bobstay.server.workflows import MODES, may_be_in


class OpenItem(Struct, frozen=True):
    """Something a person is needed for, with all that must be seen before deciding."""

    session_id: str
    session_title: str
    cwd: str
    summary: InteractionView
    opened: InteractionOpened


class Items(Struct, frozen=True):
    interactions: tuple[OpenItem, ...]


class Verdict(Struct, frozen=True, forbid_unknown_fields=True):
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
    state: Literal["open"] = "open"
    session_id: str = ""


async def listing(call: Call) -> Items:
    """All that waits for a person, oldest first."""
    found: list[OpenItem] = []
    for view in tuple(call.console.registry.views.values()):
        if view.interactions and call.query.session_id in ("", view.id):
            found += await _items(call, view)
    found.sort(key=lambda item: item.summary.opened_at)
    return Items(tuple(found))


async def decide(call: Call) -> Outcome:
    """Allow, deny or answer. The first answer wins; a later one is told the outcome."""
    verdict: Verdict = call.body
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


async def _not_taken_up_yet(call: Call) -> InteractionOpened | None:
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


def _check_scopes(call: Call, opened: InteractionOpened) -> None:
    """To approve is to say yes or no to what is asked. Another input is a prompt, and a lasting rule is a setting."""
    verdict: Verdict = call.body
    if verdict.decision == "deny":
        return
    if verdict.input is not None and verdict.input != opened.call.input and not call.principal.may("operate"):
        text = "To run something else than what was asked, `operate` is needed too. Allow it as it is, or deny it."
        raise ApiError("forbidden", text, needed="operate")
    if verdict.scope in ("project", "user") and not call.principal.may("admin"):
        text = "A rule that is kept in the settings needs `admin`. Allow it once or for this session."
        raise ApiError("forbidden", text, needed="admin")


async def _items(call: Call, view: SessionView) -> list[OpenItem]:
    wanted = {entry.id: entry for entry in view.interactions}
    waiting = {id: opened for id in wanted if (opened := call.console.inbox.opened(id)) is not None}
    if len(waiting) < len(wanted):
        read = await asyncio.to_thread(questions, call.console.registry.reader(view.id), view.interactions)
        waiting = {**{opened.id: opened for opened in read}, **waiting}
    return [
        OpenItem(view.id, view.title, view.cwd, entry, waiting[id]) for id, entry in wanted.items() if id in waiting
    ]


ENDPOINTS = (
    Endpoint("GET", "/interactions", listing, query=InboxQuery, returns=Items),
    Endpoint(
        "POST",
        "/interactions/{id}/decision",
        decide,
        "approve",
        Verdict,
        returns=Outcome,
        errors=("already_answered", "input_changed", "unavailable", "cannot_start"),
    ),
)
