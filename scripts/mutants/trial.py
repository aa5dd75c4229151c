"""Puts one mutant to the tests that can see it."""

import re
import time
from typing import NamedTuple

import msgspec
from scripts.mutants.journal import Outcome, outcome_of
from scripts.mutants.mutant import Mutant
from scripts.mutants.reach import Chosen, Reach
from scripts.mutants.reachable_lines import reachable_lines
from scripts.mutants.scratch import Ended, Scratch
from scripts.mutants.targets import UNSEEN

_NO_TESTS = 5
"""How pytest ends when it has found none."""
_FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)


class Limits(NamedTuple):
    """How long the tests of one mutant may take."""

    chosen: float = 60.0
    """Seconds of tests, as they took without it."""
    slack: float = 40.0
    factor: float = 4.0


class NoOutcome(Exception):  # noqa: N818 - reads as what happened
    """Tests fail, and not because of the mutant; says how."""


def tried(scratch: Scratch, reach: Reach, mutant: Mutant, sources: dict[str, str], limits: Limits) -> Outcome:
    """Make the change, run the tests, and undo it. A test that fails without the change, too, is not asked any more.

    Raises:
        NoOutcome: no tests can be run here.
    """
    while True:
        chosen = _chosen(reach, mutant, sources, limits)
        outcome = _tried(scratch, chosen, mutant, sources[mutant.path], limits)
        if outcome.status != "killed" or outcome.by in reach.sound:
            return outcome
        blamed = (outcome.by,) if "::" in outcome.by else chosen.tests  # a file, or a process that ended in the middle
        ended = scratch.ask(blamed, limits.slack + limits.factor * chosen.seconds)
        if ended.code == 0:
            reach.sound.add(outcome.by)
            return outcome
        if outcome.by not in reach.tests or ended.code != 1:
            raise NoOutcome(ended.output[-2000:])
        print(f"{outcome.by} does not pass here any more and is not asked", flush=True)
        del reach.tests[outcome.by]


def _chosen(reach: Reach, mutant: Mutant, sources: dict[str, str], limits: Limits) -> Chosen:
    chosen = reach.choose(reachable_lines(mutant, sources), limits.chosen)
    return chosen if chosen.tests else Chosen(_unseen(mutant.path), 0, limits.chosen)


def _tried(scratch: Scratch, chosen: Chosen, mutant: Mutant, source: str, limits: Limits) -> Outcome:
    if not chosen.tests:
        return outcome_of(mutant, source, "unreached")
    began = time.monotonic()
    scratch.write(mutant.path, mutant.applied(source))
    try:
        outcome = _asked(scratch, mutant, source, chosen, limits)
    finally:
        scratch.write(mutant.path, source)
    took = round(time.monotonic() - began, 1)
    return msgspec.structs.replace(outcome, asked=len(chosen.tests), reaching=chosen.reaching, seconds=took)


def _asked(scratch: Scratch, mutant: Mutant, source: str, chosen: Chosen, limits: Limits) -> Outcome:
    ended = scratch.ask(chosen.tests, limits.slack + limits.factor * chosen.seconds)
    if ended.code is None:
        return outcome_of(mutant, source, "timeout")
    if ended.code in (0, _NO_TESTS):
        return outcome_of(mutant, source, "survived")
    return outcome_of(mutant, source, "killed", _failed(ended) or f"exit {ended.code}")


def _failed(ended: Ended) -> str | None:
    found = _FAILED.search(ended.output)
    return found[1] if found else None


def _unseen(path: str) -> tuple[str, ...]:
    return next((tests for start, tests in UNSEEN.items() if path.startswith(start)), ())
