"""Several parallel runs of the fuzzer, one process each, and their combined result."""

import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor

from tests.fuzz.campaign import Campaign, Hole, Tally
from tests.fuzz.sandbox import Sandbox


def run(seed: str, executed: int, seconds: float, workers: int) -> Tally:
    """Distribute the work among processes; each uses its own seed, derived from the common one."""
    print(f"fuzz: seed {seed}, {executed} commands to be run by {workers} workers", flush=True)
    shares = [executed // workers + (number < executed % workers) for number in range(workers)]
    jobs = [(f"{seed}.{number}", share, seconds) for number, share in enumerate(shares)]
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        tallies = list(pool.map(_work, *zip(*jobs, strict=True)))
    found: dict[str, Hole] = {hole.command: hole for tally in tallies for hole in tally.holes}
    return Tally(
        seed,
        generated=sum(tally.generated for tally in tallies),
        allowed=sum(tally.allowed for tally in tallies),
        executed=sum(tally.executed for tally in tallies),
        late=sum(tally.late for tally in tallies),
        holes=list(found.values()),
    )


def _work(seed: str, executed: int, seconds: float) -> Tally:
    shown = known = 0

    def progress(tally: Tally) -> None:
        nonlocal shown, known
        for hole in tally.holes[known:]:
            print(hole, file=sys.stderr, flush=True)
        known = len(tally.holes)
        if tally.executed - shown >= 2_500:
            shown = tally.executed
            print(tally, file=sys.stderr, flush=True)

    with Sandbox() as sandbox:
        return Campaign(sandbox, seed).run(executed, seconds=seconds, progress=progress)
