"""The fourth phase of a call: may it run? Rules decide, and where they do not, a person does.

The order is: hooks, deny, ask, allow, mode, person. A hook's allow never overrides a deny or ask rule.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, Literal

from msgspec.structs import replace

from bobstay.engine import auto
from bobstay.engine.conceal import conceal
from bobstay.engine.ports import Answer
from bobstay.engine.toolbox import Refused
from bobstay.hooks.event import HookCall
from bobstay.model.event import (
    Decided,
    Event,
    InteractionClosed,
    InteractionOpened,
    ModeChanged,
    Noted,
    PermissionsChanged,
)
from bobstay.model.ids import new_id
from bobstay.model.message import ToolCall
from bobstay.permissions.access import Decision, Verdict
from bobstay.permissions.updates import defect

if TYPE_CHECKING:
    from bobstay.engine.pipeline import Settlement


async def obtain(settlement: "Settlement") -> AsyncIterator[Event]:
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
    if settlement.past.granted is not None and decision.verdict is not Verdict.DENY:
        _granted_before(settlement, settlement.past.granted)
        return
    if decision.verdict is Verdict.ALLOW:
        if past is not None:
            yield InteractionClosed(past.id, "allowed", decision.why, "rule")
        settlement.decided = Decided("accept", decision.source or "config", decision.reason_type, decision.why)
        return
    if decision.verdict is Verdict.DENY:
        if past is not None:
            yield InteractionClosed(past.id, "denied", decision.why, "rule")
        settlement.decided = Decided("reject", decision.source or "config", decision.reason_type, decision.why)
        raise Refused(decision.why or f"Permission to use {tool} was denied.")
    if past is None and auto.judges(settlement, decision, accesses):
        async for event in auto.judged(settlement, decision, accesses):
            yield event
        if settlement.decided is not None:
            return
        decision = auto.put_to_a_person(settlement, decision)
    if not toolbox.gate.can_ask:
        settlement.decided = Decided("reject", "config", decision.reason_type or "default", decision.why)
        raise Refused(
            f"Permission to use {tool} was not granted, and nobody is here to ask. {decision.why} "
            "Go on without it, or say what permission is needed."
        )
    async for event in _asked(settlement, decision, accesses):
        yield event


def _with_hook(settlement: "Settlement", decision: Decision) -> Decision:
    hooked = settlement.hooked
    asks_a_person = settlement.prepared is not None and settlement.prepared.tool.interaction != "permission"
    lifts = decision.verdict is Verdict.ASK and decision.reason_type not in ("rule", "safety") and not asks_a_person
    if hooked.decision == "allow" and lifts:
        return Decision(Verdict.ALLOW, hooked.reason or "a hook allowed it", "hook", "hook")
    if hooked.decision == "ask" and decision.verdict is not Verdict.DENY:
        return Decision(Verdict.ASK, hooked.reason, "hook", "hook")
    return decision


async def _asked(settlement: "Settlement", decision: Decision, accesses: tuple[Any, ...]) -> AsyncIterator[Event]:
    prepared, toolbox = settlement.prepared, settlement.toolbox
    assert prepared is not None
    tool = prepared.tool
    opened = settlement.past.opened or InteractionOpened(
        new_id(),
        tool.interaction,
        ToolCall(settlement.call.id, tool.name, prepared.input),
        reason=decision.why,
        reason_type=decision.reason_type,
        suggestions=toolbox.judge.suggest(tool.name, accesses, prepared.input),
        blocked_path=decision.blocked_path,
        description=str(prepared.input.get("description", ""))[:500],
    )
    # The answer may bring the input back as it was shown; what is run is what was judged all the same.
    opened = conceal(opened, toolbox.mask)
    settlement.open_interaction = opened.id
    if settlement.past.opened is None:
        yield opened
    leaves = any(access.kind == "outside" for access in accesses)
    answer = await (toolbox.gate.ask(opened) if leaves else _first_answer(settlement, opened))
    settlement.open_interaction = ""
    changed = answer.input if answer.input not in (None, prepared.input, opened.call.input) else None
    kept = None if changed is None else toolbox.mask.value(changed)
    outcome: Literal["allowed", "denied"] = "allowed" if answer.allow else "denied"
    yield InteractionClosed(opened.id, outcome, answer.message, answer.by, kept)
    if not answer.allow:
        settlement.decided = Decided("reject", "user_temporary", "", answer.message)
        why = answer.message or f"The user does not want {tool.name} to run with this input. Ask what to do instead."
        if answer.interrupt:
            settlement.ending = "interrupt"
        raise Refused(why)
    lasting = any(update.get("destination", "session") != "session" for update in answer.updates)
    settlement.decided = Decided("accept", "user_permanent" if lasting else "user_temporary")
    for event in _changes(answer):
        yield event
    if changed is not None:
        settlement.rewrite(changed)
        _still_permitted(settlement)


def _granted_before(settlement: "Settlement", closed: InteractionClosed) -> None:
    """A person allowed this call before a crash: they are not asked twice, and what they saw is what runs."""
    assert settlement.prepared is not None
    settlement.decided = Decided("accept", "user_temporary")
    if closed.input is not None and closed.input != settlement.prepared.input:
        settlement.rewrite(closed.input)
        _still_permitted(settlement)


def _still_permitted(settlement: "Settlement") -> None:
    """A person may change the input, but not into something a rule forbids."""
    prepared, judge = settlement.prepared, settlement.toolbox.judge
    assert prepared is not None
    accesses = prepared.tool.access(prepared.args, prepared.context)
    decision = judge.judge(prepared.tool.name, accesses, prepared.input, read_only=prepared.read_only)
    if decision.verdict is Verdict.DENY and decision.reason_type in ("rule", "safety"):
        settlement.decided = Decided("reject", decision.source, decision.reason_type, decision.why)
        raise Refused(decision.why)


async def _first_answer(settlement: "Settlement", opened: InteractionOpened) -> Answer:
    """The person's answer, or that of a hook which decides in their place, whichever comes first."""
    toolbox = settlement.toolbox
    if not toolbox.hooks.wants("PermissionRequest", opened.call.name):
        return await toolbox.gate.ask(opened)
    person = asyncio.ensure_future(toolbox.gate.ask(opened))
    hook = asyncio.ensure_future(_hook_answer(settlement, opened))
    try:
        await asyncio.wait([person, hook], return_when=asyncio.FIRST_COMPLETED)
        if hook.done() and not person.done():
            decided = hook.result()
            if decided is not None:
                return decided
        return await person
    finally:
        for task in (person, hook):
            task.cancel()
        await asyncio.wait([person, hook])


async def _hook_answer(settlement: "Settlement", opened: InteractionOpened) -> Answer | None:
    fields = {
        "tool_name": opened.call.name,
        "tool_input": opened.call.input,
        "permission_suggestions": list(opened.suggestions),
    }
    call = HookCall("PermissionRequest", {**settlement.toolbox.facts(), **fields}, opened.call.name, opened.call.id)
    outcome = await settlement.toolbox.hooks.run(call)
    given = outcome.permission
    if not given:
        return None
    if given.get("behavior") == "allow":
        return Answer(
            True, input=given.get("updatedInput"), updates=tuple(given.get("updatedPermissions") or ()), by="hook"
        )
    if given.get("behavior") == "deny":
        return Answer(False, str(given.get("message", "")), interrupt=bool(given.get("interrupt")), by="hook")
    return None


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
