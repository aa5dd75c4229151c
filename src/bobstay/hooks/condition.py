"""Checks whether a tool call matches the `if` condition of a hook."""

from typing import Any

from bobstay.hooks.hook_event import HookCall
from bobstay.permissions.access import Effect
from bobstay.permissions.policy import Policy
from bobstay.permissions.rule import Rule


def matches_condition(condition: str, call: HookCall, *, home: str) -> bool:
    """Match as deny rules match: broadly, because such a hook may exist to refuse something.

    A command that cannot be analysed may be one the rule covers, so the hook is called.
    """
    if not condition:
        return True
    rule = Rule.parse(condition, Effect.DENY)
    if not rule.names(call.subject):
        return False
    if not rule.pattern:
        return True
    tool_input: Any = call.fields.get("tool_input")
    policy = Policy("default", (rule,), root=str(call.fields.get("cwd") or "/"), home=home)
    decision = policy.judge(
        call.subject, call.accesses, tool_input if isinstance(tool_input, dict) else {}, read_only=False
    )
    unanalysed = decision.reason_type == "safety" and any(access.kind == "exec" for access in call.accesses)
    return decision.effect is Effect.DENY or unanalysed
