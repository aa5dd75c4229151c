"""Infers how the model's indentation maps to the file's, and applies the rule to new lines."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from bobstay.tools.files.lookalikes import indent_of

_UNITS = ("\t", "    ", "  ", "        ", "   ")
Pair = tuple[str, str]
"""The indentation of one line as the model wrote it, and as the file has it."""


class Reindent(Struct, frozen=True):
    """Rule that converts the model's indentation to the file's."""

    given: str = ""
    """One indentation level of the model; empty if levels need no change."""
    wanted: str = ""
    add: str = ""
    """Prefix that every line of the file has in addition."""
    drop: str = ""
    """Prefix that every line of the model has and the file lacks."""

    def __call__(self, line: str) -> str:
        if not line.strip():
            return line
        indent = indent_of(line)
        return self.add + self.level(indent).removeprefix(self.drop) + line[len(indent) :]

    def level(self, indent: str) -> str:
        if not self.given:
            return indent
        depth = 0
        while indent.startswith(self.given, depth * len(self.given)):
            depth += 1
        return self.wanted * depth + indent[depth * len(self.given) :]

    def explains(self, pairs: Sequence[Pair]) -> bool:
        return all(
            (level := self.level(given)).startswith(self.drop) and self.add + level.removeprefix(self.drop) == wanted
            for given, wanted in pairs
        )


def find_indent_rule(pairs: Sequence[Pair]) -> Reindent | None:
    """Find the simplest rule that explains all pairs, or None."""
    return next((rule for rule in _rules(pairs) if rule.explains(pairs)), None)


def _rules(pairs: Sequence[Pair]) -> Iterator[Reindent]:
    units = [Reindent(), *(Reindent(given, wanted) for given in _UNITS for wanted in _UNITS if given != wanted)]
    yield from units
    if not pairs:
        return
    given, wanted = pairs[0]
    for unit in units:
        level = unit.level(given)
        if wanted.endswith(level) and wanted != level:
            yield Reindent(unit.given, unit.wanted, add=wanted.removesuffix(level))
        elif level.endswith(wanted) and wanted != level:
            yield Reindent(unit.given, unit.wanted, drop=level.removesuffix(wanted))
