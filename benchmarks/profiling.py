"""`python -m benchmarks profile start|step|stream|output`: where our time goes, so that a missed goal has a suspect."""

import argparse
import os
import pstats
import re
import statistics
import subprocess
import sys

import msgspec

from benchmarks.contenders import Contender, ours, search_path
from benchmarks.machine import adopt_orphans
from benchmarks.run import Process, measure
from benchmarks.scratch import Scratch
from benchmarks.suite import DELTAS, OUTPUTS, STEPS

SCENARIOS = {
    "start": [("hi", 1)],
    "step": [("read", STEPS), ("shell", STEPS)],
    "stream": [("stream", DELTAS)],
    "output": [("lines", OUTPUTS), ("line", OUTPUTS)],
}
_IMPORT = re.compile(r"import time:\s+(\d+) \|\s+(\d+) \|(\s+)(\S+)")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks profile", description=__doc__)
    parser.add_argument("what", choices=list(SCENARIOS))
    parser.add_argument("--top", type=int, default=30, help="how many lines of each list")
    parser.add_argument("--command", default="", help="our command, if not the one beside this Python")
    options = parser.parse_args(arguments)
    adopt_orphans()
    contender = ours(options.command)
    with Scratch([contender]) as scratch:
        profile = Profile(contender, scratch, options.top)
        if options.what == "start":
            profile.imports()
            profile.phases()
        for scenario, count in SCENARIOS[options.what]:
            profile.functions(scenario, count)
    return 0


class Profile:
    def __init__(self, contender: Contender, scratch: Scratch, top: int) -> None:
        self._ours = contender
        self._scratch = scratch
        self._top = top
        self._search = search_path("")
        self._modules: list[str] = []

    def imports(self) -> None:
        """Modules by the time their own body took. The clock of -X importtime slows all of them down a little."""
        self._run(["-X", "importtime"], "hi", 1)
        found = _imports(self._run(["-X", "importtime"], "hi", 1))
        self._modules = [each.name for each in found]
        print(f"## Imports: {len(found)} modules, {sum(each.own for each in found) / 1000:.1f} ms\n")
        groups: dict[str, list[int]] = {}
        for each in found:
            groups.setdefault(_group(each.name), []).append(each.own)
        for group, times in sorted(groups.items(), key=lambda item: -sum(item[1])):
            print(f"{sum(times) / 1000:8.1f} ms  {len(times):4} modules of {group}")
        print("\n own ms  with its imports")
        for each in sorted(found, key=lambda each: -each.own)[: self._top]:
            print(f"{each.own / 1000:7.2f} {each.total / 1000:7.2f}  {each.name}, for {each.wanted_by}")

    def phases(self) -> None:
        """A start in parts, each a whole process without a profiler, in processor time: waiting says nothing of us."""
        parts: dict[str, list[float]] = {"nothing": [], "imports": [], "all": []}
        for _ in range(9):
            parts["nothing"].append(self._python("pass"))
            parts["imports"].append(self._python(_import_all(self._modules)))
            parts["all"].append(measure(self._ours, self._scratch, self._search, "hi").processor)
        python, imports, whole = (min(times) * 1000 for times in parts.values())
        print("\n## One short reply in parts: processor time, best of nine, ms\n")
        print(f"{python:7.1f}  an interpreter that does nothing")
        print(f"{imports - python:7.1f}  the imports above")
        print(f"{whole - imports:7.1f}  the rest: our own work, from the arguments to the exit")
        print(f"{whole:7.1f}  together")

    def functions(self, scenario: str, count: int) -> None:
        """Functions by the time spent in themselves, from cProfile, which makes small functions look dear."""
        plain = statistics.median(
            measure(self._ours, self._scratch, self._search, scenario, count).processor for _ in range(3)
        )
        stats = self._scratch.folder / "stats"
        self._run(["-m", "cProfile", "-o", str(stats)], scenario, count)
        print(f"\n## {scenario} {count}: {plain * 1000:.0f} ms of processor time without the profiler\n", flush=True)
        for order in ("tottime", "cumtime"):
            pstats.Stats(str(stats)).strip_dirs().sort_stats(order).print_stats(self._top)

    def _run(self, options: list[str], scenario: str, count: int) -> str:
        """Run our command by our Python with more options; return all it printed."""
        slow = Contender(
            self._ours.name,
            sys.executable,
            [*options, self._ours.program, *self._ours.arguments],
            self._ours.environment,
        )
        process = Process(slow, self._scratch, self._search, scenario, count)
        process.start()
        process.wait()
        output = process.output()
        if process.code:
            raise SystemExit(f"the profiled run failed:\n{output}")
        return output

    def _python(self, program: str) -> float:
        environment = self._ours.environment_for(self._scratch.home(self._ours), self._scratch.base, self._search)
        process = subprocess.Popen([sys.executable, "-c", program], env=environment, cwd=self._scratch.work)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        return used.ru_utime + used.ru_stime


class Import(msgspec.Struct, frozen=True):
    """A module that was imported: microseconds of its own body, and of that with all it imported in turn."""

    name: str
    own: int
    total: int
    wanted_by: str


def _imports(output: str) -> list[Import]:
    """Read what -X importtime printed: modules come before the one that wanted them, which is indented less."""
    found: list[Import] = []
    open_: list[tuple[int, str]] = []
    for own, total, indent, name in reversed(_IMPORT.findall(output)):
        while open_ and open_[-1][0] >= len(indent):
            open_.pop()
        found.append(Import(name, int(own), int(total), open_[-1][1] if open_ else "the program"))
        open_.append((len(indent), name))
    return found[::-1]


def _group(name: str) -> str:
    first, _, rest = name.partition(".")
    if first == "bobstay":
        return f"bobstay.{rest.partition('.')[0]}" if rest else first
    return "the standard library" if first in sys.stdlib_module_names else first


def _import_all(names: list[str]) -> str:
    """A program that imports what the command imported; names that cannot be imported by name are skipped."""
    return f"""
import sys
for name in {names!r}:
    if name not in sys.modules:
        try:
            __import__(name)
        except ImportError:
            continue
"""
