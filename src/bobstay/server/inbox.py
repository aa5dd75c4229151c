"""Everything a person is needed for, over all sessions: who waits, who answers, and that the first answer wins.

Waiters wait here and never on a broadcast: an answer cannot be lost with a connection.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from bobstay.engine.engine_ports import Answer
from bobstay.model.event import Durable, InteractionClosed, InteractionOpened
from bobstay.server.errors import ApiError
from bobstay.server.sessions.session_view import input_hash

Decision: TypeAlias = Literal["allow", "deny", "answer"]
Reach: TypeAlias = Literal["once", "session", "project", "user"]
PATIENCE = 10.0
"""Seconds until an answer that was given must be in the log."""
REMEMBERED = 1_000
"""Outcomes kept for those who answer late."""

DESTINATIONS: dict[str, str] = {"session": "session", "project": "localSettings", "user": "userSettings"}


Deliver: TypeAlias = Callable[[str, str, Answer], Awaitable[None]]


class InteractionOutcome(Struct, frozen=True, omit_defaults=True):
    """How an interaction ended, as the second one to answer is told."""

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
    """Workers `wait`; people `decide`; the log says when it is over (`settled`)."""

    def __init__(self) -> None:
        self._waiting: dict[str, Waiter] = {}
        self._outcomes: dict[str, InteractionOutcome] = {}

    async def wait(self, session_id: str, opened: InteractionOpened) -> Answer:
        """Wait for a person, who may have answered already. Cancelling withdraws the question."""
        return await self._waiter(session_id, opened).answer

    def heard(self, session_id: str, event: Durable) -> None:
        """Follow the log: from the moment a question is in it, it can be answered."""
        if isinstance(event, InteractionOpened):
            self._waiter(session_id, event)
        elif isinstance(event, InteractionClosed):
            self.settled(event)

    async def decide(
        self, id: str, answer: Answer, input_sha256: str, deliver: Deliver | None = None
    ) -> InteractionOutcome:
        """Answer an interaction; returns when the answer is in the log. `deliver` takes it to another process.

        Raises:
            ApiError: not_found, already_answered (with the outcome), input_changed.
        """
        waiter = self._waiting.get(id)
        if waiter is None or waiter.answer.done():
            raise await self.too_late(id)
        if input_sha256 != input_hash(waiter.opened.call):
            text = "What is asked now is not what was shown when the answer was given. Look at it again."
            raise ApiError("input_changed", text, input_sha256=input_hash(waiter.opened.call))
        waiter.answer.set_result(answer)
        if deliver is not None:
            await self._delivered(waiter, deliver(waiter.session_id, id, answer))
        try:
            return await asyncio.wait_for(asyncio.shield(waiter.closed), PATIENCE)
        except TimeoutError:
            raise ApiError("unavailable", "The answer was taken but is not stored yet. Look again soon.") from None

    async def _delivered(self, waiter: Waiter, delivery: Awaitable[None]) -> None:
        try:
            await delivery
        except BaseException:
            waiter.answer = asyncio.get_running_loop().create_future()  # it was not heard: it can be given again
            raise

    def settled(self, closed: InteractionClosed) -> None:
        """The log says an interaction is over, by whomever."""
        outcome = InteractionOutcome(closed.id, closed.outcome, closed.by, closed.message)
        self._outcomes[closed.id] = outcome
        if len(self._outcomes) > REMEMBERED:
            del self._outcomes[next(iter(self._outcomes))]
        waiter = self._waiting.pop(closed.id, None)
        if waiter is not None and not waiter.closed.done():
            waiter.closed.set_result(outcome)

    def withdraw(self, session_id: str) -> None:
        """The worker of a session is gone: nobody waits for its answers any more."""
        for id, waiter in tuple(self._waiting.items()):
            if waiter.session_id == session_id:
                del self._waiting[id]
                waiter.answer.cancel()

    def opened(self, id: str) -> InteractionOpened | None:
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

    async def too_late(self, id: str) -> ApiError:
        """What to tell somebody whose answer nobody waits for."""
        waiter = self._waiting.get(id)
        if waiter is not None and id not in self._outcomes:
            await asyncio.wait([waiter.closed], timeout=PATIENCE)
        outcome = self._outcomes.get(id)
        if outcome is None:
            return ApiError("not_found", "Nobody waits for this answer: it was withdrawn, or never asked.")
        who = f" by {outcome.by}" if outcome.by else ""
        return ApiError("already_answered", f"This was already {outcome.outcome}{who}.", outcome=outcome)


def answer_of(opened: InteractionOpened, decision: Decision, reach: Reach, by: str, **given: Any) -> Answer:
    """A person's decision as the engine takes it. `given` are more fields of a verdict."""
    if decision == "deny":
        return Answer(False, given.get("reason") or "", interrupt=bool(given.get("interrupt")), by=by)
    input = given.get("input")
    if given.get("answers") is not None:
        input = {**opened.call.input, "answers": given["answers"]}
    updates = () if reach == "once" else lasting(opened, reach)
    if given.get("mode"):
        updates = (*updates, {"type": "setMode", "mode": given["mode"], "destination": "session"})
    return Answer(True, given.get("reason") or "", input=input, updates=updates, by=by)


def lasting(opened: InteractionOpened, reach: Reach) -> tuple[dict[str, Any], ...]:
    """The narrowest suggestion that came with the question, stored where `reach` says."""
    for suggestion in opened.suggestions:
        if suggestion.get("type") == "addRules":
            return ({**suggestion, "destination": DESTINATIONS[reach]},)
    return tuple({**suggestion, "destination": DESTINATIONS[reach]} for suggestion in opened.suggestions[:1])
