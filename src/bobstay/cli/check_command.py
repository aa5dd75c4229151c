"""`bobstay permissions check`: explains the decision about a call and what would allow it."""

import os
import shlex
import sys
from typing import Any, BinaryIO

import msgspec

from bobstay.cli.effective_rules import EffectivePermissions, EffectiveRule
from bobstay.permissions.access import Access, Effect, PolicyDecision
from bobstay.permissions.rule import FAMILIES
from bobstay.permissions.rulebook import rule_text

DECISION_NAMES = {Effect.ALLOW: "allow", Effect.ASK: "ask", Effect.DENY: "deny"}
EXIT_CODES = {Effect.ALLOW: 0, Effect.ASK: 3, Effect.DENY: 4}
"""Exit code for each decision."""
MAX_LINE = 16 << 20
"""Bytes of a line; a longer one is refused unread."""
TOO_LONG = b"longer than 16 MiB"
"""Replaces a line that is too long: it is not JSON and says why."""


def explain_decision(
    permissions: EffectivePermissions, tool: str, target: str, given: dict[str, Any] | None, mode: str, *, as_json: bool
) -> int:
    """Judge one call by the settings of this folder and print an explanation. Returns the exit code."""
    accesses, call = _describe_call(tool, target, given, permissions)
    policy = permissions.policy(mode or permissions.mode)
    decision, matched = permissions.judge(policy, tool, accesses, call)
    suggestions = policy.suggest(tool, accesses, call) if decision.effect is Effect.ASK else ()
    if as_json:
        report = _as_json(permissions, policy.mode, tool, decision, matched, suggestions)
        sys.stdout.write(msgspec.json.encode(report).decode() + "\n")
    else:
        sys.stdout.write("\n".join(_as_text(permissions, policy.mode, decision, matched, suggestions)) + "\n")
    return EXIT_CODES[decision.effect]


def judge_lines(lines: BinaryIO, out: BinaryIO) -> int:
    """Judge cases, one JSON object per line, in a fixed environment; write one answer line for each, at once."""
    while line := lines.readline(MAX_LINE + 1):
        whole = line.endswith(b"\n") or len(line) <= MAX_LINE
        while not whole:
            rest = lines.readline(MAX_LINE)
            whole = not rest or rest.endswith(b"\n")
        if not line.strip():
            continue
        try:
            out.write(_judge_line(line) + b"\n")
            out.flush()
        except BrokenPipeError:
            return 1
    return 0


def _judge_line(line: bytes) -> bytes:
    from bobstay.permissions.policy_case import EFFECT_NAMES, BadCase, judge_case
    from bobstay.wire.stdio import BadLineError, parse_line

    identity: Any = None
    try:
        case = parse_line(line if len(line) <= MAX_LINE else TOO_LONG)
        identity = case.get("id")
        case = msgspec.json.decode(line)  # strictly: a command with a lone surrogate is not repaired
        decision = judge_case(case)
        result = {"id": identity, "decision": EFFECT_NAMES[decision.effect], "why": decision.why}
        return _encode(result)
    except (BadLineError, BadCase, msgspec.DecodeError) as error:
        return _encode({"id": identity, "decision": "deny", "why": f"Not judged: {error}", "error": True})
    except Exception as error:  # noqa: BLE001 - a boundary: a failing judge allows nothing, and the run continues
        why = f"Not judged: {type(error).__name__}: {error}"
        return _encode({"id": identity, "decision": "deny", "why": why[:1000], "error": True})


def _encode(result: dict[str, Any]) -> bytes:
    from bobstay.sessions.log_codec import to_json

    return to_json(result)


def _describe_call(
    tool: str, target: str, given: dict[str, Any] | None, permissions: EffectivePermissions
) -> tuple[tuple[Access, ...], dict[str, Any]]:
    """The accesses and the input of a call, derived from the one argument a person gives."""
    if given is not None:
        target = str(given.get("command") or given.get("file_path") or given.get("path") or given.get("url") or target)
    if tool == "Bash":
        leaves = permissions.sandbox is not None and bool(given and given.get("outside_sandbox"))
        return (Access("exec", target), *((Access("outside", target),) if leaves else ())), given or {"command": target}
    if tool == "WebFetch":
        return (Access("net", target),), given or {"url": target}
    for family, kind in (("Read", "read"), ("Edit", "write")):
        if tool in FAMILIES[family]:
            path = target if target.startswith(("/", "~")) or "://" in target else os.path.join(permissions.cwd, target)
            return (Access("read" if kind == "read" else "write", path),), given or {"file_path": path}
    return (), given or {}


def _as_json(
    permissions: EffectivePermissions,
    mode: str,
    tool: str,
    decision: PolicyDecision,
    matched: EffectiveRule | None,
    suggestions: tuple[Any, ...],
) -> dict[str, Any]:
    rule = None
    if matched is not None:
        rule = {
            "text": matched.rule.text,
            "list": matched.list,
            "source": matched.source,
            "file": matched.file,
            "line": matched.line or None,
        }
    return {
        "decision": DECISION_NAMES[decision.effect],
        "why": decision.why,
        "tool": tool,
        "mode": mode,
        "source": decision.source,
        "reason_type": decision.reason_type,
        "rule": rule,
        "suggestions": list(suggestions),
        "sandbox": _sandbox(permissions),
        "trusted": permissions.loaded.trusted,
        "notice": permissions.loaded.untrusted_notice,
    }


def _sandbox(permissions: EffectivePermissions) -> dict[str, Any] | None:
    sandbox = permissions.sandbox
    if sandbox is None:
        return None
    return {"enabled": True, "kind": sandbox.kind, "autoAllow": bool(permissions.loaded.settings.sandbox.auto_allow)}


def _as_text(
    permissions: EffectivePermissions,
    mode: str,
    decision: PolicyDecision,
    matched: EffectiveRule | None,
    suggestions: tuple[Any, ...],
) -> list[str]:
    lines = [f"{DECISION_NAMES[decision.effect]}: {decision.why}"]
    if matched is not None:
        lines.append(f"  rule    {matched.rule.text} ({matched.list}, {matched.source} settings, {matched.location})")
        if matched.warning:
            lines.append(f"  warning {matched.warning}")
    if (sandbox := permissions.sandbox) is not None:
        lines.append(f"  sandbox {sandbox.kind or sandbox.refusal}")
    if mode != "default":
        lines.append(f"  mode    {mode}")
    lines += [f"  allow   {line}" for update in suggestions if (line := _advice(update))]
    if permissions.loaded.untrusted_notice:
        lines.append(f"  trust   {permissions.loaded.untrusted_notice}")
    return lines


def _advice(update: dict[str, Any]) -> str:
    """How to follow a suggestion on the command line."""
    if update.get("type") == "addRules":
        rules = " ".join(shlex.quote(rule_text(raw)) for raw in update["rules"])
        return f"bobstay permissions add {rules}"
    if update.get("type") == "addDirectories":
        return f"--add-dir {shlex.quote(update['directories'][0])} when you start"
    if update.get("type") == "setMode":
        return f"--permission-mode {update['mode']} when you start"
    return ""
