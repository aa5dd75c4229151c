"""Diagnostics as servers send them, read without trusting their form."""

from collections import Counter
from typing import Any

from msgspec import Struct

from bobstay.tools.lsp.source_text import from_utf16, split_lines

MAX_DIAGNOSTICS = 1_000
_LONGEST = 500
_SEVERITIES = {1: "error", 2: "warning", 3: "information", 4: "hint"}


class Diagnostic(Struct, frozen=True):
    """One finding, with lines and columns counted from 1."""

    line: int
    column: int
    severity: int
    message: str
    source: str = ""

    @property
    def is_error(self) -> bool:
        return self.severity == 1

    def describe(self) -> str:
        origin = f" ({self.source})" if self.source else ""
        return f"{self.line}:{self.column}: {_SEVERITIES[self.severity]}: {self.message}{origin}"


def read_diagnostics(given: Any, text: str) -> tuple[Diagnostic, ...]:
    """The diagnostics in a server's list about `text`, worst first; what is malformed is left out."""
    found: list[Diagnostic] = []
    lines = split_lines(text)
    for each in given[:MAX_DIAGNOSTICS] if isinstance(given, list) else ():
        start = _field(_field(each, "range"), "start")
        line, units = _number(_field(start, "line")), _number(_field(start, "character"))
        column = from_utf16(lines[line], units) if line < len(lines) else units
        message = _field(each, "message")
        if not isinstance(message, str):
            continue
        severity = _field(each, "severity")
        code, source = _field(each, "code"), _field(each, "source")
        origin = " ".join(str(part)[:60] for part in (source, code) if isinstance(part, str | int) and part != "")
        known = severity if isinstance(severity, int) and severity in _SEVERITIES else 1
        found.append(Diagnostic(line + 1, column + 1, known, " ".join(message.split())[:_LONGEST], origin))
    return tuple(sorted(found, key=lambda each: (each.severity, each.line, each.column)))


def new_errors(before: tuple[Diagnostic, ...], now: tuple[Diagnostic, ...]) -> list[Diagnostic]:
    """The errors of `now` that were not there before. Lines do not count: an edit moves them."""
    old = Counter((each.message, each.source) for each in before if each.is_error)
    fresh: list[Diagnostic] = []
    for each in now:
        if each.is_error:
            key = (each.message, each.source)
            if old[key]:
                old[key] -= 1
            else:
                fresh.append(each)
    return fresh


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _number(value: Any) -> int:
    return value if isinstance(value, int) and 0 <= value < 1 << 31 else 0
