"""Inbox of the open interactions of all sessions: delivers answers to waiters; the first answer wins.

Waiters wait here and not on a broadcast, so that an answer cannot be lost with a connection.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from bobstay.engine.engine_ports import Answer
from bobstay.model.event import Durable, InteractionClosed, InteractionOpened
from bobstay.server.errors import ApiError
from bobstay.server.sessions.open_interactions import input_hash

Decision: TypeAlias = Literal["allow", "deny", "answer"]
Reach: TypeAlias = Literal["once", "session", "project", "user"]
STORE_TIMEOUT = 10.0
"""Seconds within which an answer must be in the log."""
REMEMBERED = 1_000
"""Outcomes kept for late answers."""

DESTINATIONS: dict[str, str] = {"session": "session", "project": "localSettings", "user": "userSettings"}


Deliver: TypeAlias = Callable[[str, str, Answer], Awaitable[None]]


class InteractionOutcome(Struct, frozen=True, omit_defaults=True):
    """The outcome of an interaction, as reported to a later answer."""

    id: str
    outcome: Literal["allowed", "denied", "cancelled"]
    by: str = ""
    message: str = ""


class Waiter(Struct):
    session_id: str
    opened: InteractionOpened
    answer: "asyncio.Future[Answer]"
    closed: "asyncio.Future[InteractionOutcome]"


class Inbox:
    """Workers `wait`, people `decide`, and the log reports the end (`close`)."""

    def __init__(self) -> None:
        self._waiting: dict[str, Waiter] = {}
        self._outcomes: dict[str, InteractionOutcome] = {}

    async def wait(self, session_id: str, opened: InteractionOpened) -> Answer:
        """Wait for an answer, which may exist already. Cancelling withdraws the interaction."""
        return await self._waiter(session_id, opened).answer

    def observe(self, session_id: str, event: Durable) -> None:
        """Process an event of a log: an interaction can be answered as soon as it is in the log."""
        if isinstance(event, InteractionOpened):
            self._waiter(session_id, event)
        elif isinstance(event, InteractionClosed):
            self.close(event)

    async def decide(
        self, id: str, answer: Answer, input_sha256: str, deliver: Deliver | None = None
    ) -> InteractionOutcome:
        """Answer an interaction; returns when the answer is in the log. `deliver` sends it to another process.

        Raises:
            ApiError: not_found, already_answered (with the outcome), input_changed.
        """
        waiter = self._waiting.get(id)
        if waiter is None or waiter.answer.done():
            raise await self.late_answer_error(id)
        if input_sha256 != input_hash(waiter.opened.call):
            text = "The request has changed since it was shown. Review it again."
            raise ApiError("input_changed", text, input_sha256=input_hash(waiter.opened.call))
        waiter.answer.set_result(answer)
        if deliver is not None:
            await self._deliver(waiter, deliver(waiter.session_id, id, answer))
        try:
            return await asyncio.wait_for(asyncio.shield(waiter.closed), STORE_TIMEOUT)
        except TimeoutError:
            raise ApiError("unavailable", "The answer was received but is not stored yet. Check again soon.") from None

    async def _deliver(self, waiter: Waiter, delivery: Awaitable[None]) -> None:
        try:
            await delivery
        except BaseException:
            waiter.answer = asyncio.get_running_loop().create_future()  # not delivered: it can be given again
            raise

    def close(self, closed: InteractionClosed) -> None:
        """An interaction is closed in the log, whoever closed it."""
        outcome = InteractionOutcome(closed.id, closed.outcome, closed.by, closed.message)
        self._outcomes[closed.id] = outcome
        if len(self._outcomes) > REMEMBERED:
            del self._outcomes[next(iter(self._outcomes))]
        waiter = self._waiting.pop(closed.id, None)
        if waiter is not None and not waiter.closed.done():
            waiter.closed.set_result(outcome)

    def withdraw(self, session_id: str) -> None:
        """Remove the waiters of a session whose worker has ended."""
        for id, waiter in tuple(self._waiting.items()):
            if waiter.session_id == session_id:
                del self._waiting[id]
                waiter.answer.cancel()

    def request_of(self, id: str) -> InteractionOpened | None:
        waiter = self._waiting.get(id)
        return waiter.opened if waiter is not None else None

    def session_of(self, id: str) -> str:
        waiter = self._waiting.get(id)
        return waiter.session_id if waiter is not None else ""

    def _waiter(self, session_id: str, opened: InteractionOpened) -> Waiter:
        waiter = self._waiting.get(opened.id)
        if waiter is None or waiter.answer.cancelled():
            loop = asyncio.get_running_loop()
            waiter = self._waiting[opened.id] = Waiter(session_id, opened, loop.create_future(), loop.create_future())
        return waiter

    async def late_answer_error(self, id: str) -> ApiError:
        """The error for an answer that nothing waits for."""
        waiter = self._waiting.get(id)
        if waiter is not None and id not in self._outcomes:
            await asyncio.wait([waiter.closed], timeout=STORE_TIMEOUT)
        outcome = self._outcomes.get(id)
        if outcome is None:
            return ApiError("not_found", "Nothing waits for this answer: the request was withdrawn, or never existed.")
        who = f" by {outcome.by}" if outcome.by else ""
        return ApiError("already_answered", f"This was already {outcome.outcome}{who}.", outcome=outcome)


def build_answer(opened: InteractionOpened, decision: Decision, reach: Reach, by: str, **given: Any) -> Answer:
    """The answer to the engine for a person's decision. `given` are further fields of the decision."""
    if decision == "deny":
        return Answer(False, given.get("reason") or "", interrupt=bool(given.get("interrupt")), by=by)
    input = given.get("input")
    if given.get("answers") is not None:
        input = {**opened.call.input, "answers": given["answers"]}
    updates = () if reach == "once" else lasting_updates(opened, reach)
    if given.get("mode"):
        updates = (*updates, {"type": "setMode", "mode": given["mode"], "destination": "session"})
    return Answer(True, given.get("reason") or "", input=input, updates=updates, by=by)


def lasting_updates(opened: InteractionOpened, reach: Reach) -> tuple[dict[str, Any], ...]:
    """The narrowest suggested permission update, with the destination for `reach`."""
    for suggestion in opened.suggestions:
        if suggestion.get("type") == "addRules":
            return ({**suggestion, "destination": DESTINATIONS[reach]},)
    return tuple({**suggestion, "destination": DESTINATIONS[reach]} for suggestion in opened.suggestions[:1])
