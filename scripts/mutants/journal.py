"""The outcomes of a run, one JSON line each, so that a run that was stopped goes on where it was."""

import hashlib
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec
from scripts.mutants.mutant import Mutant

Status: TypeAlias = Literal["killed", "timeout", "survived", "unreached"]


class Outcome(msgspec.Struct, frozen=True):
    """What the tests said about one mutant."""

    id: str
    path: str
    scope: str
    line: int
    operator: str
    before: str
    after: str
    number: int
    source: str
    """The state of the mutated file."""
    status: Status
    by: str = ""
    """The test that failed."""
    asked: int = 0
    reaching: int = 0
    seconds: float = 0.0

    @property
    def dead(self) -> bool:
        return self.status in ("killed", "timeout")


class Journal:
    """The last outcome of each mutant counts."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self.outcomes: dict[str, Outcome] = {}
        if place.exists():
            for line in place.read_bytes().splitlines():
                try:
                    outcome = msgspec.json.decode(line, type=Outcome)
                except msgspec.DecodeError:
                    continue  # the last line of a run that was killed
                self.outcomes[outcome.id] = outcome

    def add(self, outcome: Outcome) -> None:
        self.outcomes[outcome.id] = outcome
        self._place.parent.mkdir(parents=True, exist_ok=True)
        with self._place.open("ab") as file:
            file.write(msgspec.json.encode(outcome) + b"\n")

    def known(self, mutant: Mutant, source: str) -> Outcome | None:
        """What was said about it before, if its file is still the same."""
        outcome = self.outcomes.get(mutant.id)
        return outcome if outcome is not None and outcome.source == state_of(source) else None


def state_of(source: str) -> str:
    """Tells versions of a file apart."""
    return hashlib.sha256(source.encode()).hexdigest()[:16]


def outcome_of(mutant: Mutant, source: str, status: Status, by: str = "") -> Outcome:
    """An outcome with all that names the mutant."""
    return Outcome(
        id=mutant.id,
        path=mutant.path,
        scope=mutant.scope,
        line=mutant.span.line,
        operator=mutant.operator,
        before=mutant.before,
        after=mutant.after,
        number=mutant.number,
        source=state_of(source),
        status=status,
        by=by,
    )
