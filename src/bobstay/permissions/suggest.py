"""Suggests permission updates for "always allow": the narrowest rule that is still useful."""

from typing import TYPE_CHECKING, Any, TypeAlias

from bobstay.permissions.access import Access, Effect
from bobstay.permissions.host_rules import parse_address
from bobstay.permissions.path_resolution import FileSystemView, Located, locate
from bobstay.permissions.rule import FAMILIES, Rule

if TYPE_CHECKING:
    from bobstay.permissions.shell.expansion import ExpandedWord

Update: TypeAlias = dict[str, Any]

ARITY: dict[str, int] = {
    "apt": 2,
    "brew": 2,
    "bun": 2,
    "bun run": 3,
    "cargo": 2,
    "composer": 2,
    "deno": 2,
    "deno task": 3,
    "docker": 2,
    "docker compose": 3,
    "dotnet": 2,
    "gcloud": 3,
    "gh": 3,
    "git": 2,
    "git remote": 3,
    "git stash": 3,
    "go": 2,
    "gradle": 2,
    "helm": 2,
    "just": 2,
    "kubectl": 2,
    "make": 2,
    "mvn": 2,
    "mypy": 1,
    "npm": 2,
    "npm run": 3,
    "npx": 2,
    "pip": 2,
    "pnpm": 2,
    "pnpm run": 3,
    "poetry": 2,
    "poetry run": 3,
    "pytest": 1,
    "python -m": 3,
    "python3 -m": 3,
    "ruff": 2,
    "rustup": 2,
    "terraform": 2,
    "tox": 1,
    "tsc": 1,
    "uv": 2,
    "uv run": 3,
    "yarn": 2,
    "yarn run": 3,
}
"""How many leading words identify what a command does; commands not listed are suggested with their exact text."""
INTERPRETERS = frozenset(
    [
        "ash",
        "bash",
        "dash",
        "ksh",
        "sh",
        "zsh",
        "awk",
        "bun",
        "bunx",
        "deno",
        "docker",
        "env",
        "eval",
        "exec",
        "fish",
        "find",
        "lua",
        "make",
        "node",
        "nodejs",
        "npx",
        "osascript",
        "perl",
        "php",
        "podman",
        "powershell",
        "pwsh",
        "python",
        "python2",
        "python3",
        "ruby",
        "ssh",
        "sudo",
        "doas",
        "tclsh",
        "uvx",
        "xargs",
    ]
)
"""Programs that run what their arguments say: a rule with open arguments would allow everything."""


def suggest(tool: str, accesses: tuple[Access, ...], *, view: FileSystemView, cwd: str) -> tuple[Update, ...]:
    """Permission updates, narrowest first; empty if no rule would help."""
    if any(access.kind == "person" for access in accesses):
        return ()
    if not accesses or tool.startswith("mcp__"):
        return (_rule(tool),)
    found: list[Update] = []
    for access in accesses:
        for update in _for(tool, access, view, cwd):
            if update not in found:
                found.append(update)
    return tuple(found)


def _for(tool: str, access: Access, view: FileSystemView, cwd: str) -> list[Update]:
    match access.kind:
        case "exec":
            return _for_command(tool, access.target, view, cwd)
        case "write":
            located = locate(access.target, view.root, view)
            return [*_directory(located, view), _accept_edits()]
        case "read":
            located = locate(access.target, view.root, view)
            if view.contains(located) or not located.path:
                return []
            rule = _rule("Read", f"/{escape_pattern(_parent(located))}/**".replace("///", "//"), "session")
            return [rule, *_directory(located, view)]
        case "net" if tool == "WebFetch":
            found = parse_address(access.target)
            return [_rule(tool, f"domain:{found.host}")] if found.host else []
        case "net":
            return [_rule(tool)]
        case "peer":
            return [_rule(tool, access.target)] if not any(sign in access.target for sign in "*()") else []
        case "person" | "outside" | "none":
            return []


def _for_command(tool: str, command: str, view: FileSystemView, cwd: str) -> list[Update]:
    from bobstay.permissions.shell import analyze
    from bobstay.permissions.shell.command_queries import simple_words
    from bobstay.permissions.shell.hazards import is_hazardous
    from bobstay.permissions.shell.operands import EDITING
    from bobstay.permissions.shell.wrappers import strip_harmless

    analysis = analyze(command, cwd, view)
    if analysis.trouble:
        return []  # no rule could allow it
    text = analysis.text
    simple = simple_words(text)
    # A `*` in a rule matches anything, except for hazardous commands, which only their exact text allows.
    exact = "*" not in text or (simple is not None and is_hazardous([*strip_harmless(simple)][-1]))
    found: list[Update] = [_rule(tool, _content(text, simple))] if exact else []
    if simple is None:
        inside = [target for target in analysis.targets if target.kind == "write" and target.path]
        return [*found, _accept_edits()] if inside else found
    values = [word.value for word in simple]
    if values[0] in EDITING:
        targets = [locate(value, cwd, view) for value in values[1:] if not value.startswith("-")]
        for located in targets:
            found += [update for update in _directory(located, view) if update not in found]
        found.append(_accept_edits())
    return found


def _content(text: str, simple: "list[ExpandedWord] | None") -> str:
    """A prefix by the command's arity; the exact text of a compound, hazardous or unknown command."""
    from bobstay.permissions.shell.hazards import is_hazardous
    from bobstay.permissions.shell.wrappers import strip_harmless

    if simple is None:
        return text
    *_, words = strip_harmless(simple)
    values = [word.value for word in words]
    count = _arity(values)
    if count == 0 or count > len(values) or is_hazardous(words):
        return text
    head = words[:count]
    if any(word.value.startswith("-") for word in head if word.value != "-m"):
        return text
    if any(word.text != word.value or ":" in word.value for word in head):
        return text
    return " ".join(word.value for word in head) + ":*"


def _arity(values: list[str]) -> int:
    two = ARITY.get(" ".join(values[:2]), 0)
    return two or ARITY.get(values[0], 0)


def _directory(located: Located, view: FileSystemView) -> list[Update]:
    if not located.path or view.contains(located):
        return []
    return [{"type": "addDirectories", "directories": [_parent(located)], "destination": "session"}]


def _parent(located: Located) -> str:
    return located.path.rpartition("/")[0] or "/"


def _accept_edits() -> Update:
    return {"type": "setMode", "mode": "acceptEdits", "destination": "session"}


def _rule(tool: str, content: str = "", destination: str = "localSettings") -> Update:
    rule = {"toolName": tool, "ruleContent": content} if content else {"toolName": tool}
    return {"type": "addRules", "rules": [rule], "behavior": "allow", "destination": destination}


def escape_pattern(path: str) -> str:
    """A pattern that matches this path and nothing else."""
    return "".join(f"\\{character}" if character in "\\*?[]" else character for character in path)


def broad_rule_warning(rule: Rule) -> str:
    """A warning about an allow rule that covers almost anything; "" for others."""
    if rule.effect is not Effect.ALLOW:
        return ""
    if rule.tool == "Bash":
        first = rule.pattern.removesuffix(":*").split(" ")[0].rpartition("/")[2].rstrip("*")
        open_ended = not rule.pattern or "*" in rule.pattern
        if open_ended and (not first or (first in INTERPRETERS and _is_unbounded(rule.pattern))):
            return (
                f"The rule {rule.text} lets any program run without asking. Name the command and its first arguments."
            )
        return ""
    if rule.tool in FAMILIES["Edit"] and rule.pattern in ("", "//**", "~/**"):
        return f"The rule {rule.text} lets almost any file be changed. Name a directory, such as {rule.tool}(/src/**)."
    return ""


def _is_unbounded(pattern: str) -> bool:
    """Whether the arguments are open: true of `python:*` and `node *`, not of `python -m pytest:*`."""
    words = pattern.removesuffix(":*").removesuffix("*").split()
    return len(words) <= 1 or words[1] in ("-c", "-e", "run", "exec")
