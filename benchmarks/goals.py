"""The goals as ratios to the peers of the same run: what has to hold for the README to be true."""

from collections.abc import Callable

import msgspec

from benchmarks import figures as n
from benchmarks.contenders import OURS
from benchmarks.figures import Figures


class Goal(msgspec.Struct, frozen=True):
    """`ratio` is ours to theirs; None if one of the two was not measured."""

    text: str
    limit: float
    ratio: float | None
    against: str
    at_least: bool = False

    @property
    def met(self) -> bool | None:
        if self.ratio is None:
            return None
        return self.ratio >= self.limit if self.at_least else self.ratio <= self.limit


def goals(found: Figures, peers: list[str]) -> list[Goal]:
    """All goals, in the order of the report."""
    compare = _Comparison(found, peers)
    result = [
        compare.with_one("start: process start to first request", 0.85, "codex", "hi", n.first_request),
        compare.with_one("`--version`, against `python -c pass`", 3.0, "python", "version", n.wall),
        compare.with_best("step with a Read", 1.0, "read", n.step),
        compare.with_best("step with a shell `true`", 1.0, "shell", n.step),
    ]
    for scenario in ("read", "shell"):
        ratio = found.median(OURS, scenario, n.growth)
        result.append(Goal(f"growth, {scenario}: steps 41-50 against steps 2-10", 1.2, ratio, "itself"))
    result.append(compare.best("memory: 50 steps, peak RSS", 0.5, found.memory))
    result.append(compare.with_best("stream: processor time of 20,000 deltas", 1.0, "stream", n.processor))
    for scenario, name in (("lines", "10 MB of lines"), ("line", "10 MB on one line")):
        for value, kind in ((n.processor_each, "processor time"), (n.step, "wall time")):
            ours = found.big_output(OURS, scenario, value)
            plain = found.big_output("plain", scenario, value)
            result.append(Goal(f"{name}: {kind}", 3.0, _ratio(ours, plain), "plain reading"))
    result += [
        compare.with_best("eight at once: steps a second, start included", 1.0, n.EIGHT, n.throughput, at_least=True),
        compare.with_best(
            "eight at once: steps a second, once running", 1.0, n.EIGHT, n.steady_throughput, at_least=True
        ),
        compare.with_best("eight at once: memory, PSS", 0.5, n.EIGHT_WATCHED, n.proportional),
        compare.with_best("eight at once: memory, RSS", 0.5, n.EIGHT_WATCHED, n.resident),
    ]
    return result


class _Comparison:
    def __init__(self, found: Figures, peers: list[str]) -> None:
        self._found = found
        self._peers = peers

    def with_one(self, text: str, limit: float, other: str, scenario: str, value: n.Value) -> Goal:
        theirs = self._found.median(other, scenario, value)
        return Goal(text, limit, _ratio(self._found.median(OURS, scenario, value), theirs), other)

    def with_best(self, text: str, limit: float, scenario: str, value: n.Value, *, at_least: bool = False) -> Goal:
        return self.best(text, limit, lambda name: self._found.median(name, scenario, value), at_least=at_least)

    def best(self, text: str, limit: float, of: Callable[[str], float | None], *, at_least: bool = False) -> Goal:
        """Against the best peer: the one with the least, or with `at_least` the most."""
        theirs = {name: value for name in self._peers if (value := of(name)) is not None}
        if not theirs:
            return Goal(text, limit, None, "best peer", at_least)
        name = (max if at_least else min)(theirs, key=lambda peer: theirs[peer])
        return Goal(text, limit, _ratio(of(OURS), theirs[name]), f"best peer: {name}", at_least)


def _ratio(ours: float | None, theirs: float | None) -> float | None:
    """None where there is none: a difference that noise has made negative is no measurement."""
    return None if ours is None or theirs is None or ours <= 0 or theirs <= 0 else ours / theirs
