"""Refuses class and module names that occur twice, and words that the project's vocabulary replaced by others.

What is left of such words stands in names_baseline.txt, which may only become shorter. Usage: check_names.py [--shrink]
"""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

FOLDERS = ("src", "tests", "scripts", "benchmarks", "web/src")
BASELINE = "scripts/names_baseline.txt"
PACKAGE = Path("src/bobstay")
MIGRATIONS = PACKAGE / "server/db/migrations"
SHARED_MODULES = {"__init__", "base"}

INSTEAD = {
    "aside": "quarantine",
    "astray": "gap",
    "attend": "subscribe or track",
    "bell": "notifier",
    "book": "audit log",
    "boxed": "sandboxed",
    "conceal": "redact",
    "concealed": "redacted",
    "crew": "workers",
    "crossed": "threshold or marked",
    "debt": "pending offset",
    "decent": "safe",
    "dock": "approvals",
    "doors": "authentication",
    "ears": "callbacks",
    "gatekeeper": "authentication middleware",
    "go_on": "resume or continue",
    "heard": "received, or a verb",
    "lend": "provide",
    "lent": "claimed",
    "let_go": "release",
    "mask": "redact",
    "masked": "redacted",
    "masks": "redactors",
    "news": "notification",
    "patience": "retry or timeout",
    "picture": "image",
    "pictures": "images",
    "place": "directory, path or position",
    "places": "directories, paths or positions",
    "put_away": "archive",
    "said": "message, text or events",
    "scribe": "recorder",
    "shelf": "registry",
    "shelves": "registries",
    "spoken": "encoded message",
    "standing": "status or state",
    "stubborn": "retrying",
    "stubbornly": "with retry",
    "surroundings": "inventory, environment or prompt context",
    "take_up": "resume or claim",
    "taken_up": "resumed or claimed",
    "talk": "conversation",
    "talks": "conversations",
    "told": "reported, or a noun",
    "verdict": "decision or outcome",
    "verdicts": "decisions or outcomes",
    "wish": "request",
    "wishes": "requests",
    "words": "text, message or prompt",
    "work_tree": "worktree",
    "work_trees": "worktrees",
}
"""Words that are also right in another sense (post, walk, visit, hide, entry, gate, shell) are left to review."""

ALLOWED = {
    ("src/bobstay/permissions/", "words"): "the shell's grammar calls them so",
    ("tests/unit/permissions/", "words"): "the shell's grammar calls them so",
    ("tests/fuzz/", "words"): "the shell's grammar calls them so",
    ("web/src/diff/", "words"): "a diff by words",
    ("web/src/tools/parts/Aside", "aside"): "an aside of a line, not a quarantine",
    ("src/bobstay/tools/files/atomic_write.py", "place"): "a file is written in place",
    ("src/bobstay/server/api/inventory_routes.py", "surroundings"): "operation ids of the API stay",
    ("src/bobstay/server/api/inventory_routes.py", "place"): "operation ids of the API stay",
    ("src/bobstay/server/api/sessions_routes.py", "go_on"): "operation ids of the API stay",
    ("src/bobstay/server/compat/compat_rest.py", "go_on"): "the audit log records calls by this name",
    ("src/bobstay/server/api/providers_routes.py", "verdict"): "schema names of the API stay",
}
"""Beginnings of paths and a word that is right there, with the reason."""

_COMPONENT = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_TYPESCRIPT = (
    re.compile(r"\b(?:function\*?|class|interface|type|enum)\s+([A-Za-z_$][\w$]*)"),
    re.compile(r"\b(?:const|let)\s+([A-Za-z_$][\w$]*)(?::[^=\n]+)?\s*=\s*(?:async\s*)?(?:\([^)\n]*\)|\w+)[^=\n]*=>"),
    re.compile(r"^\s+(?:(?:async|static|private|get|set)\s+)*(#?[A-Za-z_$][\w$]*)\([^\n]*\)[^\n()]*\{$", re.MULTILINE),
)


def main(arguments: list[str], root: Path = Path()) -> int:
    baseline = root / BASELINE
    known = set(baseline.read_text(encoding="utf-8").splitlines()) if baseline.exists() else set[str]()
    replaced = dict(_replaced_names(root))
    if "--shrink" in arguments:
        known &= set(replaced)
        baseline.write_text("".join(f"{line}\n" for line in sorted(known)), encoding="utf-8")
    found = [*_duplicates(root)]
    found += [f"{name}: {why}" for name, why in sorted(replaced.items()) if name not in known]
    found += [
        f"{BASELINE}: {line}: is gone; run scripts/check_names.py --shrink" for line in sorted(known - set(replaced))
    ]
    for problem in found:
        print(problem)
    print(f"name check: {len(found)} problems, {len(known)} old names left")
    return 1 if found else 0


def _duplicates(root: Path) -> Iterator[str]:
    classes, modules = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
    for path in _files(root, "src/bobstay", ".py"):
        if not path.is_relative_to(MIGRATIONS) and path.stem not in SHARED_MODULES:
            modules[path.stem].append(str(path))
        for node in ast.parse((root / path).read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                classes[node.name].append(str(path))
    for kind, names in (("class", classes), ("module", modules)):
        for name, paths in sorted(names.items()):
            if len(paths) > 1:
                yield f"{kind} {name} occurs {len(paths)} times: {', '.join(paths)}"


def _replaced_names(root: Path) -> Iterator[tuple[str, str]]:
    for folder in FOLDERS:
        suffixes = (".ts", ".tsx") if folder == "web/src" else (".py",)
        for path in _files(root, folder, *suffixes):
            if path.is_relative_to(MIGRATIONS) or path.is_relative_to("web/src/gen"):
                continue
            for where, name in _identifiers(root, path):
                for word in _components(name) & INSTEAD.keys():
                    if not any(str(path).startswith(start) and word == right for start, right in ALLOWED):
                        yield f"{where}:{name}", f"say {INSTEAD[word]} instead of {word}"


def _identifiers(root: Path, path: Path) -> Iterator[tuple[Path, str]]:
    """The names of the folders a file is in, its own name, and those of its classes and functions."""
    for folder in path.parents:
        yield folder, folder.name
    yield path, path.name.partition(".")[0]
    text = (root / path).read_text(encoding="utf-8")
    if path.suffix == ".py":
        for node in ast.walk(ast.parse(text)):
            # The name of a test is a sentence, in which these words are plain English.
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.name[:5] != "test_":
                yield path, node.name
        return
    for pattern in _TYPESCRIPT:
        for name in pattern.findall(text):
            yield path, name


def _components(name: str) -> set[str]:
    """The components of a name, and each two that follow one another."""
    parts = [part.lower() for part in _COMPONENT.findall(name)]
    return {*parts, *map("_".join, pairwise(parts))}


def _files(root: Path, folder: str, *suffixes: str) -> Iterator[Path]:
    for path in sorted((root / folder).rglob("*")):
        if path.suffix in suffixes and "node_modules" not in path.parts:
            yield path.relative_to(root)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
