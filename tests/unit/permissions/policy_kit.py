"""Builds policies over a fixed file system view without a disk, for permission tests."""

from typing import Any

from bobstay.permissions.access import Access, Effect, PolicyDecision
from bobstay.permissions.policy import Policy
from bobstay.permissions.rule import Rule

ROOT = "/srv/proj"
HOME = "/home/dev"

ALLOW, ASK, DENY = Effect.ALLOW, Effect.ASK, Effect.DENY

KINDS = {"Bash": "exec", "Read": "read", "Glob": "read", "Grep": "read", "WebFetch": "net"}
FIELDS = {"exec": "command", "read": "file_path", "write": "file_path", "net": "url"}


def policy(
    mode: str = "default",
    *,
    allow: tuple[str, ...] = (),
    ask: tuple[str, ...] = (),
    deny: tuple[str, ...] = (),
    links: dict[str, str] | None = None,
    **options: Any,
) -> Policy:
    rules = [
        Rule.parse(text, effect, "project")
        for effect, texts in ((ALLOW, allow), (ASK, ask), (DENY, deny))
        for text in texts
    ]
    return Policy(mode, rules, root=ROOT, home=HOME, readlink=(links or {}).get, **{"fold_case": False, **options})


def decide(given: Policy, tool: str, target: str = "", *, read_only: bool = False) -> PolicyDecision:
    """Judge a call of a tool with one access; MCP tools do not state theirs."""
    if tool.startswith("mcp__"):
        return given.judge(tool, (), {}, read_only=read_only)
    access = access_of(tool, target)
    return given.judge(tool, (access,), {FIELDS[access.kind]: target}, read_only=read_only)


def access_of(tool: str, target: str) -> Access:
    kind: Any = KINDS.get(tool, "write")
    return Access(kind, target)


def effect(tool: str, target: str = "", mode: str = "default", **rules: Any) -> Effect:
    return decide(policy(mode, **rules), tool, target).effect
