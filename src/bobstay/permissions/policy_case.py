"""Judges one recorded case with the policy of sessions, without reading disk, settings or trust."""

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from bobstay.permissions.access import Access, PolicyDecision
from bobstay.permissions.path_resolution import normalise
from bobstay.permissions.policy import Policy
from bobstay.permissions.rule import BEHAVIORS, BadRule, Rule

ROOT = "/srv/proj"
HOME = "/home/dev"

EffectName: TypeAlias = Literal["allow", "ask", "deny"]
Case: TypeAlias = dict[str, Any]

EFFECT_NAMES: tuple[EffectName, ...] = ("allow", "ask", "deny")
"""Indexed by `Effect`."""
ACCESS_OF_TOOL: dict[str, tuple[Literal["read", "write", "exec", "net"], str, str]] = {
    "Bash": ("exec", "command", "command"),
    "Read": ("read", "path", "file_path"),
    "Glob": ("read", "path", "path"),
    "Grep": ("read", "path", "path"),
    "Edit": ("write", "path", "file_path"),
    "Write": ("write", "path", "file_path"),
    "NotebookEdit": ("write", "path", "notebook_path"),
    "WebFetch": ("net", "url", "url"),
}
"""For each tool: the kind of access, the field of the case with its target, and the field of the tool's input."""


class BadCase(ValueError):  # noqa: N818 - it names a thing, not an event
    """A malformed case. The message says what was expected."""


def decide(case: Case) -> tuple[EffectName, str]:
    """The effect for a case and the reason. A malformed case gives `ask` instead of an exception."""
    try:
        found = judge_case(case)
    except BadCase as error:
        return "ask", f"The case cannot be judged: {error}."
    return EFFECT_NAMES[found.effect], found.why


def judge_case(case: Case) -> PolicyDecision:
    """Judge a case and return the whole decision. Raises `BadCase`."""
    if not isinstance(case, dict):  # pyright: ignore[reportUnnecessaryIsInstance] - it comes from outside
        raise BadCase("expected a JSON object")
    tool = case.get("tool")
    if not isinstance(tool, str) or not tool:
        raise BadCase('expected "tool" to name a tool, such as Bash, Read, Edit, WebFetch or mcp__server__tool')
    policy = _policy(case)
    if tool.startswith("mcp__"):
        given = case.get("input", {})
        if not isinstance(given, dict):
            raise BadCase('expected "input" to be an object')
        return policy.judge(tool, (), given, read_only=False)
    if tool not in ACCESS_OF_TOOL:
        raise BadCase(
            f"the tool {tool[:80]!r} is not known here: expected one of {', '.join(ACCESS_OF_TOOL)} or mcp__*"
        )
    kind, field, key = ACCESS_OF_TOOL[tool]
    target = case.get(field)
    if not isinstance(target, str):
        raise BadCase(f'expected "{field}" to be a text')
    return policy.judge(tool, (Access(kind, target),), {key: target}, read_only=kind == "read")


def _policy(case: Case) -> Policy:
    fs = case.get("fs", {})
    if not isinstance(fs, dict):
        raise BadCase('expected "fs" to be an object')
    policy = Policy(
        "default",
        _rules(case.get("rules", {})),
        root=ROOT,
        home=HOME,
        readlink=_links(fs.get("symlinks", {})),
        fold_case=fs.get("case_insensitive", False) is True,
    )
    cwd = case.get("cwd", ROOT)
    if not isinstance(cwd, str) or not cwd.startswith("/") or "\0" in cwd:
        raise BadCase('expected "cwd" to be an absolute path')
    policy.set_cwd(normalise(cwd))
    return policy


def _rules(given: Any) -> list[Rule]:
    if not isinstance(given, dict):
        raise BadCase('expected "rules" to be an object with the lists allow, ask and deny')
    found: list[Rule] = []
    for behavior, texts in given.items():
        if behavior not in BEHAVIORS:
            raise BadCase(f"rules has the unknown list {str(behavior)[:80]!r}: expected allow, ask or deny")
        if not isinstance(texts, list):
            raise BadCase(f"expected rules.{behavior} to be a list of texts")
        for text in texts:
            if not isinstance(text, str):
                raise BadCase(f"expected rules.{behavior} to be a list of texts")
            try:
                found.append(Rule.parse(text, BEHAVIORS[behavior], "project"))
            except BadRule as error:
                raise BadCase(f"in rules.{behavior}, {error}") from None
    return found


def _links(given: Any) -> Callable[[str], str | None]:
    if not isinstance(given, dict) or not all(isinstance(part, str) for pair in given.items() for part in pair):
        raise BadCase('expected "fs.symlinks" to be an object of texts: {link: target}')
    return _Links({normalise(link): target for link, target in given.items()})


class _Links:
    """Reads links from a fixed table, and lists those in a directory."""

    def __init__(self, known: dict[str, str]) -> None:
        self._known = known

    def __call__(self, path: str) -> str | None:
        return self._known.get(path)

    def links(self, directory: str, *, deep: bool) -> list[str] | None:
        from bobstay.permissions.shell.directory_links import links_of

        return links_of(self._known, directory, deep=deep)
