"""The fourth phase of a call: may it run? Rules decide, and where they do not, a person does.

The order is: hooks, deny, ask, allow, mode, person. A hook's allow never overrides a deny or ask rule.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any, Literal

from msgspec.structs import replace

from bobstay.engine import auto_mode
from bobstay.engine.engine_ports import Answer
from bobstay.engine.event_redaction import conceal
from bobstay.engine.toolbox import Refused
from bobstay.engine.turn_hooks import messages_of
from bobstay.hooks.hook_event import HookCall, HookOutcome
from bobstay.model.event import (
    Decided,
    Event,
    HookRan,
    InteractionClosed,
    InteractionOpened,
    ModeChanged,
    Noted,
    PermissionsChanged,
)
from bobstay.model.ids import new_id
from bobstay.model.message import ToolCall
from bobstay.permissions.access import Effect, PolicyDecision
from bobstay.permissions.rule_updates import defect

if TYPE_CHECKING:
    from bobstay.engine.pipeline import CallPipeline


async def obtain(settlement: "CallPipeline") -> AsyncIterator[Event]:
    """Return quietly if the call may run.

    Raises:
        Refused: it may not; the text is for the model.
    """
    prepared, toolbox = settlement.prepared, settlement.toolbox
    assert prepared is not None
    tool = prepared.tool.name
    accesses = prepared.tool.access(prepared.args, prepared.context)
    decision = toolbox.judge.judge(tool, accesses, prepared.input, read_only=prepared.read_only)
    decision = _with_hook(settlement, decision)
    past = settlement.past.opened
    if past is not None and past.call.input != toolbox.mask.value(prepared.input):
        # What a person was shown before a crash is not what would run now: they are shown that.
        yield InteractionClosed(past.id, "cancelled", "its input changed", "restart")
        settlement.past, past = replace(settlement.past, opened=None), None
    if settlement.past.granted is not None and decision.verdict is not Effect.DENY:
        _granted_before(settlement, settlement.past.granted)
        return
    if decision.verdict is Effect.ALLOW:
        if past is not None:
            yield InteractionClosed(past.id, "allowed", decision.why, "rule")
        settlement.decided = Decided("accept", decision.source or "config", decision.reason_type, decision.why)
        return
    if decision.verdict is Effect.DENY:
        if past is not None:
            yield InteractionClosed(past.id, "denied", decision.why, "rule")
        settlement.decided = Decided("reject", decision.source or "config", decision.reason_type, decision.why)
        raise Refused(decision.why or f"Permission to use {tool} was denied.")
    if past is None and auto_mode.judges(settlement, decision, accesses):
        async for event in auto_mode.judged(settlement, decision, accesses):
            yield event
        if settlement.decided is not None:
            return
        decision = auto_mode.put_to_a_person(settlement, decision)
    if toolbox.gate.can_ask:
        async for event in _asked(settlement, decision, accesses):
            yield event
        return
    async for event in _asked_of_hooks(settlement, decision, accesses):
        yield event


def _with_hook(settlement: "CallPipeline", decision: PolicyDecision) -> PolicyDecision:
    hooked = settlement.hooked
    asks_a_person = settlement.prepared is not None and settlement.prepared.tool.interaction != "permission"
    lifts = decision.verdict is Effect.ASK and decision.reason_type not in ("rule", "safety") and not asks_a_person
    if hooked.decision == "allow" and lifts:
        return PolicyDecision(Effect.ALLOW, hooked.reason or "a hook allowed it", "hook", "hook")
    if hooked.decision == "ask" and decision.verdict is not Effect.DENY:
        return PolicyDecision(Effect.ASK, hooked.reason, "hook", "hook")
    return decision


async def _asked(
    settlement: "CallPipeline", decision: PolicyDecision, accesses: tuple[Any, ...]
) -> AsyncIterator[Event]:
    """Put the call to a person; a hook may answer first."""
    toolbox = settlement.toolbox
    opened = settlement.past.opened or _question(settlement, decision, accesses)
    # The answer may bring the input back as it was shown; what is run is what was judged all the same.
    opened = conceal(opened, toolbox.mask)
    settlement.open_interaction = opened.id
    if settlement.past.opened is None:
        yield opened
    notified = _notify(settlement, opened)
    hook = _HookAnswer(settlement, opened, decision, accesses)
    answer = await _first_answer(settlement, opened, hook)
    settlement.open_interaction = ""
    told = [*hook.messages, *(messages_of(notified.result()) if notified and notified.done() else ())]
    for note in told:
        yield note
    changed = _changed_input(settlement, opened, answer)
    kept = None if changed is None else toolbox.mask.value(changed)
    outcome: Literal["allowed", "denied"] = "allowed" if answer.allow else "denied"
    yield InteractionClosed(opened.id, outcome, answer.message, answer.by, kept)
    for event in _settled(settlement, answer, changed, stopped=hook.stopped):
        yield event


async def _asked_of_hooks(
    settlement: "CallPipeline", decision: PolicyDecision, accesses: tuple[Any, ...]
) -> AsyncIterator[Event]:
    """Nobody is there to ask: a hook may decide alone, and without one the call is refused."""
    prepared = settlement.prepared
    assert prepared is not None
    tool = prepared.tool.name
    opened = conceal(_question(settlement, decision, accesses), settlement.toolbox.mask)
    hook = _HookAnswer(settlement, opened, decision, accesses)
    answer = await hook.wait() if hook.wanted else None
    if hook.wanted:
        word = "none" if answer is None else "allow" if answer.allow else "deny"
        yield HookRan(f"PermissionRequest:{tool}", "PermissionRequest", word, answer.message if answer else "")
    for note in hook.messages:
        yield note
    if answer is not None:
        changed = _changed_input(settlement, opened, answer)
        for event in _settled(settlement, answer, changed, stopped=hook.stopped):
            yield event
        return
    settlement.decided = Decided("reject", "config", decision.reason_type or "default", decision.why)
    raise Refused(
        f"Permission to use {tool} was not granted, and nobody is here to ask. {decision.why} "
        "Go on without it, or say what permission is needed."
    )


def _question(settlement: "CallPipeline", decision: PolicyDecision, accesses: tuple[Any, ...]) -> InteractionOpened:
    prepared, judge = settlement.prepared, settlement.toolbox.judge
    assert prepared is not None
    tool = prepared.tool
    return InteractionOpened(
        new_id(),
        tool.interaction,
        ToolCall(settlement.call.id, tool.name, prepared.input),
        reason=decision.why,
        reason_type=decision.reason_type,
        suggestions=judge.suggest(tool.name, accesses, prepared.input),
        blocked_path=decision.blocked_path,
        description=str(prepared.input.get("description", ""))[:500],
        destructive=tool.destructive(prepared.args, prepared.context),
    )


def _notify(settlement: "CallPipeline", opened: InteractionOpened) -> "asyncio.Task[HookOutcome] | None":
    """Let hooks tell the person, wherever they are, that somebody waits for them."""
    toolbox = settlement.toolbox
    kind = "elicitation_dialog" if opened.kind == "question" else "permission_prompt"
    if not toolbox.hooks.wants("Notification", kind):
        return None
    what = "an answer from you" if opened.kind == "question" else f"your permission to use {opened.call.name}"
    fields = {"message": f"bobstay needs {what}", "notification_type": kind}
    return toolbox.hooks_aside(HookCall("Notification", {**toolbox.facts(), **fields}, kind))


def _changed_input(settlement: "CallPipeline", opened: InteractionOpened, answer: Answer) -> dict[str, Any] | None:
    assert settlement.prepared is not None
    return answer.input if answer.input not in (None, settlement.prepared.input, opened.call.input) else None


def _settled(
    settlement: "CallPipeline", answer: Answer, changed: dict[str, Any] | None, *, stopped: bool
) -> Iterator[Event]:
    """What an answer means for the call. Raises `Refused` if it may not run."""
    assert settlement.prepared is not None
    tool, hooked = settlement.prepared.tool, answer.by == "hook"
    if not answer.allow:
        source, kind = ("hook", "hook") if hooked else ("user_temporary", "")
        settlement.decided = Decided("reject", source, kind, answer.message)
        why = answer.message or f"The user does not want {tool.name} to run with this input. Ask what to do instead."
        if stopped:
            settlement.ending, settlement.reason = "hook_stopped", answer.message
        elif answer.interrupt:
            settlement.ending = "interrupt"
        raise Refused(why)
    lasting = any(update.get("destination", "session") != "session" for update in answer.updates)
    by_person = Decided("accept", "user_permanent" if lasting else "user_temporary")
    settlement.decided = Decided("accept", "hook", "hook", answer.message) if hooked else by_person
    yield from _changes(answer)
    if changed is not None:
        settlement.rewrite(changed)
        _still_permitted(settlement, by_hook=hooked)


def _granted_before(settlement: "CallPipeline", closed: InteractionClosed) -> None:
    """A person allowed this call before a crash: they are not asked twice, and what they saw is what runs."""
    assert settlement.prepared is not None
    settlement.decided = Decided("accept", "user_temporary")
    if closed.input is not None and closed.input != settlement.prepared.input:
        settlement.rewrite(closed.input)
        _still_permitted(settlement)


def _still_permitted(settlement: "CallPipeline", *, by_hook: bool = False) -> None:
    """An answer may change the input, but not into what a rule forbids, nor, by a hook, into what only people allow."""
    prepared, judge = settlement.prepared, settlement.toolbox.judge
    assert prepared is not None
    accesses = prepared.tool.access(prepared.args, prepared.context)
    decision = judge.judge(prepared.tool.name, accesses, prepared.input, read_only=prepared.read_only)
    for_people = by_hook and decision.verdict is Effect.ASK and decision.reason_type == "safety"
    if for_people or (decision.verdict is Effect.DENY and decision.reason_type in ("rule", "safety")):
        settlement.decided = Decided("reject", decision.source, decision.reason_type, decision.why)
        raise Refused(decision.why)


async def _first_answer(settlement: "CallPipeline", opened: InteractionOpened, hook: "_HookAnswer") -> Answer:
    """The person's answer, or that of a hook which decides in their place, whichever comes first."""
    gate = settlement.toolbox.gate
    if not hook.wanted:
        return await gate.ask(opened)
    person = asyncio.ensure_future(gate.ask(opened))
    deputy = asyncio.ensure_future(hook.wait())
    try:
        await asyncio.wait([person, deputy], return_when=asyncio.FIRST_COMPLETED)
        if deputy.done() and not person.done():
            decided = deputy.result()
            if decided is not None:
                return decided
        return await person
    finally:
        for task in (person, deputy):
            task.cancel()
        await asyncio.wait([person, deputy])


class _HookAnswer:
    """What PermissionRequest hooks answer in a person's place."""

    def __init__(
        self, settlement: "CallPipeline", opened: InteractionOpened, decision: PolicyDecision, accesses: tuple[Any, ...]
    ) -> None:
        self._settlement = settlement
        self._opened = opened
        self._for_people = decision.reason_type == "safety"
        """A hook may refuse what cannot be judged or is protected, but only a person may allow it."""
        leaves = any(access.kind == "outside" for access in accesses)
        self.wanted = not leaves and settlement.toolbox.hooks.wants("PermissionRequest", opened.call.name)
        self.messages: list[Noted] = []
        self.stopped = False

    async def wait(self) -> Answer | None:
        """None if they leave it to others."""
        suggestions = list(self._opened.suggestions)
        call = self._settlement.hook_call("PermissionRequest", permission_suggestions=suggestions)
        call = replace(call, fields={**call.fields, "tool_input": self._opened.call.input})
        outcome = await self._settlement.toolbox.hooks.run(call)
        self.messages = messages_of(outcome)
        if outcome.stop:
            self.stopped = True
            return Answer(False, outcome.stop_reason or "A hook stopped the run.", by="hook")
        given = outcome.permission or {}
        if given.get("behavior") == "deny":
            return Answer(False, str(given.get("message", "")), interrupt=given.get("interrupt") is True, by="hook")
        if given.get("behavior") != "allow" or self._for_people:
            return None
        input_, updates = given.get("updatedInput"), given.get("updatedPermissions")
        return Answer(
            True,
            input=input_ if isinstance(input_, dict) else None,
            updates=tuple(each for each in updates if isinstance(each, dict)) if isinstance(updates, list) else (),
            by="hook",
        )


def _changes(answer: Answer) -> list[Event]:
    """What the answer changes beyond this call: rules and directories, and the mode apart."""
    sound = [update for update in answer.updates if not defect(update)]
    rules = tuple(update for update in sound if update["type"] != "setMode")
    events: list[Event] = [Noted(f"A permission update was not taken: {why}", "warning") for why in _defects(answer)]
    if rules:
        events.append(PermissionsChanged(rules))
    events.extend(ModeChanged(str(update["mode"])) for update in sound if update["type"] == "setMode")
    return events


def _defects(answer: Answer) -> list[str]:
    return [why for update in answer.updates if (why := defect(update))]
