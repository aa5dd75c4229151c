"""What hooks say about one moment, and how several of them make one outcome."""

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from bobstay.hooks.hook_event import NO_OPINION, HookCall, HookMessage, HookName, HookOutcome

_STRICTNESS = {"": 0, "allow": 1, "ask": 2, "defer": 3, "block": 4, "deny": 5}
_OLD_WORDS = {"approve": "allow", "block": "deny"}
"""What `decision` says before a tool is used, in the words of `permissionDecision`."""


def outcome_of(call: HookCall, said: dict[str, Any], *, block: bool = False) -> HookOutcome:
    """Read one answer. What it does not say, or says in a wrong shape, counts as not said."""
    if said.get("async") is True:
        return NO_OPINION
    special = said.get("hookSpecificOutput")
    special = special if isinstance(special, dict) else {}
    meant = special.get("hookEventName")
    if isinstance(meant, str) and meant != call.name:
        return failed(call, f"its answer is one for the event {meant[:60]!r}", block=block)
    decision, reason = _decision(call.name, said, special)
    context = _text(special, "additionalContext")
    message = _text(said, "systemMessage")
    updated = special.get("updatedInput")
    permission = special.get("decision")
    return HookOutcome(
        decision=decision,  # type: ignore[arg-type]  # one of the words of _STRICTNESS, checked in _decision
        reason=reason,
        updated_input=updated if isinstance(updated, dict) else None,
        updated_output=special.get("updatedToolOutput"),
        context=(context,) if context else (),
        stop=said.get("continue") is False,
        stop_reason=_text(said, "stopReason"),
        messages=(HookMessage(f"{call.label} says: {message}"),) if message else (),
        permission=permission if call.name == "PermissionRequest" and isinstance(permission, dict) else None,
        title=_text(special, "sessionTitle") if call.name == "UserPromptSubmit" else "",
    )


def failed(call: HookCall, error: str, *, block: bool, late: bool = False) -> HookOutcome:
    """A hook that gave no answer has no say, unless it was registered to block then. The person is told either way."""
    message = HookMessage(f"{call.label} hook failed: {error}", "warning", "hook_no_verdict" if late else "")
    if not block:
        return HookOutcome(messages=(message,))
    refusal = blocked(call, f"hook failed: {error}")
    return refusal if refusal.messages else replace(refusal, messages=(message,))


def blocked(call: HookCall, reason: str) -> HookOutcome:
    """A plain no, in the words of the event. Where nothing can be stopped it is told to the person."""
    match call.name:
        case "PermissionRequest":
            return HookOutcome(permission={"behavior": "deny", "message": reason})
        case "PreToolUse":
            return HookOutcome(decision="deny", reason=reason)
        case "SessionStart" | "SessionEnd" | "Notification" | "SubagentStart" | "StopFailure":
            return HookOutcome(messages=(HookMessage(f"{call.label} hook: {reason}", "warning"),))
        case (
            "PostToolUse"
            | "PostToolUseFailure"
            | "PostToolBatch"
            | "UserPromptSubmit"
            | "Stop"
            | "SubagentStop"
            | "PreCompact"
        ):
            return HookOutcome(decision="block", reason=reason)


def merged(outcomes: Iterable[HookOutcome]) -> HookOutcome:
    """One outcome of many: the strictest decision with its reason, the last rewrite, everybody's words."""
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
    )


def _decision(name: HookName, said: dict[str, Any], special: dict[str, Any]) -> tuple[str, str]:
    word = _text(special, "permissionDecision")
    if word in ("allow", "deny", "ask", "defer"):
        return word, _text(special, "permissionDecisionReason")
    word = _text(said, "decision")
    if name == "PreToolUse":
        return _OLD_WORDS.get(word, ""), _text(said, "reason")
    return ("block" if word == "block" else ""), _text(said, "reason")


def _last(values: Iterable[Any]) -> Any:
    return next((value for value in reversed(tuple(values)) if value is not None), None)


def _text(data: dict[str, Any], key: str) -> str:
    value = data.get(key)
    return value if isinstance(value, str) else ""
