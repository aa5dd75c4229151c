"""From many runs to the few numbers that are shown: medians, of the runs that went well."""

import statistics
from collections.abc import Callable

from benchmarks.run import Measured
from benchmarks.suite import OUTPUTS

Value = Callable[[Measured], float]
EIGHT, EIGHT_WATCHED = "eight", "eight watched"


class Figures:
    def __init__(self, runs: list[Measured]) -> None:
        self.runs = runs
        self._good = [run for run in runs if run.good]

    def values(self, contender: str, scenario: str, value: Value) -> list[float]:
        return [value(run) for run in self._good if run.contender == contender and run.scenario == scenario]

    def median(self, contender: str, scenario: str, value: Value) -> float | None:
        found = self.values(contender, scenario, value)
        return statistics.median(found) if found else None

    def memory(self, contender: str) -> float | None:
        """The larger of the two runs of 50 steps."""
        found = [self.median(contender, scenario, resident) for scenario in ("read", "shell")]
        return max((value for value in found if value is not None), default=None)

    def big_output(self, contender: str, scenario: str, value: Value) -> float | None:
        """What one call with 10 MB of output costs more than one with none."""
        big = self.median(contender, scenario, value)
        nothing = self.median(contender, "nothing", value)
        return None if big is None or nothing is None else big - nothing


def wall(run: Measured) -> float:
    return run.wall


def processor(run: Measured) -> float:
    return run.processor


def first_request(run: Measured) -> float:
    return run.first_request


def resident(run: Measured) -> float:
    return run.resident


def proportional(run: Measured) -> float:
    return run.proportional


def step(run: Measured) -> float:
    return statistics.median(run.gaps)


def early_step(run: Measured) -> float:
    return statistics.median(run.gaps[1:10])


def late_step(run: Measured) -> float:
    return statistics.median(run.gaps[40:50])


def growth(run: Measured) -> float:
    return late_step(run) / early_step(run)


def processor_each(run: Measured) -> float:
    """Processor time for each call of a run with big output."""
    return run.processor / OUTPUTS


def throughput(run: Measured) -> float:
    return run.steps_per_second


def steady_throughput(run: Measured) -> float:
    return run.steady_steps_per_second
