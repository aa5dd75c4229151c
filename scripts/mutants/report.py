"""What a run found: numbers, and the survivors that nobody has judged yet."""

from collections import Counter
from pathlib import Path

from scripts.mutants.journal import Outcome
from scripts.mutants.mutant import Mutant


class Report:
    """Survivors that stand in the table of a page with a verdict are known."""

    def __init__(self, page: Path) -> None:
        self._known = page.read_text(encoding="utf-8") if page.exists() else ""
        self.counts: Counter[str] = Counter()
        self.unjudged: list[Mutant] = []
        self.judged: list[Mutant] = []

    def add(self, mutant: Mutant, outcome: Outcome) -> None:
        self.counts[outcome.status] += 1
        if not outcome.dead:
            (self.judged if mutant.row in self._known else self.unjudged).append(mutant)

    def text(self) -> str:
        total = sum(self.counts.values())
        dead = self.counts["killed"] + self.counts["timeout"]
        numbers = ", ".join(f"{status} {count}" for status, count in sorted(self.counts.items()))
        lines = [f"{total} mutants: {numbers}; {100 * dead / total if total else 0:.1f} % killed"]
        lines.append(f"{len(self.judged)} survivors are judged in docs/testing.md, {len(self.unjudged)} are not")
        return "\n".join([*lines, *(f"{mutant.row} ? |" for mutant in self.unjudged)])
