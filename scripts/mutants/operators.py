"""Makes the mutants of a source file: each is one node of its syntax tree that reads differently."""

import ast
from collections import Counter
from collections.abc import Iterator
from typing import TypeAlias

from scripts.mutants.mutant import Mutant, Span

Change: TypeAlias = tuple[str, ast.AST, str]
"""The operator's name, the node, and the text in its place."""

_FLIPPED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_NOT_RUN = {"TYPE_CHECKING", "__all__", "__slots__", "__match_args__"}
_SILENT_CALLS = {"cast", "TypeVar", "NewType", "NamedTuple"}


def mutants_of(path: str, source: str) -> list[Mutant]:
    """Every mutant of a file, in the order of its lines."""
    walk = _Walk()
    walk.visit(ast.parse(source))
    seen: Counter[tuple[str, str, str, str]] = Counter()
    found: list[Mutant] = []
    for scope, operator, node, after in walk.found:
        span = _span(node)
        before = ast.get_source_segment(source, node) or ""
        if not before or before == after:
            continue
        key = (scope, operator, before, after)
        found.append(Mutant(path, scope, operator, before, after, span, seen[key]))
        seen[key] += 1
    return found


def compiles(source: str) -> bool:
    """Whether it is still a program; a few changes leave none, as `return` outside its function's generator."""
    try:
        compile(source, "mutant", "exec")
    except (SyntaxError, ValueError):
        return False
    return True


class _Walk(ast.NodeVisitor):
    """Collects changes, and leaves out what does not run: annotations, docstrings, texts with blanks in them."""

    def __init__(self) -> None:
        self.found: list[tuple[str, str, ast.AST, str]] = []
        self._names: list[str] = []

    def visit(self, node: ast.AST) -> None:
        for operator, at, after in _changes(node):
            self.found.append((".".join(self._names), operator, at, after))
        super().visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._function(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._names.append(node.name)
        for keyword in node.keywords:
            if keyword.arg != "frozen":  # the type checkers see to that
                self.visit(keyword)
        for statement in node.body:
            self.visit(statement)
        self._names.pop()

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None and ast.unparse(node.annotation) != "TypeAlias":
            self.visit(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        if not any(isinstance(target, ast.Name) and target.id in _NOT_RUN for target in node.targets):
            self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        if not (isinstance(node.test, ast.Name) and node.test.id in _NOT_RUN):
            self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # a docstring
            self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Positions inside are wrong before Python 3.12."""

    def visit_Assert(self, node: ast.Assert) -> None:
        """States what holds anyway."""

    def visit_Call(self, node: ast.Call) -> None:
        if not (isinstance(node.func, ast.Name) and node.func.id in _SILENT_CALLS):
            self.generic_visit(node)

    def visit_MatchValue(self, node: ast.MatchValue) -> None:
        """A pattern takes no changed expression."""

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._names.append(node.name)
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self.visit(default)
        for statement in node.body:
            self.visit(statement)
        self._names.pop()


def _changes(node: ast.AST) -> Iterator[Change]:
    match node:
        case ast.Compare():
            yield from _comparisons(node)
        case ast.BoolOp(op=op, values=values):
            other = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield "and/or", node, f"({ast.unparse(ast.BoolOp(other, values))})"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "not removed", node, f"({ast.unparse(operand)})"
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right) if not _texts(left, right):
            swapped = ast.Sub() if isinstance(op, ast.Add) else ast.Add()
            yield "+/-", node, f"({ast.unparse(ast.BinOp(left, swapped, right))})"
        case ast.Constant():
            yield from _constants(node)
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            yield from _negated(test)
        case ast.match_case(guard=guard) if guard is not None:
            yield from _negated(guard)
        case ast.comprehension(ifs=ifs):
            for test in ifs:
                yield from _negated(test)
        case ast.ExceptHandler(body=body):
            yield from _handlers(body)
        case ast.stmt():
            yield from _statements(node)
        case _:
            pass


def _comparisons(node: ast.Compare) -> Iterator[Change]:
    for place, operator in enumerate(node.ops):
        operators = [*node.ops]
        operators[place] = _FLIPPED[type(operator)]()
        changed = ast.Compare(node.left, operators, node.comparators)
        yield "comparison", node, f"({ast.unparse(changed)})"


def _negated(test: ast.expr) -> Iterator[Change]:
    """A comparison and a `not` have changes of their own that do the same."""
    one = isinstance(test, ast.Compare) and len(test.ops) == 1
    if not one and not isinstance(test, ast.Constant | ast.UnaryOp):
        yield "condition negated", test, f"(not ({ast.unparse(test)}))"


def _constants(node: ast.Constant) -> Iterator[Change]:
    match node.value:
        case bool(value):
            yield "constant", node, repr(not value)
        case int(value) | float(value):
            yield "constant", node, repr(value + 1)
        case str(value) if value and " " not in value:
            yield "constant", node, '""'
        case bytes(value) if value:
            yield "constant", node, 'b""'
        case _:
            pass


def _statements(node: ast.stmt) -> Iterator[Change]:
    match node:
        case ast.Return(value=None) | ast.Raise() | ast.Delete() | ast.AugAssign():
            yield "statement deleted", node, "pass"
        case ast.Break() | ast.Continue():
            yield "statement deleted", node, "pass"
        case ast.Return(value=value) if value is not None and not _is_none(value):
            yield "value returned", node, "return None"
        case ast.Expr(value=ast.Await()):
            yield "await deleted", node, "pass"
        case ast.Expr(value=value) if not isinstance(value, ast.Constant):
            yield "statement deleted", node, "pass"
        case ast.Assign(targets=targets) if not any(isinstance(target, ast.Name) for target in targets):
            if any(isinstance(target, ast.Attribute | ast.Subscript) for target in targets):
                yield "statement deleted", node, "pass"
        case _:
            pass


def _handlers(body: list[ast.stmt]) -> Iterator[Change]:
    """Only the first statement becomes `raise`: what stands behind it is then never reached."""
    if not isinstance(body[0], ast.Raise):
        yield "handler raises", body[0], "raise"


def _texts(left: ast.expr, right: ast.expr) -> bool:
    """Whether something is joined, not added."""
    kinds = (ast.JoinedStr, ast.Tuple, ast.List)
    return any(
        isinstance(side, kinds) or (isinstance(side, ast.Constant) and isinstance(side.value, str | bytes))
        for side in (left, right)
    )


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _span(node: ast.AST) -> Span:
    assert isinstance(node, ast.expr | ast.stmt)
    return Span(node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)
