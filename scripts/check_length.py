"""Refuses files and functions that have grown too long, and module names that say nothing."""

import ast
import sys
from pathlib import Path

FILE, TEST_FILE, FUNCTION = 350, 500, 60
EMPTY_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "managers", "handler", "handlers"}


def main() -> int:
    found: list[str] = []
    for folder in ("src", "tests", "scripts", "benchmarks"):
        for path in sorted(Path(folder).rglob("*.py")):
            if "node_modules" not in path.parts:
                found += problems(path)
    for path in sorted(Path("web/src").rglob("*.ts*")):
        if "gen" not in path.parts:
            found += page_problems(path)
    for problem in found:
        print(problem)
    print(f"length check: {len(found)} problems")
    return 1 if found else 0


def page_problems(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    tests = ".test." in path.name
    longest = TEST_FILE if tests else FILE
    count = text.count("\n")
    found = [f"{path}: {count} lines, at most {longest}"] if count > longest else []
    if path.stem.partition(".")[0] in EMPTY_NAMES:
        found.append(f"{path}: the name does not say what is in it")
    if not tests and not text.startswith("/**"):
        found.append(f"{path}: does not open with a sentence on what it is for")
    return found


def problems(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    tests = path.parts[0] == "tests"
    longest = TEST_FILE if tests else FILE
    count = text.count("\n")
    found = [f"{path}: {count} lines, at most {longest}"] if count > longest else []
    if path.stem in EMPTY_NAMES:
        found.append(f"{path}: the name does not say what is in it")
    tree = ast.parse(text)
    if text.strip() and ast.get_docstring(tree) is None and path.name != "__init__.py":
        found.append(f"{path}: does not open with a sentence on what it is for")
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION:
                found.append(f"{path}:{node.lineno}: {node.name} has {length} lines, at most {FUNCTION}")
    return found


if __name__ == "__main__":
    sys.exit(main())
