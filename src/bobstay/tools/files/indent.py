"""Learns how the indentation of two spellings of the same lines corresponds, and carries it over to new lines."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from bobstay.tools.files.lookalikes import indent_of

_UNITS = ("\t", "    ", "  ", "        ", "   ")
Pair = tuple[str, str]
"""The indentation a model wrote and the one the file has, of the same line."""


class Reindent(Struct, frozen=True):
    """How indentation as the model writes it becomes indentation as the file has it."""

    given: str = ""
    """What the model takes for one level; empty where levels need no change."""
    wanted: str = ""
    add: str = ""
    """What every line of the file has in front."""
    drop: str = ""
    """What every line of the model has in front that the file has not."""

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


def fit(pairs: Sequence[Pair]) -> Reindent | None:
    """The simplest rule that turns each given indentation into the wanted one, or None."""
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
