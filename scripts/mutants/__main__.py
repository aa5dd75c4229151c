"""`make mutants`: small changes to the code, of which each should make a test fail; docs/testing.md says more."""

import argparse
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from scripts.mutants.journal import Journal, Outcome
from scripts.mutants.mutant import Mutant
from scripts.mutants.operators import compiles, mutants_of
from scripts.mutants.reach import Reach
from scripts.mutants.report import Report
from scripts.mutants.scratch import Scratch, sandbox_works
from scripts.mutants.targets import AREAS, Area
from scripts.mutants.trial import Limits, NoOutcome, tried

PROJECT = Path(__file__).parents[2]


def main(words: list[str] | None = None) -> int:
    given = _arguments().parse_args(words)
    if not given.no_sandbox and not sandbox_works():
        print(
            "A mutant may do what a test expects to be refused, so its tests run in a sandbox of bubblewrap, and that"
        )
        print("does not work here (Debian: bubblewrap). --no-sandbox runs them without, on a machine that may be lost.")
        return 2
    scratch = Scratch(PROJECT, given.folder.resolve(), not given.no_sandbox)
    scratch.folder.mkdir(parents=True, exist_ok=True)
    journal = Journal(scratch.folder / "outcomes.jsonl")
    areas = [area for area in AREAS if given.area in ("", area.name)]
    sources = _sources(PROJECT, AREAS)
    wished = {path: text for path, text in _sources(PROJECT, areas).items() if given.module in path}
    if not wished:
        print("Nothing is named like that; scripts/mutants/targets.py lists what is mutated.")
        return 2
    seed = given.seed if given.seed is not None else random.SystemRandom().randrange(10**6)
    print(f"seed {seed}; outcomes in {scratch.folder / 'outcomes.jsonl'}", flush=True)
    wanted = _survivors(journal, wished) if given.survivors else _sample(wished, seed, given.count)
    scratch.prepare()
    reach = Reach(scratch, [pattern for area in AREAS for pattern in area.sources])
    reach.record(_test_files(PROJECT, areas))
    report = Report(PROJECT / "docs" / "testing.md")
    for number, mutant in enumerate(wanted, 1):
        source = sources[mutant.path]
        known = None if given.survivors else journal.known(mutant, source)
        try:
            outcome = known or tried(scratch, reach, mutant, sources, Limits())
        except NoOutcome as told:
            print(f"The tests fail without any change, too:\n{told}")
            return 2
        if known is None:
            journal.add(outcome)
        report.add(mutant, outcome)
        print(f"{number}/{len(wanted)} {_line(mutant, outcome)}", flush=True)
    print(report.text())
    return 1 if report.unjudged else 0


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m scripts.mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=300, help="how many mutants are drawn (300)")
    parser.add_argument("--seed", type=int, help="draws the same ones again")
    parser.add_argument("--area", default="", choices=["", *(area.name for area in AREAS)], help="only this area")
    parser.add_argument("--module", default="", help="only files whose path has this in it")
    parser.add_argument("--survivors", action="store_true", help="those that survived before, again")
    parser.add_argument(
        "--folder", type=Path, default=PROJECT / "scratch" / "mutants", help="the copy, and what is known"
    )
    parser.add_argument("--no-sandbox", action="store_true", help="run the tests of mutants without a sandbox")
    return parser


def _sources(project: Path, areas: Sequence[Area]) -> dict[str, str]:
    paths = sorted({path for area in areas for pattern in area.sources for path in project.glob(pattern)})
    names = [str(path.relative_to(project)) for path in paths if path.stat().st_size]
    return {name: (project / name).read_text(encoding="utf-8") for name in names}


def _test_files(project: Path, areas: list[Area]) -> list[str]:
    found: set[str] = set()
    for area in areas:
        for place in area.tests:
            path = project / place
            found |= {str(each.relative_to(project)) for each in (path.rglob("test_*.py") if path.is_dir() else [path])}
    return sorted(found)


def _sample(sources: dict[str, str], seed: int, count: int) -> list[Mutant]:
    """So many of all mutants; each file gets its share."""
    chance = random.Random(seed)
    keyed: list[tuple[float, Mutant]] = []
    for path, source in sources.items():
        mutants = mutants_of(path, source)
        chance.shuffle(mutants)
        keyed += [((place + chance.random()) / len(mutants), mutant) for place, mutant in enumerate(mutants)]
    keyed.sort(key=lambda pair: pair[0])
    drawn = _programs((mutant for _, mutant in keyed), sources)
    return [mutant for _, mutant in zip(range(count), drawn, strict=False)]


def _programs(mutants: Iterator[Mutant], sources: dict[str, str]) -> Iterator[Mutant]:
    return (mutant for mutant in mutants if compiles(mutant.applied(sources[mutant.path])))


def _survivors(journal: Journal, sources: dict[str, str]) -> list[Mutant]:
    alive = {id for id, outcome in journal.outcomes.items() if not outcome.dead}
    return [mutant for path, source in sources.items() for mutant in mutants_of(path, source) if mutant.id in alive]


def _line(mutant: Mutant, outcome: Outcome) -> str:
    by = f" by {outcome.by}" if outcome.by else f" ({outcome.asked} of {outcome.reaching} tests)"
    return f"{outcome.status:9} {mutant.path}:{mutant.span.line} {mutant.operator}: {mutant.row}{by}"


if __name__ == "__main__":
    sys.exit(main())
