"""Requests of a native worker to people: approvals of its agents and questions of MCP servers, through the inbox."""

import asyncio
from contextlib import suppress
from typing import Any, Literal, TypeAlias

from bobstay.engine.engine_ports import Answer
from bobstay.engine.event_redaction import redact_event
from bobstay.model.event import InteractionClosed, InteractionOpened
from bobstay.model.ids import new_id
from bobstay.model.message import ToolCall
from bobstay.redaction.redactor import Redactor
from bobstay.server.capacity import CapacitySeat
from bobstay.server.inbox import Inbox
from bobstay.server.sessions.open_interactions import ELICITATION
from bobstay.server.sessions.open_session import OpenSession
from bobstay.sessions.log import LogError

Action: TypeAlias = Literal["accept", "decline", "cancel"]
_OUTCOMES: dict[Action, Literal["allowed", "denied", "cancelled"]] = {
    "accept": "allowed",
    "decline": "denied",
    "cancel": "cancelled",
}


class InboxRequests:
    """The approver of a session. While it waits for a person, the session does not count as running."""

    can_ask = True

    def __init__(self, session: OpenSession, inbox: Inbox, seat: CapacitySeat) -> None:
        self._session = session
        self._inbox = inbox
        self._seat = seat
        self._asking = 0
        self._elicitations: set[asyncio.Task[Answer]] = set()

    async def ask(self, opened: InteractionOpened) -> Answer:
        if not self._asking:
            self._seat.set_waiting(True)
        self._asking += 1
        try:
            return await self._inbox.wait(self._session.id, opened)
        finally:
            self._asking -= 1
            if not self._asking:
                self._seat.set_waiting(False)

    async def elicit(self, request: dict[str, Any], redactor: Redactor) -> dict[str, Any]:
        """Ask a person what an MCP server wants to know.

        Recorded as an interaction with the tool `Elicitation`; its answer is `{"action": …, "content": {…}}`.
        """
        call = ToolCall(f"elicitation_{new_id()}", ELICITATION, request)
        opened = redact_event(InteractionOpened(new_id(), "question", call), redactor)
        self._session.record(opened)
        action: Action = "cancel"
        content: dict[str, Any] | None = None
        by = "interrupt"
        asking = asyncio.ensure_future(self.ask(opened))
        self._elicitations.add(asking)
        try:
            await asyncio.wait([asking])
            if not asking.cancelled():
                (action, content), by = read_answer(asking.result()), asking.result().by
        finally:
            asking.cancel()
            self._elicitations.discard(asking)
            with suppress(LogError):  # the session ends, and its log was given up
                self._session.record(InteractionClosed(opened.id, _OUTCOMES[action], by=by))
        return {"action": action, "content": content}

    def withdraw_elicitations(self) -> None:
        """Cancel the open questions of MCP servers: the calls that caused them were interrupted."""
        for asking in self._elicitations:
            asking.cancel()

    def close_orphaned_elicitations(self) -> None:
        """Close questions of MCP servers that an earlier process left open: those servers are gone."""
        for entry in self._session.view.interactions:
            if entry.tool == ELICITATION:
                text = "The server that asked was ended with the program that ran it."
                self._session.record(InteractionClosed(entry.id, "cancelled", text, "restart"))


def read_answer(answer: Answer) -> tuple[Action, dict[str, Any] | None]:
    """What a person answered to the question of a server. A denial without an action declines."""
    if not answer.allow:
        return "decline", None
    given = (answer.input or {}).get("answers")
    action = given.get("action") if isinstance(given, dict) else None
    if not isinstance(given, dict) or action not in ("accept", "decline"):
        return "cancel", None
    content = given.get("content")
    return ("accept", content if isinstance(content, dict) else None) if action == "accept" else ("decline", None)
