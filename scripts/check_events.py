"""Refuses a `match` or a table over the kinds of events that would silently pass over the next kind."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from msgspec import Struct

from bobstay.model.event import Durable, Event
from bobstay.model.live_events import Live

FOLDERS = ("src", "tests", "scripts", "benchmarks")
UNIONS = [frozenset(kind.__name__ for kind in get_args(union)) for union in (Event, Durable, Live)]
KINDS = UNIONS[0]
GROUPS = {base.__name__ for kind in get_args(Event) for base in kind.__mro__ if base not in (object, Struct, kind)}
CATCH_ALL = {"object", "Struct"}
PARTIAL: dict[str, str] = {}
"""Tables that may name some kinds only, as `path:NAME`, with the reason."""


def main(root: Path = Path()) -> int:
    found: list[str] = []
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.py")):
            if "node_modules" not in path.parts:
                found += problems(path.relative_to(root), path.read_text(encoding="utf-8"))
    for problem in found:
        print(problem)
    print(f"event check: {len(found)} problems")
    return 1 if found else 0


def problems(path: Path, text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Match(cases=cases):
                yield from _match_problems(path, cases)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Dict() as table):
                yield from _table_problems(path, name, table)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.Dict() as table):
                yield from _table_problems(path, name, table)


def _match_problems(path: Path, cases: list[ast.match_case]) -> Iterator[str]:
    named = {name for case in cases for name in _classes(case.pattern)}
    if not named & (KINDS | GROUPS):
        return
    for case in cases:
        if case.guard is None and _is_irrefutable(case.pattern):
            yield f"{path}:{case.pattern.lineno}: this case hides new kinds of events; list the kinds that are ignored"


def _table_problems(path: Path, name: str, table: ast.Dict) -> Iterator[str]:
    named = {_name(key) for key in table.keys} & KINDS
    if named and named not in UNIONS and f"{path}:{name}" not in PARTIAL:
        missing = min((union - named for union in UNIONS if named <= union), key=len)
        yield f"{path}:{table.lineno}: {name} does not name {', '.join(sorted(missing))}"


def _classes(pattern: ast.pattern) -> set[str]:
    return {_name(node.cls) for node in ast.walk(pattern) if isinstance(node, ast.MatchClass)}


def _is_irrefutable(pattern: ast.pattern) -> bool:
    match pattern:
        case ast.MatchAs(pattern=None):
            return True
        case ast.MatchAs(pattern=ast.pattern() as inner):
            return _is_irrefutable(inner)
        case ast.MatchOr(patterns=patterns):
            return any(_is_irrefutable(each) for each in patterns)
        case ast.MatchClass(cls=cls, patterns=[], kwd_patterns=[]):
            return _name(cls) in CATCH_ALL
        case _:
            return False


def _name(node: ast.expr | None) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


if __name__ == "__main__":
    sys.exit(main())
