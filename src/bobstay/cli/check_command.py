"""`bobstay permissions check`: what would be decided about a call, why, and what would allow it."""

import os
import shlex
import sys
from typing import Any, BinaryIO

import msgspec

from bobstay.cli.effective_rules import EffectiveRule, InForce
from bobstay.permissions.access import Access, Effect, PolicyDecision
from bobstay.permissions.rule import FAMILIES
from bobstay.permissions.rulebook import rule_text

WORDS = {Effect.ALLOW: "allow", Effect.ASK: "ask", Effect.DENY: "deny"}
CODES = {Effect.ALLOW: 0, Effect.ASK: 3, Effect.DENY: 4}
"""What the shell is told."""
LONGEST_LINE = 16 << 20
"""Bytes of a line that are looked at; a longer one is refused unread."""
TOO_LONG = b"longer than 16 MiB"
"""No JSON, and says why."""


def explain(here: InForce, tool: str, target: str, given: dict[str, Any] | None, mode: str, *, as_json: bool) -> int:
    """Judge one call by the settings of this folder and say all about it. Returns the exit code."""
    accesses, call = _call(tool, target, given, here)
    policy = here.policy(mode or here.mode)
    decision, standing = here.judge(policy, tool, accesses, call)
    helping = policy.suggest(tool, accesses, call) if decision.verdict is Effect.ASK else ()
    if as_json:
        told = _as_json(here, policy.mode, tool, decision, standing, helping)
        sys.stdout.write(msgspec.json.encode(told).decode() + "\n")
    else:
        sys.stdout.write("\n".join(_as_text(here, policy.mode, decision, standing, helping)) + "\n")
    return CODES[decision.verdict]


def judge_lines(lines: BinaryIO, out: BinaryIO) -> int:
    """Judge written-down cases, a JSON object a line, in the fixed world; answer each on a line, at once."""
    while line := lines.readline(LONGEST_LINE + 1):
        whole = line.endswith(b"\n") or len(line) <= LONGEST_LINE
        while not whole:
            rest = lines.readline(LONGEST_LINE)
            whole = not rest or rest.endswith(b"\n")
        if not line.strip():
            continue
        try:
            out.write(_answer(line) + b"\n")
            out.flush()
        except BrokenPipeError:
            return 1
    return 0


def _answer(line: bytes) -> bytes:
    from bobstay.permissions.policy_case import ANSWERS, BadCase, judged
    from bobstay.wire.stdio import BadLineError, parse_line

    identity: Any = None
    try:
        case = parse_line(line if len(line) <= LONGEST_LINE else TOO_LONG)
        identity = case.get("id")
        case = msgspec.json.decode(line)  # to the letter: a command with half a character in it is not mended
        decision = judged(case)
        told = {"id": identity, "decision": ANSWERS[decision.verdict], "why": decision.why}
        return _encoded(told)
    except (BadLineError, BadCase, msgspec.DecodeError) as error:
        return _encoded({"id": identity, "decision": "deny", "why": f"Not judged: {error}", "error": True})
    except Exception as error:  # noqa: BLE001 - a boundary: a judge that breaks allows nothing, and the run goes on
        why = f"Not judged: {type(error).__name__}: {error}"
        return _encoded({"id": identity, "decision": "deny", "why": why[:1000], "error": True})


def _encoded(told: dict[str, Any]) -> bytes:
    from bobstay.sessions.log_codec import to_json

    return to_json(told)


def _call(
    tool: str, target: str, given: dict[str, Any] | None, here: InForce
) -> tuple[tuple[Access, ...], dict[str, Any]]:
    """What a call touches, and its input, from the one thing a person names."""
    if given is not None:
        target = str(given.get("command") or given.get("file_path") or given.get("path") or given.get("url") or target)
    if tool == "Bash":
        leaves = here.sandbox is not None and bool(given and given.get("outside_sandbox"))
        return (Access("exec", target), *((Access("outside", target),) if leaves else ())), given or {"command": target}
    if tool == "WebFetch":
        return (Access("net", target),), given or {"url": target}
    for family, kind in (("Read", "read"), ("Edit", "write")):
        if tool in FAMILIES[family]:
            path = target if target.startswith(("/", "~")) or "://" in target else os.path.join(here.cwd, target)
            return (Access("read" if kind == "read" else "write", path),), given or {"file_path": path}
    return (), given or {}


def _as_json(
    here: InForce,
    mode: str,
    tool: str,
    decision: PolicyDecision,
    standing: EffectiveRule | None,
    helping: tuple[Any, ...],
) -> dict[str, Any]:
    rule = None
    if standing is not None:
        rule = {
            "text": standing.rule.text,
            "list": standing.list,
            "source": standing.source,
            "file": standing.file,
            "line": standing.line or None,
        }
    return {
        "decision": WORDS[decision.verdict],
        "why": decision.why,
        "tool": tool,
        "mode": mode,
        "source": decision.source,
        "reason_type": decision.reason_type,
        "rule": rule,
        "suggestions": list(helping),
        "sandbox": _sandbox(here),
        "trusted": here.loaded.trusted,
        "notice": here.loaded.untrusted_notice,
    }


def _sandbox(here: InForce) -> dict[str, Any] | None:
    sandbox = here.sandbox
    if sandbox is None:
        return None
    return {"enabled": True, "kind": sandbox.kind, "autoAllow": bool(here.loaded.settings.sandbox.auto_allow)}


def _as_text(
    here: InForce, mode: str, decision: PolicyDecision, standing: EffectiveRule | None, helping: tuple[Any, ...]
) -> list[str]:
    lines = [f"{WORDS[decision.verdict]}: {decision.why}"]
    if standing is not None:
        lines.append(f"  rule    {standing.rule.text} ({standing.list}, {standing.source} settings, {standing.place})")
        if standing.warning:
            lines.append(f"  warning {standing.warning}")
    if (sandbox := here.sandbox) is not None:
        lines.append(f"  sandbox {sandbox.kind or sandbox.refusal}")
    if mode != "default":
        lines.append(f"  mode    {mode}")
    lines += [f"  allow   {line}" for update in helping if (line := _advice(update))]
    if here.loaded.untrusted_notice:
        lines.append(f"  trust   {here.loaded.untrusted_notice}")
    return lines


def _advice(update: dict[str, Any]) -> str:
    """How a suggestion is followed from the command line."""
    if update.get("type") == "addRules":
        rules = " ".join(shlex.quote(rule_text(raw)) for raw in update["rules"])
        return f"bobstay permissions add {rules}"
    if update.get("type") == "addDirectories":
        return f"--add-dir {shlex.quote(update['directories'][0])} when you start"
    if update.get("type") == "setMode":
        return f"--permission-mode {update['mode']} when you start"
    return ""
