"""Auto mode: an advisor answers permission requests, and leaves those it cannot decide to the person.

The advisor is asked only where no rule decided. Calls that a rule sends to a person, that touch a protected path, that
would remove a system or home directory, or that are themselves questions to a person never reach it.
"""

from collections.abc import Callable
from typing import Any, Literal, Protocol, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from bobstay.model.event import Advised, BlockDone, Event, InteractionClosed, Prompted, TurnStarted
from bobstay.model.message import ToolCall, Usage, text_of
from bobstay.permissions.access import Access, PolicyDecision

AdvisedDecision: TypeAlias = Literal["allow", "deny", "ask"]

MOST_DENIALS = 3
"""Refusals in a row that end a turn: the model is then working on something nobody asked for."""


class AdvisorQuestion(Struct, frozen=True):
    """All an advisor is given. Nothing in it comes from a tool's output or a file: those may try to influence it."""

    tool: str
    input: dict[str, Any]
    accesses: tuple[Access, ...]
    why: str
    """Why a person would be asked."""
    prompts: tuple[str, ...]
    """The person's prompts in this session, in order."""


class Advice(Struct, frozen=True):
    decision: AdvisedDecision
    reason: str = ""
    failed: bool = False
    """There was no usable answer; the decision is then `ask`."""
    model: str = ""
    usage: Usage = Usage()
    cost: float = 0.0
    api_ms: int = 0

    def event(self, call_id: str) -> Advised:
        return Advised(
            call_id,
            self.decision,
            self.reason,
            failed=self.failed,
            model=self.model,
            usage=self.usage,
            cost=self.cost,
            api_ms=self.api_ms,
        )


class Advisor(Protocol):
    async def advise(self, question: AdvisorQuestion) -> Advice:
        """Judge one call. Raises nothing but cancellation: an error becomes an `ask` with the reason."""
        ...


class AutoModeApproval:
    """An advisor with its state, kept up to date by `apply`, which gets each event as it is stored."""

    def __init__(self, make: Callable[[], Advisor]) -> None:
        """`make` creates the advisor when it is first needed: most sessions never need it."""
        self._make = make
        self._advisor: Advisor | None = None
        self._prompts: list[str] = []
        self.denials = 0
        """Answers of the model in a row with a call that the advisor refused."""
        self._answers: dict[str, str] = {}
        """The id of the answer each call of this turn came with, by call id."""
        self._refused_in = ""

    @property
    def advisor(self) -> Advisor:
        if self._advisor is None:
            self._advisor = self._make()
        return self._advisor

    async def advise(
        self, tool: str, input: dict[str, Any], accesses: tuple[Access, ...], decision: PolicyDecision
    ) -> Advice:
        """Ask the advisor about a call; `decision` says why a person would be asked."""
        return await self.advisor.advise(AdvisorQuestion(tool, input, accesses, decision.why, tuple(self._prompts)))

    def count_approval(self) -> None:
        self.denials = 0

    def count_refusal(self, call_id: str) -> int:
        """Count a refusal, once per answer: the model could not know of the first when it made the other calls."""
        answer = self._answers.get(call_id, call_id)
        if answer != self._refused_in:
            self._refused_in = answer
            self.denials += 1
        return self.denials

    def apply(self, event: Event) -> None:
        if isinstance(event, Prompted):
            if event.origin == "human" and not event.blocked:
                self._prompts.append(text_of(event.blocks))
        elif isinstance(event, BlockDone):
            if isinstance(event.block, ToolCall):
                self._answers[event.block.id] = event.message_id
        elif isinstance(event, TurnStarted):
            self.denials = 0
            self._answers.clear()
        elif isinstance(event, InteractionClosed) and event.outcome == "allowed":
            self.denials = 0


def may_advise(mode: str, interaction: str, decision: PolicyDecision, accesses: tuple[Access, ...]) -> bool:
    """Whether an advisor may decide about a call that a person would be asked about."""
    return (
        mode == "auto"
        and decision.reason_type == "default"
        and interaction == "permission"
        and not any(access.kind == "person" for access in accesses)
    )


def escalate(decision: PolicyDecision, advice: Advice) -> PolicyDecision:
    """The decision to put before a person after the advisor left it open."""
    return replace(decision, why=f"{decision.why} Auto mode leaves it to you: {advice.reason}".strip())


def stopping_reason(tool: str, advice: Advice, denials: int) -> str:
    """Why the turn ends after so many refusals."""
    return (
        f"Stopped: auto mode refused {denials} calls in a row. The last was {tool}: {advice.reason} "
        "Say what may be done, allow it by a rule, or go on in another permission mode."
    )


def refusal_text(tool: str, advice: Advice, decision: PolicyDecision) -> str:
    """What the model reads about a call that the advisor refused, or left open with nobody to ask."""
    if advice.decision == "deny":
        return (
            f"Auto mode does not allow this use of {tool}: {advice.reason} "
            "Do not try the same by another way. Go on with what is allowed, or say what permission is needed."
        )
    return (
        f"Permission to use {tool} was not granted, and nobody is here to ask. {decision.why} {advice.reason} "
        "Go on without it, or say what permission is needed."
    )
