"""Approval, the fourth phase of a call: rules decide whether it may run, and a person decides where they do not.

The order is: hooks, deny, ask, allow, mode, person. A hook's allow never overrides a deny or ask rule.
"""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from bobstay.engine.auto_mode import (
    MOST_DENIALS,
    Advice,
    AutoModeApproval,
    escalate,
    may_advise,
    refusal_text,
    stopping_reason,
)
from bobstay.engine.engine_ports import Answer
from bobstay.engine.event_redaction import redact_event
from bobstay.engine.hook_notes import messages_of
from bobstay.engine.toolbox import CallEnding, PreparedCall, Refused, Toolbox
from bobstay.engine.turn_hooks import start_hooks
from bobstay.hooks.hook_event import HookOutcome
from bobstay.model.event import (
    Decided,
    Durable,
    Event,
    InteractionClosed,
    InteractionOpened,
    ModeChanged,
    Noted,
    PermissionsChanged,
)
from bobstay.model.ids import new_id
from bobstay.model.message import ToolCall
from bobstay.permissions.access import Access, Effect, PolicyDecision
from bobstay.permissions.rule_updates import update_problem


class PriorProgress(Struct, frozen=True):
    """How far a call had come before a crash: a person was asked about it, and may have allowed it."""

    opened: InteractionOpened | None = None
    granted: InteractionClosed | None = None


NO_PRIOR_PROGRESS = PriorProgress()


class Approval:
    """Obtains the approval of one call. Consume `events` to its end; then the other fields hold the outcome."""

    def __init__(self, toolbox: Toolbox, prepared: PreparedCall, hooked: HookOutcome, prior: PriorProgress) -> None:
        """`hooked`: what the hooks before the call said."""
        self.prepared = prepared
        """The call as it is to run: an answer may change its input."""
        self.decided: Decided | None = None
        self.open_interaction = ""
        """Id of the interaction that is not closed yet."""
        self._toolbox = toolbox
        self._hooked = hooked
        self._prior = prior

    async def events(self) -> AsyncGenerator[Event, None]:
        """End if the call may run.

        Raises:
            Refused: it may not run; the text is for the model.
            ToolError: the input was changed, and the new one is invalid.
        """
        prepared, toolbox, prior = self.prepared, self._toolbox, self._prior.opened
        accesses = prepared.accesses
        decision = toolbox.judge.judge(prepared.tool.name, accesses, prepared.input, read_only=prepared.read_only)
        decision = self._apply_hook_decision(decision)
        if prior is not None and prior.call.input != toolbox.redactor.redact_value(prepared.input):
            # The input differs from what the person was shown before the crash, so they are asked again.
            yield InteractionClosed(prior.id, "cancelled", "its input changed", "restart")
            prior = None
        if self._prior.granted is not None and decision.effect is not Effect.DENY:
            self._apply_earlier_grant(self._prior.granted)
            return
        if decision.effect is not Effect.ASK:
            if prior is not None:
                outcome: Literal["allowed", "denied"] = "allowed" if decision.effect is Effect.ALLOW else "denied"
                yield InteractionClosed(prior.id, outcome, decision.why, "rule")
            self._apply_rule(decision)
            return
        auto, interaction = toolbox.auto, prepared.tool.interaction
        if prior is None and auto is not None and may_advise(toolbox.judge.mode, interaction, decision, accesses):
            advice = await auto.advise(prepared.tool.name, prepared.input, accesses, decision)
            yield advice.event(prepared.context.call_id)
            if self._apply_advice(auto, advice, decision):
                return
            decision = escalate(decision, advice)
        shown = prior if toolbox.approver.can_ask else None
        opened = redact_event(shown or self._build_request(decision, accesses), toolbox.redactor)
        hook = _HookAnswer(toolbox, prepared, opened, decision, accesses)
        if toolbox.approver.can_ask:
            asking = self._ask_person(opened, hook, is_new=shown is None)
        else:
            asking = self._ask_hooks(opened, hook, decision)
        async with aclosing(asking) as events:
            async for event in events:
                yield event

    # ------------------------------------------------------------ without a question

    def _apply_hook_decision(self, decision: PolicyDecision) -> PolicyDecision:
        hooked = self._hooked
        needs_person = self.prepared.tool.interaction != "permission"
        is_open = decision.effect is Effect.ASK and decision.reason_type not in ("rule", "safety")
        if hooked.decision == "allow" and is_open and not needs_person:
            return PolicyDecision(Effect.ALLOW, hooked.reason or "a hook allowed it", "hook", "hook")
        if hooked.decision == "ask" and decision.effect is not Effect.DENY:
            return PolicyDecision(Effect.ASK, hooked.reason, "hook", "hook")
        return decision

    def _apply_rule(self, decision: PolicyDecision) -> None:
        source = decision.source or "config"
        if decision.effect is Effect.DENY:
            rejected = Decided("reject", source, decision.reason_type, decision.why)
            raise Refused(decision.why or f"Permission to use {self.prepared.tool.name} was denied.", rejected)
        self.decided = Decided("accept", source, decision.reason_type, decision.why)

    def _apply_earlier_grant(self, closed: InteractionClosed) -> None:
        """Apply a person's approval from before a crash: the call runs with the input they saw."""
        self.decided = Decided("accept", "user_temporary")
        if closed.input is not None and closed.input != self.prepared.input:
            self._rewrite(closed.input)

    def _apply_advice(self, auto: AutoModeApproval, advice: Advice, decision: PolicyDecision) -> bool:
        """Apply the advisor's answer; False if it leaves the call to a person."""
        tool, toolbox = self.prepared.tool.name, self._toolbox
        if advice.decision == "allow":
            auto.count_approval()
            self.decided = Decided("accept", "auto", "classifier", advice.reason)
            return True
        if advice.decision == "ask" and (toolbox.approver.can_ask or toolbox.hooks.wants("PermissionRequest", tool)):
            return False
        ending: CallEnding = ""
        reason = ""
        if advice.decision == "deny" and auto.count_refusal(self.prepared.context.call_id) >= MOST_DENIALS:
            ending, reason = "auto_denied", stopping_reason(tool, advice, auto.denials)
        rejected = Decided("reject", "auto", "classifier", advice.reason)
        raise Refused(refusal_text(tool, advice, decision), rejected, ending, reason)

    def _rewrite(self, input: dict[str, Any], *, by_hook: bool = False) -> None:
        """Refuse a changed input that a rule forbids, or that a hook supplied although only people may allow it."""
        self.prepared = prepared = self._toolbox.prepare_again(self.prepared, input)
        decision = self._toolbox.judge.judge(
            prepared.tool.name, prepared.accesses, prepared.input, read_only=prepared.read_only
        )
        for_people = by_hook and decision.effect is Effect.ASK and decision.reason_type == "safety"
        if for_people or (decision.effect is Effect.DENY and decision.reason_type in ("rule", "safety")):
            rejected = Decided("reject", decision.source, decision.reason_type, decision.why)
            raise Refused(decision.why, rejected)

    # ------------------------------------------------------------ with a question

    def _build_request(self, decision: PolicyDecision, accesses: tuple[Access, ...]) -> InteractionOpened:
        prepared, tool = self.prepared, self.prepared.tool
        return InteractionOpened(
            new_id(),
            tool.interaction,
            ToolCall(prepared.context.call_id, tool.name, prepared.input),
            reason=decision.why,
            reason_type=decision.reason_type,
            suggestions=self._toolbox.judge.suggest(tool.name, accesses, prepared.input),
            blocked_path=decision.blocked_path,
            description=str(prepared.input.get("description", ""))[:500],
            destructive=tool.destructive(prepared.args, prepared.context),
            agent=self._toolbox.facts.agent.id if self._toolbox.facts.agent is not None else "",
            mcp_server=tool.mcp_server,
        )

    async def _ask_person(
        self, opened: InteractionOpened, hook: "_HookAnswer", *, is_new: bool
    ) -> AsyncGenerator[Event, None]:
        """Ask a person for approval; a hook may answer first."""
        self.open_interaction = opened.id
        if is_new:
            yield opened
        self._notify(opened)
        answer = await self._first_answer(opened, hook)
        for note in hook.messages:
            yield note
        changed = self._changed_input(opened, answer)
        stored = None if changed is None else self._toolbox.redactor.redact_value(changed)
        outcome: Literal["allowed", "denied"] = "allowed" if answer.allow else "denied"
        self.open_interaction = ""  # only now: an interrupt between the notes above closes it, too
        yield InteractionClosed(opened.id, outcome, answer.message, answer.by, stored)
        for event in self._apply_answer(answer, changed, stopped=hook.stopped):
            yield event

    async def _ask_hooks(
        self, opened: InteractionOpened, hook: "_HookAnswer", decision: PolicyDecision
    ) -> AsyncGenerator[Event, None]:
        """Decide by hooks alone, because there is nobody to ask; without a hook's answer the call is refused."""
        tool = self.prepared.tool.name
        answer = await hook.wait() if hook.wanted else None
        for note in hook.messages:
            yield note
        if answer is not None:
            for event in self._apply_answer(answer, self._changed_input(opened, answer), stopped=hook.stopped):
                yield event
            return
        raise Refused(
            f"Permission to use {tool} was not granted, and nobody is here to ask. {decision.why} "
            "Go on without it, or say what permission is needed.",
            Decided("reject", "config", decision.reason_type or "default", decision.why),
        )

    def _notify(self, opened: InteractionOpened) -> None:
        """Run Notification hooks, which tell the person that an answer is needed."""
        kind = "elicitation_dialog" if opened.kind == "question" else "permission_prompt"
        what = "an answer from you" if opened.kind == "question" else f"your permission to use {opened.call.name}"
        message = f"bobstay needs {what}"
        start_hooks(self._toolbox, "Notification", kind, message=message, notification_type=kind)

    async def _first_answer(self, opened: InteractionOpened, hook: "_HookAnswer") -> Answer:
        """Return the first answer: the person's, or that of a hook which decides for them."""
        approver = self._toolbox.approver
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

    def _changed_input(self, opened: InteractionOpened, answer: Answer) -> dict[str, Any] | None:
        """The new input. An answer may return the redacted one as it was shown: the call keeps its real input then."""
        return answer.input if answer.input not in (None, self.prepared.input, opened.call.input) else None

    def _apply_answer(self, answer: Answer, changed: dict[str, Any] | None, *, stopped: bool) -> Iterator[Event]:
        """Apply an answer to the call. Raises `Refused` if it may not run."""
        hooked = answer.by == "hook"
        if not answer.allow:
            tool = self.prepared.tool.name
            why = answer.message or f"The user does not want {tool} to run with this input. Ask what to do instead."
            source, kind = ("hook", "hook") if hooked else ("user_temporary", "")
            ending: CallEnding = "hook_stopped" if stopped else "interrupt" if answer.interrupt else ""
            rejected = Decided("reject", source, kind, answer.message)
            raise Refused(why, rejected, ending, answer.message if stopped else "")
        lasting = any(update.get("destination", "session") != "session" for update in answer.updates)
        by_person = Decided("accept", "user_permanent" if lasting else "user_temporary")
        self.decided = Decided("accept", "hook", "hook", answer.message) if hooked else by_person
        yield from _permission_events(answer)
        if changed is not None:
            self._rewrite(changed, by_hook=hooked)


class _HookAnswer:
    """The answer of PermissionRequest hooks, in place of a person's."""

    def __init__(
        self,
        toolbox: Toolbox,
        prepared: PreparedCall,
        opened: InteractionOpened,
        decision: PolicyDecision,
        accesses: tuple[Access, ...],
    ) -> None:
        self._toolbox = toolbox
        self._prepared = prepared
        self._opened = opened
        self._for_people = decision.reason_type == "safety"
        """A hook may deny a call that cannot be judged or is protected, but only a person may allow it."""
        leaves_sandbox = any(access.kind == "outside" for access in accesses)
        self.wanted = not leaves_sandbox and toolbox.hooks.wants("PermissionRequest", opened.call.name)
        self.messages: list[Durable] = []
        self.stopped = False

    async def wait(self) -> Answer | None:
        """Return the hooks' answer; None if they give none."""
        fields: dict[str, Any] = {"permission_suggestions": list(self._opened.suggestions)}
        if server := self._prepared.tool.mcp_server:
            fields["mcp_server"] = server
        call = self._toolbox.hook_call("PermissionRequest", self._prepared, **fields)
        call = replace(call, fields={**call.fields, "tool_input": self._opened.call.input})
        outcome = await self._toolbox.run_hooks(call)
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
    problems = [why for update in answer.updates if (why := update_problem(update))]
    valid = [update for update in answer.updates if not update_problem(update)]
    rules = tuple(update for update in valid if update["type"] != "setMode")
    events: list[Event] = [Noted(f"A permission update was ignored: {why}", "warning") for why in problems]
    if rules:
        events.append(PermissionsChanged(rules))
    events.extend(ModeChanged(str(update["mode"])) for update in valid if update["type"] == "setMode")
    return events
