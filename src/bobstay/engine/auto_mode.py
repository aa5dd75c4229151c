"""Auto mode: what a person would be asked about is judged by an advisor first, and failing that by the person.

An advisor can only answer where the rules left a question open. What a rule wants asked, what touches a protected path,
what would remove a system or a home, and what exists to be put before a person never reaches it.
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

Word: TypeAlias = Literal["allow", "deny", "ask"]

MOST_DENIALS = 3
"""Refusals in a row that end a turn: a model that is told no so often works on something nobody wanted."""


class AdvisorQuestion(Struct, frozen=True):
    """All an advisor is told. Nothing in it comes from a tool's output or a file: those may want to talk to it."""

    tool: str
    input: dict[str, Any]
    accesses: tuple[Access, ...]
    why: str
    """Why a person would be asked."""
    words: tuple[str, ...]
    """What the person said in this session, in order."""


class Advice(Struct, frozen=True):
    verdict: Word
    reason: str = ""
    failed: bool = False
    """No usable answer came; the verdict is then `ask`."""
    model: str = ""
    usage: Usage = Usage()
    cost: float = 0.0
    api_ms: int = 0


class Advisor(Protocol):
    async def advise(self, question: AdvisorQuestion) -> Advice:
        """Judge one call. Never raises but for cancellation: what goes wrong is an `ask` that says so."""
        ...


class AutoModeApproval:
    """An advisor with the memory it needs. Follows the log: `apply` sees each event as it is stored."""

    def __init__(self, make: Callable[[], Advisor]) -> None:
        """`make` gives the advisor when it is first needed: most sessions never do."""
        self._make = make
        self._advisor: Advisor | None = None
        self.words: list[str] = []
        self.denials = 0
        """Answers of the model in a row of which the advisor refused something."""
        self._answers: dict[str, str] = {}
        """By call of this turn: the answer it came with."""
        self._refused_in = ""

    @property
    def advisor(self) -> Advisor:
        if self._advisor is None:
            self._advisor = self._make()
        return self._advisor

    def refused(self, call_id: str) -> int:
        """Count a refusal, once for all calls that came together: the model could not know of the first yet."""
        answer = self._answers.get(call_id, call_id)
        if answer != self._refused_in:
            self._refused_in = answer
            self.denials += 1
        return self.denials

    def apply(self, event: Event) -> None:
        if isinstance(event, Prompted):
            if event.origin == "human" and not event.blocked:
                self.words.append(text_of(event.blocks))
        elif isinstance(event, BlockDone):
            if isinstance(event.block, ToolCall):
                self._answers[event.block.id] = event.message_id
        elif isinstance(event, TurnStarted):
            self.denials = 0
            self._answers.clear()
        elif isinstance(event, InteractionClosed) and event.outcome == "allowed":
            self.denials = 0


def judges(settlement: "CallPipeline", decision: PolicyDecision, accesses: tuple[Access, ...]) -> bool:
    """Whether the advisor may be asked about a call that would be put to a person."""
    prepared, toolbox = settlement.prepared, settlement.toolbox
    return (
        toolbox.auto is not None
        and toolbox.judge.mode == "auto"
        and decision.reason_type == "default"
        and prepared is not None
        and prepared.tool.interaction == "permission"
        and not any(access.kind == "person" for access in accesses)
    )


async def judged(
    settlement: "CallPipeline", decision: PolicyDecision, accesses: tuple[Access, ...]
) -> AsyncIterator[Event]:
    """Ask the advisor. Sets `settlement.decided` if it allows the call; leaves it alone if a person shall decide.

    Raises:
        Refused: it said no, or it did not say yes and nobody is there to ask.
    """
    from bobstay.engine.toolbox import Refused

    prepared, auto = settlement.prepared, settlement.toolbox.auto
    assert prepared is not None
    assert auto is not None
    tool = prepared.tool.name
    advice = await auto.advisor.advise(AdvisorQuestion(tool, prepared.input, accesses, decision.why, tuple(auto.words)))
    settlement.advice = advice
    yield Advised(
        settlement.call.id,
        advice.verdict,
        advice.reason,
        failed=advice.failed,
        model=advice.model,
        usage=advice.usage,
        cost=advice.cost,
        api_ms=advice.api_ms,
    )
    if advice.verdict == "allow":
        auto.denials = 0
        settlement.decided = Decided("accept", "auto", "classifier", advice.reason)
        return
    hooks = settlement.toolbox.hooks
    if advice.verdict == "ask" and (settlement.toolbox.gate.can_ask or hooks.wants("PermissionRequest", tool)):
        return
    settlement.decided = Decided("reject", "auto", "classifier", advice.reason)
    if advice.verdict == "deny" and auto.refused(settlement.call.id) >= MOST_DENIALS:
        settlement.ending = "auto_denied"
        settlement.reason = (
            f"Stopped: auto mode refused {auto.denials} calls in a row. The last was {tool}: {advice.reason} "
            "Say what may be done, allow it by a rule, or go on in another permission mode."
        )
    raise Refused(_refusal(tool, advice, decision))


def put_to_a_person(settlement: "CallPipeline", decision: PolicyDecision) -> PolicyDecision:
    """The question as a person is asked it after the advisor left it open."""
    reason = settlement.advice.reason if settlement.advice is not None else ""
    return replace(decision, why=f"{decision.why} Auto mode leaves it to you: {reason}".strip())


def _refusal(tool: str, advice: Advice, decision: PolicyDecision) -> str:
    if advice.verdict == "deny":
        return (
            f"Auto mode does not allow this use of {tool}: {advice.reason} "
            "Do not try the same by another way. Go on with what is allowed, or say what permission is needed."
        )
    return (
        f"Permission to use {tool} was not granted, and nobody is here to ask. {decision.why} {advice.reason} "
        "Go on without it, or say what permission is needed."
    )
