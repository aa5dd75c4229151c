"""Parses the answers of hooks and merges them into one outcome."""

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from bobstay.hooks.hook_event import NO_OPINION, HookCall, HookMessage, HookName, HookOutcome
from bobstay.hooks.hook_ports import PromptAnswer

_STRICTNESS = {"": 0, "allow": 1, "ask": 2, "defer": 3, "block": 4, "deny": 5}
_LEGACY_DECISIONS = {"approve": "allow", "block": "deny"}
"""Values of the older field `decision` of PreToolUse, as values of `permissionDecision`."""


def parse_outcome(call: HookCall, answer: dict[str, Any], *, block: bool = False) -> HookOutcome:
    """Parse one answer. Fields that are missing or of the wrong type are ignored."""
    if answer.get("async") is True:
        return NO_OPINION
    special = answer.get("hookSpecificOutput")
    special = special if isinstance(special, dict) else {}
    event = special.get("hookEventName")
    if isinstance(event, str) and event != call.name:
        return failure_outcome(call, f"its answer is one for the event {event[:60]!r}", block=block)
    decision, reason = _decision(call.name, answer, special)
    context = _text(special, "additionalContext")
    message = _text(answer, "systemMessage")
    updated = special.get("updatedInput")
    permission = special.get("decision")
    return HookOutcome(
        decision=decision,  # type: ignore[arg-type]  # one of the keys of _STRICTNESS, checked in _decision
        reason=reason,
        updated_input=updated if isinstance(updated, dict) else None,
        updated_output=special.get("updatedToolOutput"),
        context=(context,) if context else (),
        stop=answer.get("continue") is False,
        stop_reason=_text(answer, "stopReason"),
        messages=(HookMessage(f"{call.label} says: {message}"),) if message else (),
        permission=permission if call.name == "PermissionRequest" and isinstance(permission, dict) else None,
        title=_text(special, "sessionTitle") if call.name == "UserPromptSubmit" else "",
        elicitation=_elicitation(special) if call.name in ("Elicitation", "ElicitationResult") else None,
        retry=call.name == "PermissionDenied" and special.get("retry") is True,
    )


def answer_outcome(call: HookCall, answer: PromptAnswer) -> HookOutcome:
    """Outcome of a model's answer. A refusal before a call ends the run, too."""
    if answer.ok:
        return HookOutcome(spent=answer.spent)
    reason = answer.reason or "the model that was asked refused without a reason"
    outcome = replace(blocking_outcome(call, reason), spent=answer.spent)
    return replace(outcome, stop=True, stop_reason=reason) if call.name == "PreToolUse" else outcome


def failure_outcome(call: HookCall, error: str, *, block: bool, late: bool = False) -> HookOutcome:
    """Outcome of a failed hook: it blocks only if registered to do so on failure. The person is told either way."""
    message = HookMessage(f"{call.label} hook failed: {error}", "warning", "hook_no_verdict" if late else "")
    if not block:
        return HookOutcome(messages=(message,), failed=True)
    refusal = replace(blocking_outcome(call, f"hook failed: {error}"), failed=True)
    return refusal if refusal.messages else replace(refusal, messages=(message,))


def blocking_outcome(call: HookCall, reason: str) -> HookOutcome:
    """Outcome of a hook that blocks, in the form of its event. Events that cannot be blocked only tell the person."""
    match call.name:
        case "PermissionRequest":
            return HookOutcome(permission={"behavior": "deny", "message": reason})
        case "PreToolUse":
            return HookOutcome(decision="deny", reason=reason)
        case "Elicitation" | "ElicitationResult":
            return HookOutcome(elicitation={"action": "decline"}, reason=reason)
        case (
            "SessionStart"
            | "SessionEnd"
            | "Notification"
            | "SubagentStart"
            | "StopFailure"
            | "PostCompact"
            | "PermissionDenied"
            | "InstructionsLoaded"
            | "CwdChanged"
            | "FileChanged"
            | "ConfigChange"
            | "MessageDisplay"
        ):
            return HookOutcome(messages=(HookMessage(f"{call.label} hook: {reason}", "warning"),))
        case (
            "PostToolUse"
            | "PostToolUseFailure"
            | "PostToolBatch"
            | "UserPromptSubmit"
            | "Stop"
            | "SubagentStop"
            | "PreCompact"
            | "UserPromptExpansion"
            | "TaskCreated"
            | "TaskCompleted"
        ):
            return HookOutcome(decision="block", reason=reason)


def merge_outcomes(outcomes: Iterable[HookOutcome]) -> HookOutcome:
    """Merge outcomes: the strictest decision with its reason, the last rewrite, and all texts."""
    every = tuple(outcomes)
    if not every:
        return NO_OPINION
    strictest = max(every, key=lambda outcome: _STRICTNESS[outcome.decision])
    stopping = next((outcome for outcome in every if outcome.stop), None)
    permissions = [outcome.permission for outcome in every if outcome.permission is not None]
    permissions.sort(key=lambda permission: permission.get("behavior") != "deny")
    return HookOutcome(
        decision=strictest.decision,
        reason=strictest.reason,
        updated_input=_last(outcome.updated_input for outcome in every),
        updated_output=_last(outcome.updated_output for outcome in every),
        context=tuple(text for outcome in every for text in outcome.context),
        stop=stopping is not None,
        stop_reason=stopping.stop_reason if stopping else "",
        messages=tuple(text for outcome in every for text in outcome.messages),
        permission=permissions[0] if permissions else None,
        title=next((outcome.title for outcome in reversed(every) if outcome.title), ""),
        elicitation=next((outcome.elicitation for outcome in every if outcome.elicitation is not None), None),
        retry=any(outcome.retry for outcome in every),
        failed=any(outcome.failed for outcome in every),
        spent=tuple(spend for outcome in every for spend in outcome.spent),
    )


def _decision(name: HookName, answer: dict[str, Any], special: dict[str, Any]) -> tuple[str, str]:
    decision = _text(special, "permissionDecision")
    if decision in ("allow", "deny", "ask", "defer"):
        return decision, _text(special, "permissionDecisionReason")
    decision = _text(answer, "decision")
    if name == "PreToolUse":
        return _LEGACY_DECISIONS.get(decision, ""), _text(answer, "reason")
    return ("block" if decision == "block" else ""), _text(answer, "reason")


def _elicitation(special: dict[str, Any]) -> dict[str, Any] | None:
    action, content = special.get("action"), special.get("content")
    if action not in ("accept", "decline", "cancel"):
        return None
    return {"action": action, "content": content} if isinstance(content, dict) else {"action": action}


def _last(values: Iterable[Any]) -> Any:
    return next((value for value in reversed(tuple(values)) if value is not None), None)


def _text(data: dict[str, Any], key: str) -> str:
    value = data.get(key)
    return value if isinstance(value, str) else ""
