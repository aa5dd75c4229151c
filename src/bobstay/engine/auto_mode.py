"""Auto mode: an advisor answers permission requests, and leaves those it cannot decide to the person.

The advisor is asked only where no rule decided. Calls that a rule sends to a person, that touch a protected path, that
would remove a system or home directory, or that are themselves questions to a person never reach it.
"""

from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from bobstay.model.event import Advised, BlockDone, Decided, Event, InteractionClosed, Prompted, TurnStarted
from bobstay.model.message import ToolCall, Usage, text_of
from bobstay.permissions.access import Access, PolicyDecision

if TYPE_CHECKING:
    from bobstay.engine.pipeline import CallPipeline

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
        self.prompts: list[str] = []
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
                self.prompts.append(text_of(event.blocks))
        elif isinstance(event, BlockDone):
            if isinstance(event.block, ToolCall):
                self._answers[event.block.id] = event.message_id
        elif isinstance(event, TurnStarted):
            self.denials = 0
            self._answers.clear()
        elif isinstance(event, InteractionClosed) and event.outcome == "allowed":
            self.denials = 0


def can_judge(pipeline: "CallPipeline", decision: PolicyDecision, accesses: tuple[Access, ...]) -> bool:
    """Whether the advisor may decide about a call that a person would be asked about."""
    prepared, toolbox = pipeline.prepared, pipeline.toolbox
    return (
        toolbox.auto is not None
        and toolbox.judge.mode == "auto"
        and decision.reason_type == "default"
        and prepared is not None
        and prepared.tool.interaction == "permission"
        and not any(access.kind == "person" for access in accesses)
    )


async def ask_advisor(
    pipeline: "CallPipeline", decision: PolicyDecision, accesses: tuple[Access, ...]
) -> AsyncIterator[Event]:
    """Ask the advisor. Sets `pipeline.decided` if it allows the call; leaves it unset if a person is to decide.

    Raises:
        Refused: it denied the call, or left it open and there is nobody to ask.
    """
    from bobstay.engine.toolbox import Refused

    prepared, auto = pipeline.prepared, pipeline.toolbox.auto
    assert prepared is not None
    assert auto is not None
    tool = prepared.tool.name
    advice = await auto.advisor.advise(
        AdvisorQuestion(tool, prepared.input, accesses, decision.why, tuple(auto.prompts))
    )
    pipeline.advice = advice
    yield Advised(
        pipeline.call.id,
        advice.decision,
        advice.reason,
        failed=advice.failed,
        model=advice.model,
        usage=advice.usage,
        cost=advice.cost,
        api_ms=advice.api_ms,
    )
    if advice.decision == "allow":
        auto.denials = 0
        pipeline.decided = Decided("accept", "auto", "classifier", advice.reason)
        return
    hooks = pipeline.toolbox.hooks
    if advice.decision == "ask" and (pipeline.toolbox.approver.can_ask or hooks.wants("PermissionRequest", tool)):
        return
    pipeline.decided = Decided("reject", "auto", "classifier", advice.reason)
    if advice.decision == "deny" and auto.count_refusal(pipeline.call.id) >= MOST_DENIALS:
        pipeline.ending = "auto_denied"
        pipeline.reason = (
            f"Stopped: auto mode refused {auto.denials} calls in a row. The last was {tool}: {advice.reason} "
            "Say what may be done, allow it by a rule, or go on in another permission mode."
        )
    raise Refused(_refusal(tool, advice, decision))


def escalate(pipeline: "CallPipeline", decision: PolicyDecision) -> PolicyDecision:
    """The decision to put before a person after the advisor left it open."""
    reason = pipeline.advice.reason if pipeline.advice is not None else ""
    return replace(decision, why=f"{decision.why} Auto mode leaves it to you: {reason}".strip())


def _refusal(tool: str, advice: Advice, decision: PolicyDecision) -> str:
    if advice.decision == "deny":
        return (
            f"Auto mode does not allow this use of {tool}: {advice.reason} "
            "Do not try the same by another way. Go on with what is allowed, or say what permission is needed."
        )
    return (
        f"Permission to use {tool} was not granted, and nobody is here to ask. {decision.why} {advice.reason} "
        "Go on without it, or say what permission is needed."
    )
