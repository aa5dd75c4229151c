"""Where a mutant can be seen from: the lines that a test has to reach."""

import ast
import re
from typing import TypeAlias

from scripts.mutants.mutant import Mutant

LinesByFile: TypeAlias = dict[str, frozenset[int]]
"""Lines by file."""
_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


def reachable_lines(mutant: Mutant, sources: dict[str, str]) -> LinesByFile:
    """The lines by which a test notices the mutant.

    What is evaluated when a module is imported is reached by everything. So for the default of an argument the body of
    its function counts, for a constant or the field of a class the lines that name it, in all files there are, and for
    the rest the bodies of all functions of the module.
    """
    tree = ast.parse(sources[mutant.path])
    functions = _functions(tree)
    start, end = mutant.span.line, mutant.span.end_line
    around = [node for node in functions if node.lineno <= start <= (node.end_lineno or node.lineno)]
    if around:
        innermost = max(around, key=lambda node: node.lineno)
        in_body = start >= innermost.body[0].lineno
        return {mutant.path: frozenset(range(start, end + 1)) if in_body else _body(innermost)}
    named = _naming(_name_of(tree, start), sources)
    return named or {mutant.path: frozenset[int]().union(*map(_body, functions))}


def _name_of(tree: ast.Module, line: int) -> str:
    """The constant or field whose value stands in this line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.lineno <= line <= (node.end_lineno or node.lineno):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name):
                return target.id
    return ""


def _naming(name: str, sources: dict[str, str]) -> LinesByFile:
    if not name:
        return {}
    word = re.compile(rf"\b{re.escape(name)}\b")
    found: LinesByFile = {}
    for path, source in sources.items():
        named = {number for number, line in enumerate(source.split("\n"), 1) if word.search(line)}
        if named:
            inside = frozenset[int]().union(*map(_body, _functions(ast.parse(source)))) & named
            if inside:
                found[path] = inside
    return found


def _functions(tree: ast.Module) -> list[_Function]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def _body(node: _Function) -> frozenset[int]:
    return frozenset(range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1))
