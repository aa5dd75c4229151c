"""`python -m benchmarks decisions`: how long the permission policy takes to decide, on the cases of its own tests."""

import argparse
import json
import math
import os
import random
import statistics
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.machine import machine
from benchmarks.page import DECISIONS, with_decisions

HERE = Path(__file__).parent
CORPUS = HERE.parent / "tests/security/corpus"
LIMIT_MEDIAN, LIMIT_P99, LIMIT_TEN_KILOBYTES = 0.0005, 0.005, 0.05
RULES = {"allow": ["Bash"], "deny": ["Bash(zz *)", "Read(./secrets/**)"]}
"""For large commands: everything is looked at as an allow rule asks for, and for what is denied besides."""
YARDSTICK = json.dumps([{"id": number, "name": f"entry {number}", "tags": ["a", "b"]} for number in range(200)])
"""Some 10 kB. Decoding it is work for processor and memory, with nothing of ours in it."""

Case = dict[str, Any]


class Spread(msgspec.Struct, frozen=True):
    """Seconds."""

    median: float
    p99: float
    worst: float


class Limit(msgspec.Struct, frozen=True):
    text: str
    found: float
    limit: float

    @property
    def met(self) -> bool:
        return self.found <= self.limit


class Taken(msgspec.Struct):
    """All that was measured, in seconds of the processor: a decision only computes, and other work is not its own."""

    corpora: dict[str, list[float]]
    each: dict[str, list[float]]
    """The times of a case, by its id."""
    large: dict[str, list[float]]
    yardstick: list[float]
    walls: list[float] = []
    """What the clock on the wall said of all of them."""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks decisions", description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--profile", action="store_true", help="the functions a decision spends its time in, instead")
    parser.add_argument("--no-write", dest="write", action="store_false", help="leave benchmarks/results.md alone")
    options = parser.parse_args(arguments)
    if options.profile:
        return _profile()
    taken = measure(max(1, options.rounds))
    text = report(taken, options.rounds)
    print(text)
    if options.write:
        page = HERE / "results.md"
        page.write_text(with_decisions(page.read_text(encoding="utf-8"), text), encoding="utf-8")
    return 0 if all(limit.met for limit in _limits(taken)) else 1


def cases() -> dict[str, list[Case]]:
    """The cases of the tests, by the name of their file."""
    found = {}
    for file in sorted(CORPUS.glob("*.jsonl")):
        found[file.stem] = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line]
    return found


def shapes() -> dict[str, str]:
    """Commands of 10 kB. The policy reads 10,000 characters; what is longer is asked about without reading on."""

    def filled(before: str, piece: str, after: str = "") -> str:
        return before + piece * ((10_000 - len(before) - len(after)) // len(piece)) + after

    return {
        "one word": filled("echo ", "a"),
        "words": filled("echo ", "a "),
        "pipes": filled("", "ls|", "ls"),
        "commands": filled("", "a;"),
        "shell in a shell": filled("bash -c '", "a;", "'"),
        "wrappers": filled("", "timeout 5 ", "ls"),
        "substitutions": filled("echo ", "$(ls)"),
        "nested": "echo " + "$(" * 3_300 + "x" + ")" * 3_300,
        "quotes": filled("echo ", "'a'\"b\""),
        "paths": filled("cat ", "a/b/c/d "),
        "braces": filled("echo ", "{a,b} "),
        "loop": filled("for i in ", "a ", "; do cat $i; done"),
        "moves": filled("", "cd a;"),
        "deeper and deeper": filled("", "cd a&&", "ls"),
        "targets": filled("ls ", "> a "),
        "script": filled("sed -n '", "p;", "' a"),
        "document": filled("cat <<EOF\n", "x $(ls)\n", "EOF"),
        "unclosed": filled("echo ", "$("),
    }


def measure(rounds: int) -> Taken:
    """Judge all cases, their rules read anew each time, in random order, `rounds` times after once for nothing."""
    from bobstay.permissions.policy_case import decide

    known = cases()
    large = {name: {"tool": "Bash", "command": text, "rules": RULES} for name, text in shapes().items()}
    taken = Taken({name: [] for name in known}, {}, {name: [] for name in large}, [])
    jobs: list[tuple[list[list[float]], Callable[[], object]]] = []
    for name, listed in known.items():
        for case in listed:
            both = [taken.corpora[name], taken.each.setdefault(str(case["id"]), [])]
            jobs.append((both, partial(decide, case)))
    jobs += [([taken.large[name]], partial(decide, case)) for name, case in large.items()]
    jobs += [([taken.yardstick], partial(json.loads, YARDSTICK))] * 50
    for _, job in jobs:
        job()
    for _ in range(rounds):
        random.shuffle(jobs)
        for into, job in jobs:
            began, worked = time.perf_counter(), time.thread_time()
            job()
            taken.walls.append(time.perf_counter() - began)
            took = time.thread_time() - worked
            for times in into:
                times.append(took)
    return taken


def spread(times: list[float]) -> Spread:
    ordered = sorted(times)
    return Spread(statistics.median(ordered), ordered[math.ceil(len(ordered) * 0.99) - 1], ordered[-1])


def limits(corpus: Spread, large: dict[str, float]) -> list[Limit]:
    slowest = max(large, key=lambda name: large[name])
    return [
        Limit("a decision, median", corpus.median, LIMIT_MEDIAN),
        Limit("a decision, p99", corpus.p99, LIMIT_P99),
        Limit(f"10 kB, the slowest shape ({slowest})", large[slowest], LIMIT_TEN_KILOBYTES),
    ]


def report(taken: Taken, rounds: int) -> str:
    where, unit = machine(), statistics.median(taken.yardstick)
    rows = [(f"{name}, {len(times) // rounds} cases", spread(times)) for name, times in taken.corpora.items()]
    rows += [(f"10 kB: {name}", spread(times)) for name, times in taken.large.items()]
    slowest = sorted(taken.each, key=lambda one: -statistics.median(taken.each[one]))[:5]
    named = ", ".join(f"{one} {statistics.median(taken.each[one]) * 1000:.2f} ms" for one in slowest)
    circumstances = [
        f"{where.processors} x {where.processor}, {where.system}, Python {where.python}",
        f"{rounds} rounds in random order after one for nothing; load average {os.getloadavg()[0]:.1f} at the end",
        f"times are of the processor; by the clock it took {sum(taken.walls) / _all(taken):.2f} times as long",
        f"ratio: the median against `json.loads` of {len(YARDSTICK) / 1000:.0f} kB in the same run, {_ms(unit)} ms",
        f"the slowest cases by their median: {named}",
    ]
    parts = [
        DECISIONS,
        "Made by `python -m benchmarks decisions`; docs/benchmarks.md says how.",
        "\n".join(f"- {line}" for line in circumstances),
        _table(
            "| | median, ms | p99, ms | worst, ms | ratio |\n|---|--:|--:|--:|--:|",
            (
                f"| {text} | {_ms(each.median)} | {_ms(each.p99)} | {_ms(each.worst)} | {each.median / unit:.1f} |"
                for text, each in rows
            ),
        ),
        _table(
            "| limit | found | | ratio | |\n|---|--:|--:|--:|---|",
            (
                f"| {each.text} | {_ms(each.found)} ms | ≤ {each.limit * 1000:g} ms | {each.found / unit:.1f} "
                f"| {'met' if each.met else '**missed**'} |"
                for each in _limits(taken)
            ),
        ),
    ]
    return "\n\n".join(parts) + "\n"


def _all(taken: Taken) -> float:
    return sum(sum(times) for times in (*taken.corpora.values(), *taken.large.values(), taken.yardstick))


def _limits(taken: Taken) -> list[Limit]:
    large = {name: statistics.median(times) for name, times in taken.large.items()}
    return limits(spread([each for times in taken.corpora.values() for each in times]), large)


def _table(head: str, rows: Iterable[str]) -> str:
    return "\n".join((head, *rows))


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.3f}" if seconds < 0.01 else f"{seconds * 1000:.1f}"


def _profile() -> int:
    import cProfile
    import pstats

    measure(1)
    with cProfile.Profile() as profile:
        measure(1)
    for order in ("tottime", "cumulative"):
        pstats.Stats(profile).sort_stats(order).print_stats(25)
    return 0
