"""Whether a call is one that a hook's `if` speaks of."""

from typing import Any

from bobstay.hooks.hook_event import HookCall
from bobstay.permissions.access import Effect
from bobstay.permissions.policy import Policy
from bobstay.permissions.rule import Rule


def meets(condition: str, call: HookCall, *, home: str) -> bool:
    """Compare as a deny rule is compared: generously, because such a hook may exist to refuse something.

    A command that cannot be analysed may be what the rule speaks of, so the hook is called.
    """
    if not condition:
        return True
    rule = Rule.parse(condition, Effect.DENY)
    if not rule.names(call.subject):
        return False
    if not rule.pattern:
        return True
    given: Any = call.fields.get("tool_input")
    policy = Policy("default", (rule,), root=str(call.fields.get("cwd") or "/"), home=home)
    decision = policy.judge(call.subject, call.accesses, given if isinstance(given, dict) else {}, read_only=False)
    untold = decision.reason_type == "safety" and any(access.kind == "exec" for access in call.accesses)
    return decision.verdict is Effect.DENY or untold
