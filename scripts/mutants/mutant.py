"""One small change of a source file, and how it is written down."""

import hashlib
from typing import NamedTuple


class Span(NamedTuple):
    """A piece of a source file, as the syntax tree counts: lines from 1, columns in bytes from 0."""

    line: int
    column: int
    end_line: int
    end_column: int


class Mutant(NamedTuple):
    """Where, what, and instead of what."""

    path: str
    """The file, relative to the project."""
    scope: str
    """The function it is in, as `Class.method`; empty at the top of the module."""
    operator: str
    before: str
    after: str
    span: Span
    number: int
    """Counts changes of one function that read the same."""

    @property
    def id(self) -> str:
        """Stays the same when lines above it move."""
        text = "\0".join((self.path, self.scope, self.operator, self.before, self.after, str(self.number)))
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @property
    def row(self) -> str:
        """The first cells of its row in a table of survivors."""
        number = f" ({self.number + 1})" if self.number else ""
        place = f"`{self.path.removeprefix('src/bobstay/')}` `{self.scope or 'module'}`{number}"
        return f"| {place} | {_code(self.before)} → {_code(self.after)} |"

    def applied(self, source: str) -> str:
        """The source with the change made."""
        lines = source.encode().splitlines(keepends=True)
        start = sum(len(line) for line in lines[: self.span.line - 1]) + self.span.column
        end = sum(len(line) for line in lines[: self.span.end_line - 1]) + self.span.end_column
        data = source.encode()
        return (data[:start] + self.after.encode() + data[end:]).decode()


def _code(text: str) -> str:
    words = " ".join(text.split())
    short = words if len(words) <= 90 else f"{words[:87]}..."
    return f"`{short}`".replace("|", "\\|")
