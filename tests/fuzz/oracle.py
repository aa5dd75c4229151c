"""Decides whether what a command did was permitted, by means far simpler than the policy's own."""

import os
from collections.abc import Iterable

from tests.fuzz import world
from tests.fuzz.sandbox import Report
from tests.fuzz.scene import REAL, WRITING, Scene

GUARDED = frozenset((".git", ".vscode", ".bashrc", ".envrc", ".mcp.json"))
"""Never written by a redirection, whatever is allowed (of those in the world)."""
TEMPORARY = "/tmp"
PLACES = ("/usr/bin/", "/bin/")
TREES = {"Edit(docs/**)": "docs/", "Edit(/logs/**)": "logs/", "Edit(./out.txt)": "out.txt", "Edit(**)": ""}
KEPT = {"Edit(secrets/**)": "secrets/", "Edit(docs/changes.txt)": "docs/changes.txt", "Edit(./logs/**)": "logs/"}
HIDDEN = {
    "Read(./secret.txt)": "secret.txt",
    "Read(secret.txt)": "secret.txt",
    "Read(./secrets/**)": "secrets/",
    "Read(**/*.pem)": "secrets/key.pem",
    "Read(.env)": ".env",
}
"""What each path rule that scenes use means, as the beginning of a path below the project."""


def holes(report: Report, scene: Scene) -> list[str]:
    """What the command did though nobody permitted it, one sentence each."""
    found = [f"ran {call}" for call in report.get("ran", ()) if not may_run(call, scene)]
    if not scene.broad:
        found += [f"changed {path}" for path in report.get("changed", ()) if not may_change(path, scene)]
        found += ["connected to the loopback"] if report.get("connected") else []
    given = any(may_run(call, scene) and _takes_any_words(call, scene) for call in report.get("ran", ()))
    for path in report.get("read", ()):
        # Whoever allows a program any words has allowed patterns among them, for which the shell lists directories.
        if not may_read(path, scene) and not (given and path in world.DIRECTORIES):
            found.append(f"read {path}")
    if "impossible" in report:
        found.append(f"cannot be run as it was judged: {report['impossible']}")
    return found


def may_run(call: list[str], scene: Scene) -> bool:
    words = [os.path.basename(call[0]), *call[1:]]
    if any(_covers(rule, words) for rule in (*scene.deny, *scene.ask)):
        return False
    return scene.broad or any(_covers(rule, _named(call)) for rule in scene.allow)


def _takes_any_words(call: list[str], scene: Scene) -> bool:
    """Whether a rule allows the call and leaves its last word open."""
    words = _named(call)
    return any(_covers(rule, words) and _covers(rule, words[:-1]) for rule in scene.allow)


def _named(call: list[str]) -> list[str]:
    """The words of a call as its user would spell them: programs of the system by name, others by path."""
    place, *arguments = call
    return [os.path.basename(place) if place.startswith(PLACES) else place, *arguments]


def may_change(path: str, scene: Scene) -> bool:
    below = _below(path)
    if below is None:
        return path == TEMPORARY  # the directory itself: some program had a file there for a moment
    if any(rule in scene.allow for rule in WRITING):
        return True  # what git writes for its user is not ours to foresee
    if below == ".git":
        return True  # git takes and returns a lock there; what stays behind is reported by its own name
    if GUARDED.intersection(below.split("/")) or _within(below, _of(scene.deny, HIDDEN | KEPT)):
        return False
    trees = _of(scene.allow, TREES)
    if _within(below, trees):
        return True
    directory = f"{below}/" if below else ""
    return any(tree.startswith(directory) for tree in trees)  # a new file also changes the directory it is in


def may_read(path: str, scene: Scene) -> bool:
    below = _below(path)
    if below is not None:
        # `git add` reads what it adds: whoever allows it has allowed that.
        return any(rule in scene.allow for rule in WRITING) or not _within(below, _of(scene.deny, HIDDEN))
    return scene.broad or any(rule in scene.allow for rule in (*REAL, *WRITING))


def _below(path: str) -> str | None:
    """A path relative to the project, or None outside it."""
    if path == world.ROOT:
        return ""
    return path.removeprefix(f"{world.ROOT}/") if path.startswith(f"{world.ROOT}/") else None


def _within(below: str, places: tuple[str, ...]) -> bool:
    """Whether a path is one of the files, or in one of the directories (which end in a slash, but for the whole)."""
    return any(below == place or ((place.endswith("/") or not place) and below.startswith(place)) for place in places)


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
