"""Decides whether the actions of a command were permitted, in a much simpler way than the policy."""

import os
from collections.abc import Iterable

from tests.fuzz import fixture_tree
from tests.fuzz.rule_sets import REAL, WRITING, RuleSet
from tests.fuzz.sandbox import Report

GUARDED = frozenset((".git", ".vscode", ".bashrc", ".envrc", ".mcp.json"))
"""Paths of the file tree that a redirection never writes, whatever is allowed."""
TEMPORARY = "/tmp"
PROGRAM_DIRECTORIES = ("/usr/bin/", "/bin/")
TREES = {"Edit(docs/**)": "docs/", "Edit(/logs/**)": "logs/", "Edit(./out.txt)": "out.txt", "Edit(**)": ""}
KEPT = {"Edit(secrets/**)": "secrets/", "Edit(docs/changes.txt)": "docs/changes.txt", "Edit(./logs/**)": "logs/"}
HIDDEN = {
    "Read(./secret.txt)": "secret.txt",
    "Read(secret.txt)": "secret.txt",
    "Read(./secrets/**)": "secrets/",
    "Read(**/*.pem)": "secrets/key.pem",
    "Read(.env)": ".env",
}
"""The meaning of each path rule in rule sets, as the beginning of a path below the project."""


def holes(report: Report, rule_set: RuleSet) -> list[str]:
    """The actions of the command that were not permitted, one sentence each."""
    found = [f"ran {call}" for call in report.get("ran", ()) if not may_run(call, rule_set)]
    if not rule_set.broad:
        found += [f"changed {path}" for path in report.get("changed", ()) if not may_change(path, rule_set)]
        found += ["connected to the loopback"] if report.get("connected") else []
    given = any(may_run(call, rule_set) and _takes_any_words(call, rule_set) for call in report.get("ran", ()))
    for path in report.get("read", ()):
        # A rule that allows a program any words also allows patterns, for which the shell lists directories.
        if not may_read(path, rule_set) and not (given and path in fixture_tree.DIRECTORIES):
            found.append(f"read {path}")
    if "impossible" in report:
        found.append(f"cannot be run as it was judged: {report['impossible']}")
    return found


def may_run(call: list[str], rule_set: RuleSet) -> bool:
    words = [os.path.basename(call[0]), *call[1:]]
    if any(_covers(rule, words) for rule in (*rule_set.deny, *rule_set.ask)):
        return False
    return rule_set.broad or any(_covers(rule, _user_words(call)) for rule in rule_set.allow)


def _takes_any_words(call: list[str], rule_set: RuleSet) -> bool:
    """Whether a rule allows the call and leaves its last word open."""
    words = _user_words(call)
    return any(_covers(rule, words) and _covers(rule, words[:-1]) for rule in rule_set.allow)


def _user_words(call: list[str]) -> list[str]:
    """The words of a call as a user would write them: system programs by name, others by path."""
    path, *arguments = call
    return [os.path.basename(path) if path.startswith(PROGRAM_DIRECTORIES) else path, *arguments]


def may_change(path: str, rule_set: RuleSet) -> bool:
    below = _below(path)
    if below is None:
        return path == TEMPORARY  # the directory itself: some program had a temporary file there
    if any(rule in rule_set.allow for rule in WRITING):
        return True  # files that git writes are not predicted here
    if below == ".git":
        return True  # git creates and removes a lock there; a file that remains is reported by its own name
    if GUARDED.intersection(below.split("/")) or _within(below, _of(rule_set.deny, HIDDEN | KEPT)):
        return False
    trees = _of(rule_set.allow, TREES)
    if _within(below, trees):
        return True
    directory = f"{below}/" if below else ""
    return any(tree.startswith(directory) for tree in trees)  # a new file also changes the directory it is in


def may_read(path: str, rule_set: RuleSet) -> bool:
    below = _below(path)
    if below is not None:
        # `git add` reads what it adds, so a rule that allows it allows that.
        return any(rule in rule_set.allow for rule in WRITING) or not _within(below, _of(rule_set.deny, HIDDEN))
    return rule_set.broad or any(rule in rule_set.allow for rule in (*REAL, *WRITING))


def _below(path: str) -> str | None:
    """A path relative to the project, or None outside it."""
    if path == fixture_tree.ROOT:
        return ""
    return path.removeprefix(f"{fixture_tree.ROOT}/") if path.startswith(f"{fixture_tree.ROOT}/") else None


def _within(below: str, paths: tuple[str, ...]) -> bool:
    """Whether a path is one of the files, or in one of the directories (which end in a slash, but for the whole)."""
    return any(below == path or ((path.endswith("/") or not path) and below.startswith(path)) for path in paths)


def _of(rules: Iterable[str], meaning: dict[str, str]) -> tuple[str, ...]:
    return tuple(meaning[rule] for rule in rules if rule in meaning)


def _covers(rule: str, words: list[str]) -> bool:
    """Whether a rule about commands covers a program with its arguments."""
    if not rule.startswith("Bash("):
        return False
    text = rule.removeprefix("Bash(").removesuffix(")")
    for ending in (":*", " *"):
        if text.endswith(ending):
            beginning = text.removesuffix(ending).split()
            return words[: len(beginning)] == beginning
    return words == text.split()
