"""Writes docs/requirements/traceability.md: every requirement with the tests that name it.

A requirement is a list item of a page in docs/requirements that begins with an id. A test names a requirement by
writing its id in the test, in the docstring of its file, or, in the web tests, anywhere in the file.
"""

import argparse
import ast
import re
import sys
from collections import defaultdict
from pathlib import Path

PROJECT = Path(__file__).parents[1]
PAGE = "docs/requirements/traceability.md"
SOURCES = ("harness", "console", "failures")
ID = r"(?:H\d{1,2}-\d{1,2}|S00\d-Q?\d{1,2}|FM-\d{1,2}|F[1-9]\d?)"
DEFINED = re.compile(rf"^- ({ID}) (.+)$", re.MULTILINE)
NAMED = re.compile(rf"(?<![\w-])({ID})(?![\w-])(?:(?:\.\.|\s*to\s+)(?:[A-Z]+\d*-)?(\d{{1,2}})\b)?")
HEAD = """# Traceability

Each requirement with the tests that name it. `make traceability` writes this page; a test fails when it is out of date,
and when a test names an id that no page defines.

"""


def requirements(project: Path) -> dict[str, str]:
    """Return the sentence of each id, in the order of the pages."""
    pages = (project / "docs/requirements" / f"{name}.md" for name in SOURCES)
    return {found[1]: found[2] for page in pages for found in DEFINED.finditer(page.read_text(encoding="utf-8"))}


def named_ids(text: str) -> set[str]:
    """Return the ids a text names; `FM-40..47` and `H3-1 to H3-4` name all between."""
    ids: set[str] = set()
    for found in NAMED.finditer(text):
        first, last = found[1], found[2]
        prefix, number = re.fullmatch(r"(.*?)(\d+)", first).groups()  # type: ignore[union-attr]  # ID ends with digits
        ids |= {f"{prefix}{each}" for each in range(int(number), int(last or number) + 1)} or {first}
    return ids


def mentions_by_id(project: Path) -> dict[str, set[str]]:
    """Return the tests that name each id."""
    tests: dict[str, set[str]] = defaultdict(set)
    for path in sorted((project / "tests").rglob("*.py")):
        name = str(path.relative_to(project))
        text = path.read_text(encoding="utf-8")
        if not NAMED.search(text):
            continue
        tree, lines = ast.parse(text), text.splitlines()
        for id in named_ids(ast.get_docstring(tree) or ""):
            tests[id].add(name)
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                for id in named_ids("\n".join(lines[node.lineno - 1 : node.end_lineno])):
                    tests[id].add(f"{name}::{node.name}")
    for path in sorted((project / "web/src").rglob("*.test.ts*")):
        for id in named_ids(path.read_text(encoding="utf-8")):
            tests[id].add(str(path.relative_to(project)))
    return tests


def page(project: Path) -> str:
    tests = mentions_by_id(project)
    rows = ["| id | requirement | tests |", "|---|---|---|"]
    for id, sentence in requirements(project).items():
        named_by = [f"`{test}`" for test in sorted(tests.get(id, ()))]
        shown = "<br>".join(named_by) if named_by else "not yet"
        rows.append(f"| {id} | {_shortened(sentence)} | {shown} |")
    return HEAD + "\n".join(rows) + "\n"


def unknown_ids(project: Path) -> dict[str, set[str]]:
    """Return the ids that tests name and no page defines, with these tests."""
    known = requirements(project)
    return {id: tests for id, tests in mentions_by_id(project).items() if id not in known}


def _shortened(sentence: str, longest: int = 160) -> str:
    plain = re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", sentence).replace("|", "\\|")
    return plain if len(plain) <= longest else f"{plain[: longest - 1].rsplit(' ', 1)[0]} …"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the page is out of date")
    given = parser.parse_args(arguments)
    path, text = PROJECT / PAGE, page(PROJECT)
    if not given.check:
        path.write_text(text, encoding="utf-8")
        return 0
    if unknown := unknown_ids(PROJECT):
        print("\n".join(f"{id} is defined nowhere: {', '.join(sorted(tests))}" for id, tests in unknown.items()))
        return 1
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        print(f"{PAGE} is out of date: run `make traceability`.")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
