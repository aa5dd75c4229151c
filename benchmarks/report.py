"""The numbers as Markdown: one table of measures, one of goals, and the circumstances."""

import statistics
from collections.abc import Callable

from benchmarks import figures as n
from benchmarks.contenders import OURS, Contender
from benchmarks.figures import Figures
from benchmarks.goals import Goal, goals
from benchmarks.machine import machine
from benchmarks.run import Measured

Cell = Callable[[str], str]


def report(runs: list[Measured], contenders: list[Contender], rounds: int) -> str:
    found = Figures(runs)
    peers = [contender.name for contender in contenders if contender.name != OURS]
    parts = [
        "# Benchmarks",
        "Made by `make bench`; docs/benchmarks.md says how each number is taken.",
        _circumstances(runs, contenders, rounds),
        _measures(found, [OURS, *peers]),
        "## Goals",
        _goals(goals(found, peers)),
    ]
    if not peers:
        parts.insert(
            2, "**No peers were found: only ours was measured.** Set BOBSTAY_PEERS to the folder that holds them."
        )
    failed = sorted({f"{run.contender} ({run.scenario})" for run in runs if not run.good})
    if failed:
        parts.append(f"Runs that failed and were left out: {', '.join(failed)}.")
    return "\n\n".join(parts) + "\n"


def _circumstances(runs: list[Measured], contenders: list[Contender], rounds: int) -> str:
    where = machine()
    loads, others = [run.load for run in runs], [run.others for run in runs]
    versions = ", ".join(f"{contender.name} {contender.version}" for contender in contenders)
    load = f"load average before a run: median {statistics.median(loads):.1f}, at most {max(loads):.1f}"
    shares = (
        f"{statistics.median(others):.0%} of the processors during the median run, {max(others):.0%} during the worst"
    )
    lines = [
        f"{versions}; Python {where.python}",
        f"{where.processors} x {where.processor}, {where.memory_gb:.0f} GB, {where.system}",
        f"{rounds} rounds, agents and scenarios mixed in random order; medians, the best in brackets",
        f"{load}; other work took {shares}",
    ]
    return "\n".join(f"- {line}" for line in lines)


def _measures(found: Figures, names: list[str]) -> str:
    def timed(scenario: str, value: n.Value, unit: float = 1000, digits: int = 1) -> Cell:
        return lambda name: _cell([each * unit for each in found.values(name, scenario, value)], digits)

    def sized(scenario: str, value: n.Value) -> Cell:
        return timed(scenario, value, 1e-6, 0)

    def output(scenario: str, value: n.Value) -> Cell:
        return lambda name: _plain(found.big_output(name, scenario, value))

    rows: list[tuple[str, Cell]] = [
        ("`--version`, ms", timed("version", n.wall)),
        ("process start to first request, ms", timed("hi", n.first_request, digits=0)),
        ("one short reply, wall ms", timed("hi", n.wall, digits=0)),
        ("one short reply, processor ms", timed("hi", n.processor, digits=0)),
        ("step with a Read, ms", timed("read", n.step)),
        ("- steps 2-10, ms", timed("read", n.early_step)),
        ("- steps 41-50, ms", timed("read", n.late_step)),
        ("- 50 steps, processor s", timed("read", n.processor, 1, 2)),
        ("- 50 steps, peak RSS MB", sized("read", n.resident)),
        ("step with a shell `true`, ms", timed("shell", n.step)),
        ("- steps 2-10, ms", timed("shell", n.early_step)),
        ("- steps 41-50, ms", timed("shell", n.late_step)),
        ("- 50 steps, processor s", timed("shell", n.processor, 1, 2)),
        ("- 50 steps, peak RSS MB", sized("shell", n.resident)),
        ("reply of 20,000 deltas, processor s", timed("stream", n.processor, 1, 2)),
        ("reply of 20,000 deltas, wall s", timed("stream", n.wall, 1, 2)),
        ("10 MB of lines from the shell, processor ms", output("lines", n.processor_each)),
        ("10 MB of lines from the shell, wall ms", output("lines", n.step)),
        ("10 MB on one line, processor ms", output("line", n.processor_each)),
        ("10 MB on one line, wall ms", output("line", n.step)),
        ("10 MB of lines, 10 times, peak RSS MB", sized("lines", n.resident)),
        ("eight at once, steps/s, start included", _highest(found, n.throughput)),
        ("eight at once, steps/s, once running", _highest(found, n.steady_throughput)),
        ("eight at once, RSS MB", sized(n.EIGHT_WATCHED, n.resident)),
        ("eight at once, PSS MB", sized(n.EIGHT_WATCHED, n.proportional)),
    ]
    names = [*names, *(name for name in ("python", "plain") if any(run.contender == name for run in found.runs))]
    lines = [f"| | {' | '.join(names)} |", "|---" + "|--:" * len(names) + "|"]
    for text, cell in rows:
        cells = [cell(name) for name in names]
        if any(each != "-" for each in cells):
            lines.append(f"| {text} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _goals(all_goals: list[Goal]) -> str:
    lines = ["| goal | against | ratio | limit | |", "|---|---|--:|--:|---|"]
    for goal in all_goals:
        ratio = "-" if goal.ratio is None else f"{goal.ratio:.2f}"
        sign = "≥" if goal.at_least else "≤"
        verdict = {None: "not measured", True: "met", False: "**missed**"}[goal.met]
        lines.append(f"| {goal.text} | {goal.against} | {ratio} | {sign} {goal.limit} | {verdict} |")
    return "\n".join(lines)


def _highest(found: Figures, value: n.Value) -> Cell:
    return lambda name: _cell(found.values(name, n.EIGHT, value), 0, best=max)


def _cell(values: list[float], digits: int, best: Callable[[list[float]], float] = min) -> str:
    return f"{statistics.median(values):.{digits}f} ({best(values):.{digits}f})" if values else "-"


def _plain(value: float | None) -> str:
    return "-" if value is None else f"{value * 1000:.1f}"
