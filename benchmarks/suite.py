"""What is measured, of whom, and in which order: shuffled in each round, so that no agent gets the quiet hour."""

import random
from collections.abc import Callable, Iterator
from functools import partial

from benchmarks import run
from benchmarks.contenders import Contender
from benchmarks.run import Measured
from benchmarks.scratch import Scratch

STEPS = 50
DELTAS = 20_000
PROCESSES = 8
OUTPUTS = 10
"""Calls that print 10 MB in one run; one alone would drown in the noise of a start."""
Job = Callable[[], Measured]
TOPICS = ("version", "start", "step", "stream", "output", "eight")


def jobs(topic: str, contenders: list[Contender], scratch: Scratch, search: str) -> list[Job]:
    """The runs of one round for a topic."""
    found: list[Job] = []
    if topic == "version":
        found.append(partial(run.measure_python, scratch, search))
        found += [partial(run.measure_version, contender, scratch, search) for contender in contenders]
    if topic == "output":
        found += [partial(run.measure_plain, scratch, search, name, OUTPUTS) for name in ("nothing", "lines", "line")]
    if topic == "eight":
        found += [partial(run.measure_many, one, scratch, search, "shell", STEPS, PROCESSES) for one in contenders]
    for contender in contenders:
        for scenario, count in _scenarios(topic, contender):
            found.append(partial(run.measure, contender, scratch, search, scenario, count))
    return found


def rounds(
    topics: list[str], contenders: list[Contender], scratch: Scratch, search: str, count: int
) -> Iterator[Measured]:
    for _ in range(count):
        round_ = [job for topic in topics for job in jobs(topic, contenders, scratch, search)]
        random.shuffle(round_)
        for job in round_:
            yield job()


def _scenarios(topic: str, contender: Contender) -> list[tuple[str, int]]:
    match topic:
        case "start":
            return [("hi", 1)]
        case "step":
            return [("shell", STEPS), *([("read", STEPS)] if contender.reads else [])]
        case "stream":
            return [("stream", DELTAS)]
        case "output":
            return [("nothing", OUTPUTS), ("lines", OUTPUTS), ("line", OUTPUTS)]
        case _:
            return []
