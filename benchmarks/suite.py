"""What is measured, of whom, and in which order: shuffled in each round, so that no agent gets the quiet hour."""

import random
from collections.abc import Callable, Iterable, Iterator
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
Job = Callable[[], Iterable[Measured]]
TOPICS = ("version", "start", "step", "stream", "output", "eight")


def jobs(topic: str, contenders: list[Contender], scratch: Scratch, search: str) -> list[Job]:
    """The runs of one round for a topic, each as something to call when its turn has come."""
    places = (scratch, search)
    match topic:
        case "version":
            alone = [partial(run.measure_version, contender, *places) for contender in contenders]
            return [_one(partial(run.measure_python, *places)), *map(_one, alone)]
        case "output":
            return [partial(run.measure_output, contender, *places, OUTPUTS) for contender in contenders]
        case "eight":
            return [partial(run.measure_many, contender, *places, STEPS, PROCESSES) for contender in contenders]
        case _:
            played = [(contender, *each) for contender in contenders for each in _scenarios(topic, contender)]
            return [_one(partial(run.measure, one, *places, scenario, count)) for one, scenario, count in played]


def rounds(
    topics: list[str], contenders: list[Contender], scratch: Scratch, search: str, count: int
) -> Iterator[Measured]:
    for _ in range(count):
        round_ = [job for topic in topics for job in jobs(topic, contenders, scratch, search)]
        random.shuffle(round_)
        for job in round_:
            yield from job()


def _one(measure: Callable[[], Measured]) -> Job:
    return lambda: [measure()]


def _scenarios(topic: str, contender: Contender) -> list[tuple[str, int]]:
    match topic:
        case "start":
            return [("hi", 1)]
        case "step":
            return [("shell", STEPS), *([("read", STEPS)] if contender.reads else [])]
        case "stream":
            return [("stream", DELTAS)]
        case _:
            return []
