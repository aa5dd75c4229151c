"""Approval, the fourth phase of a call: rules decide whether it may run, and a person decides where they do not.

The order is: hooks, deny, ask, allow, mode, person. A hook's allow never overrides a deny or ask rule.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any, Literal

from msgspec.structs import replace

from bobstay.engine import auto_mode
from bobstay.engine.engine_ports import Answer
from bobstay.engine.event_redaction import redact_event
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
from bobstay.permissions.rule_updates import update_problem

if TYPE_CHECKING:
    from bobstay.engine.pipeline import CallPipeline


async def obtain_approval(pipeline: "CallPipeline") -> AsyncIterator[Event]:
    """Return if the call may run.

    Raises:
        Refused: it may not run; the text is for the model.
    """
    prepared, toolbox = pipeline.prepared, pipeline.toolbox
    assert prepared is not None
    tool = prepared.tool.name
    accesses = prepared.tool.access(prepared.args, prepared.context)
    decision = toolbox.judge.judge(tool, accesses, prepared.input, read_only=prepared.read_only)
    decision = _apply_hook_decision(pipeline, decision)
    prior = pipeline.prior.opened
    if prior is not None and prior.call.input != toolbox.redactor.redact_value(prepared.input):
        # The input differs from what the person was shown before the crash, so they are asked again.
        yield InteractionClosed(prior.id, "cancelled", "its input changed", "restart")
        pipeline.prior, prior = replace(pipeline.prior, opened=None), None
    if pipeline.prior.granted is not None and decision.effect is not Effect.DENY:
        _apply_earlier_grant(pipeline, pipeline.prior.granted)
        return
    if decision.effect is Effect.ALLOW:
        if prior is not None:
            yield InteractionClosed(prior.id, "allowed", decision.why, "rule")
        pipeline.decided = Decided("accept", decision.source or "config", decision.reason_type, decision.why)
        return
    if decision.effect is Effect.DENY:
        if prior is not None:
            yield InteractionClosed(prior.id, "denied", decision.why, "rule")
        pipeline.decided = Decided("reject", decision.source or "config", decision.reason_type, decision.why)
        raise Refused(decision.why or f"Permission to use {tool} was denied.")
    if prior is None and auto_mode.can_judge(pipeline, decision, accesses):
        async for event in auto_mode.ask_advisor(pipeline, decision, accesses):
            yield event
        if pipeline.decided is not None:
            return
        decision = auto_mode.escalate(pipeline, decision)
    if toolbox.approver.can_ask:
        async for event in _ask_person(pipeline, decision, accesses):
            yield event
        return
    async for event in _ask_hooks(pipeline, decision, accesses):
        yield event


def _apply_hook_decision(pipeline: "CallPipeline", decision: PolicyDecision) -> PolicyDecision:
    hooked = pipeline.hooked
    needs_person = pipeline.prepared is not None and pipeline.prepared.tool.interaction != "permission"
    may_allow = decision.effect is Effect.ASK and decision.reason_type not in ("rule", "safety") and not needs_person
    if hooked.decision == "allow" and may_allow:
        return PolicyDecision(Effect.ALLOW, hooked.reason or "a hook allowed it", "hook", "hook")
    if hooked.decision == "ask" and decision.effect is not Effect.DENY:
        return PolicyDecision(Effect.ASK, hooked.reason, "hook", "hook")
    return decision


async def _ask_person(
    pipeline: "CallPipeline", decision: PolicyDecision, accesses: tuple[Any, ...]
) -> AsyncIterator[Event]:
    """Ask a person for approval; a hook may answer first."""
    toolbox = pipeline.toolbox
    opened = pipeline.prior.opened or _build_request(pipeline, decision, accesses)
    # The answer may return the redacted input as it was shown; the call still runs with its real input.
    opened = redact_event(opened, toolbox.redactor)
    pipeline.open_interaction = opened.id
    if pipeline.prior.opened is None:
        yield opened
    notified = _notify(pipeline, opened)
    hook = _HookAnswer(pipeline, opened, decision, accesses)
    answer = await _first_answer(pipeline, opened, hook)
    pipeline.open_interaction = ""
    notes = [*hook.messages, *(messages_of(notified.result()) if notified and notified.done() else ())]
    for note in notes:
        yield note
    changed = _changed_input(pipeline, opened, answer)
    stored = None if changed is None else toolbox.redactor.redact_value(changed)
    outcome: Literal["allowed", "denied"] = "allowed" if answer.allow else "denied"
    yield InteractionClosed(opened.id, outcome, answer.message, answer.by, stored)
    for event in _apply_answer(pipeline, answer, changed, stopped=hook.stopped):
        yield event


async def _ask_hooks(
    pipeline: "CallPipeline", decision: PolicyDecision, accesses: tuple[Any, ...]
) -> AsyncIterator[Event]:
    """Decide by hooks alone, because there is nobody to ask; without a hook's answer the call is refused."""
    prepared = pipeline.prepared
    assert prepared is not None
    tool = prepared.tool.name
    opened = redact_event(_build_request(pipeline, decision, accesses), pipeline.toolbox.redactor)
    hook = _HookAnswer(pipeline, opened, decision, accesses)
    answer = await hook.wait() if hook.wanted else None
    if hook.wanted:
        decided = "none" if answer is None else "allow" if answer.allow else "deny"
        yield HookRan(f"PermissionRequest:{tool}", "PermissionRequest", decided, answer.message if answer else "")
    for note in hook.messages:
        yield note
    if answer is not None:
        changed = _changed_input(pipeline, opened, answer)
        for event in _apply_answer(pipeline, answer, changed, stopped=hook.stopped):
            yield event
        return
    pipeline.decided = Decided("reject", "config", decision.reason_type or "default", decision.why)
    raise Refused(
        f"Permission to use {tool} was not granted, and nobody is here to ask. {decision.why} "
        "Go on without it, or say what permission is needed."
    )


def _build_request(pipeline: "CallPipeline", decision: PolicyDecision, accesses: tuple[Any, ...]) -> InteractionOpened:
    prepared, judge = pipeline.prepared, pipeline.toolbox.judge
    assert prepared is not None
    tool = prepared.tool
    return InteractionOpened(
        new_id(),
        tool.interaction,
        ToolCall(pipeline.call.id, tool.name, prepared.input),
        reason=decision.why,
        reason_type=decision.reason_type,
        suggestions=judge.suggest(tool.name, accesses, prepared.input),
        blocked_path=decision.blocked_path,
        description=str(prepared.input.get("description", ""))[:500],
        destructive=tool.destructive(prepared.args, prepared.context),
    )


def _notify(pipeline: "CallPipeline", opened: InteractionOpened) -> "asyncio.Task[HookOutcome] | None":
    """Run Notification hooks, which tell the person that an answer is needed."""
    toolbox = pipeline.toolbox
    kind = "elicitation_dialog" if opened.kind == "question" else "permission_prompt"
    if not toolbox.hooks.wants("Notification", kind):
        return None
    what = "an answer from you" if opened.kind == "question" else f"your permission to use {opened.call.name}"
    fields = {"message": f"bobstay needs {what}", "notification_type": kind}
    return toolbox.start_hooks(HookCall("Notification", {**toolbox.facts(), **fields}, kind))


def _changed_input(pipeline: "CallPipeline", opened: InteractionOpened, answer: Answer) -> dict[str, Any] | None:
    assert pipeline.prepared is not None
    return answer.input if answer.input not in (None, pipeline.prepared.input, opened.call.input) else None


def _apply_answer(
    pipeline: "CallPipeline", answer: Answer, changed: dict[str, Any] | None, *, stopped: bool
) -> Iterator[Event]:
    """Apply an answer to the call. Raises `Refused` if it may not run."""
    assert pipeline.prepared is not None
    tool, hooked = pipeline.prepared.tool, answer.by == "hook"
    if not answer.allow:
        source, kind = ("hook", "hook") if hooked else ("user_temporary", "")
        pipeline.decided = Decided("reject", source, kind, answer.message)
        why = answer.message or f"The user does not want {tool.name} to run with this input. Ask what to do instead."
        if stopped:
            pipeline.ending, pipeline.reason = "hook_stopped", answer.message
        elif answer.interrupt:
            pipeline.ending = "interrupt"
        raise Refused(why)
    lasting = any(update.get("destination", "session") != "session" for update in answer.updates)
    by_person = Decided("accept", "user_permanent" if lasting else "user_temporary")
    pipeline.decided = Decided("accept", "hook", "hook", answer.message) if hooked else by_person
    yield from _permission_events(answer)
    if changed is not None:
        pipeline.rewrite(changed)
        _check_still_permitted(pipeline, by_hook=hooked)


def _apply_earlier_grant(pipeline: "CallPipeline", closed: InteractionClosed) -> None:
    """Apply a person's approval from before a crash: the call runs with the input they saw."""
    assert pipeline.prepared is not None
    pipeline.decided = Decided("accept", "user_temporary")
    if closed.input is not None and closed.input != pipeline.prepared.input:
        pipeline.rewrite(closed.input)
        _check_still_permitted(pipeline)


def _check_still_permitted(pipeline: "CallPipeline", *, by_hook: bool = False) -> None:
    """Refuse a changed input that a rule forbids, or that a hook supplied although only people may allow it."""
    prepared, judge = pipeline.prepared, pipeline.toolbox.judge
    assert prepared is not None
    accesses = prepared.tool.access(prepared.args, prepared.context)
    decision = judge.judge(prepared.tool.name, accesses, prepared.input, read_only=prepared.read_only)
    for_people = by_hook and decision.effect is Effect.ASK and decision.reason_type == "safety"
    if for_people or (decision.effect is Effect.DENY and decision.reason_type in ("rule", "safety")):
        pipeline.decided = Decided("reject", decision.source, decision.reason_type, decision.why)
        raise Refused(decision.why)


async def _first_answer(pipeline: "CallPipeline", opened: InteractionOpened, hook: "_HookAnswer") -> Answer:
    """Return the first answer: the person's, or that of a hook which decides for them."""
    approver = pipeline.toolbox.approver
    if not hook.wanted:
        return await approver.ask(opened)
    person = asyncio.ensure_future(approver.ask(opened))
    hooks = asyncio.ensure_future(hook.wait())
    try:
        await asyncio.wait([person, hooks], return_when=asyncio.FIRST_COMPLETED)
        if hooks.done() and not person.done():
            decided = hooks.result()
            if decided is not None:
                return decided
        return await person
    finally:
        for task in (person, hooks):
            task.cancel()
        await asyncio.wait([person, hooks])


class _HookAnswer:
    """The answer of PermissionRequest hooks, in place of a person's."""

    def __init__(
        self, pipeline: "CallPipeline", opened: InteractionOpened, decision: PolicyDecision, accesses: tuple[Any, ...]
    ) -> None:
        self._pipeline = pipeline
        self._opened = opened
        self._for_people = decision.reason_type == "safety"
        """A hook may deny a call that cannot be judged or is protected, but only a person may allow it."""
        leaves_sandbox = any(access.kind == "outside" for access in accesses)
        self.wanted = not leaves_sandbox and pipeline.toolbox.hooks.wants("PermissionRequest", opened.call.name)
        self.messages: list[Noted] = []
        self.stopped = False

    async def wait(self) -> Answer | None:
        """Return the hooks' answer; None if they give none."""
        suggestions = list(self._opened.suggestions)
        call = self._pipeline.hook_call("PermissionRequest", permission_suggestions=suggestions)
        call = replace(call, fields={**call.fields, "tool_input": self._opened.call.input})
        outcome = await self._pipeline.toolbox.hooks.run(call)
        self.messages = messages_of(outcome)
        if outcome.stop:
            self.stopped = True
            return Answer(False, outcome.stop_reason or "A hook stopped the run.", by="hook")
        permission = outcome.permission or {}
        if permission.get("behavior") == "deny":
            interrupt = permission.get("interrupt") is True
            return Answer(False, str(permission.get("message", "")), interrupt=interrupt, by="hook")
        if permission.get("behavior") != "allow" or self._for_people:
            return None
        input_, updates = permission.get("updatedInput"), permission.get("updatedPermissions")
        return Answer(
            True,
            input=input_ if isinstance(input_, dict) else None,
            updates=tuple(each for each in updates if isinstance(each, dict)) if isinstance(updates, list) else (),
            by="hook",
        )


def _permission_events(answer: Answer) -> list[Event]:
    """Events for the permission updates of an answer: rules and directories in one, each mode in its own."""
    valid = [update for update in answer.updates if not update_problem(update)]
    rules = tuple(update for update in valid if update["type"] != "setMode")
    events: list[Event] = [Noted(f"A permission update was ignored: {why}", "warning") for why in _defects(answer)]
    if rules:
        events.append(PermissionsChanged(rules))
    events.extend(ModeChanged(str(update["mode"])) for update in valid if update["type"] == "setMode")
    return events


def _defects(answer: Answer) -> list[str]:
    return [why for update in answer.updates if (why := update_problem(update))]
