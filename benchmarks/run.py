"""One run of one agent, or of several at once, from its start to its end, and what was measured."""

import itertools
import os
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from benchmarks import plain
from benchmarks.contenders import OURS, Contender
from benchmarks.machine import Memory, Others, end_leftovers
from benchmarks.model.server import Line
from benchmarks.scratch import NAMES, Scratch

DEADLINE = 300.0


class Measured(msgspec.Struct, frozen=True, omit_defaults=True):
    """A run in numbers. Times are seconds; memory is bytes; `gaps` are from a reply's end to the next request."""

    contender: str
    scenario: str
    wall: float
    processor: float
    good: bool = True
    first_request: float = 0.0
    gaps: list[float] = []
    resident: int = 0
    proportional: int = 0
    steps_per_second: float = 0.0
    steady_steps_per_second: float = 0.0
    load: float = 0.0
    others: float = 0.0
    """The share of the machine that other work took meanwhile."""
    output: str = ""


class Process:
    """An agent in a fresh directory, ready to start."""

    def __init__(self, contender: Contender, scratch: Scratch, search: str, scenario: str, count: int) -> None:
        self.directory = scratch.copy()
        self.run = self.directory.name
        self.needed = 1 if scenario in ("hi", "stream") else count + 1
        self._command = contender.command(f"BENCH:{self.run}:{scenario}:{count} go", scratch.base)
        self._environment = contender.environment_for(scratch.home(contender), scratch.base, search)
        self._output = Path(f"{self.directory}.out").open("w+b")  # noqa: SIM115 - it lives as long as the process

    def start(self) -> None:
        self.began = time.monotonic_ns()
        self._process = subprocess.Popen(
            self._command,
            cwd=self.directory,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def wait(self) -> None:
        deadline = threading.Timer(DEADLINE, os.killpg, (self._process.pid, signal.SIGKILL))
        deadline.start()
        _, status, used = os.wait4(self._process.pid, 0)
        self.ended = time.monotonic_ns()
        deadline.cancel()
        self.code = self._process.returncode = os.waitstatus_to_exitcode(status)
        self.processor = used.ru_utime + used.ru_stime

    def output(self) -> str:
        self._output.seek(0)
        text = self._output.read().decode(errors="replace")
        self._output.close()
        return text

    def main_requests(self, lines: list[Line]) -> list[Line]:
        """The requests of the conversation, one for each step, in order."""
        steps: dict[int, Line] = {}
        for line in sorted(lines, key=lambda line: line.asked_at):
            if line.run == self.run and line.done >= 0:
                steps.setdefault(line.done, line)
        return list(steps.values())


def measure(contender: Contender, scratch: Scratch, search: str, scenario: str, count: int = 1) -> Measured:
    """One run. A short one goes before it unmeasured: files that were not used for seconds may have left the cache."""
    _alone(contender, scratch, search, "hi", 1)
    return _alone(contender, scratch, search, scenario, count)


def measure_version(contender: Contender, scratch: Scratch, search: str) -> Measured:
    return _command([contender.program, "--version"], contender, scratch, search)[0]


def measure_output(contender: Contender, scratch: Scratch, search: str, count: int) -> Iterator[Measured]:
    """Big output; after ours each time plain reading: how fast a pipe is depends much on the moment's load."""
    for scenario in ("nothing", "lines", "line"):
        yield measure(contender, scratch, search, scenario, count)
        if contender.name == OURS:
            yield _plain(scratch, search, scenario, count)


def measure_python(scratch: Scratch, search: str) -> Measured:
    """An interpreter that does nothing: the floor under `--version`."""
    bare = Contender("python", sys.executable, [])
    return _command([bare.program, "-c", "pass"], bare, scratch, search)[0]


def measure_many(contender: Contender, scratch: Scratch, search: str, count: int, processes: int) -> Iterator[Measured]:
    """So many processes at once, each with `count` shell steps: once for their pace, once more for their memory.

    Looking at memory stops a process for a moment, the longer the bigger it is, so the two are not taken together.
    """
    _alone(contender, scratch, search, "hi", 1)
    yield _many(contender, scratch, search, count, processes, None)
    yield _many(contender, scratch, search, count, processes, Memory({scratch.model}, 0.1, 0.1))


def _many(
    contender: Contender, scratch: Scratch, search: str, count: int, processes: int, memory: Memory | None
) -> Measured:
    runs = [Process(contender, scratch, search, "shell", count) for _ in range(processes)]
    load, others = os.getloadavg()[0], Others(scratch.model)
    for run in runs:
        run.start()
    if memory:
        memory.start()
    waits = [threading.Thread(target=run.wait) for run in runs]
    for thread in waits:
        thread.start()
    for thread in waits:
        thread.join()
    if memory:
        memory.stop()
    processor = sum(run.processor for run in runs)
    share = others.share(processor)
    lines = scratch.lines()
    requests = [run.main_requests(lines) for run in runs]
    times = [line.asked_at for found in requests for line in found]
    steps = sum(max(0, len(found) - 1) for found in requests)
    wall = (max(run.ended for run in runs) - runs[0].began) / 1e9
    outputs = [run.output() for run in runs]
    good = all(_good(run, found) for run, found in zip(runs, requests, strict=True))
    end_leftovers({scratch.model})
    scratch.tidy(contender)
    return Measured(
        contender.name,
        "eight watched" if memory else "eight",
        wall,
        processor,
        good=good,
        gaps=[statistics.median(gaps) for found in requests if (gaps := _gaps(found))],
        resident=memory.resident if memory else 0,
        proportional=memory.proportional if memory else 0,
        steps_per_second=steps / wall,
        steady_steps_per_second=steps / max((max(times) - min(times)) / 1e9, 0.001) if times else 0.0,
        load=load,
        others=share,
        output="" if good else outputs[0][-2000:],
    )


def _plain(scratch: Scratch, search: str, scenario: str, count: int) -> Measured:
    """The same big files as an agent's shell prints, read by the same Python with nothing around it."""
    bare = Contender("plain", sys.executable, [])
    files = [str(scratch.work / f"{scenario}_{number % NAMES}.txt") for number in range(count)]
    measured, output = _command([bare.program, plain.__file__, *files], bare, scratch, search)
    return msgspec.structs.replace(measured, scenario=scenario, gaps=[float(line) for line in output.split()])


def _alone(contender: Contender, scratch: Scratch, search: str, scenario: str, count: int) -> Measured:
    memory = Memory({scratch.model}, every=0.015)
    run = Process(contender, scratch, search, scenario, count)
    load, others = os.getloadavg()[0], Others(scratch.model)
    run.start()
    memory.start()
    run.wait()
    memory.stop()
    share = others.share(run.processor)
    requests = run.main_requests(scratch.lines())
    good = _good(run, requests)
    output = run.output()
    end_leftovers({scratch.model})
    scratch.tidy(contender)
    return Measured(
        contender.name,
        scenario,
        (run.ended - run.began) / 1e9,
        run.processor,
        good=good,
        first_request=(requests[0].asked_at - run.began) / 1e9 if requests else 0.0,
        gaps=_gaps(requests),
        resident=memory.resident,
        load=load,
        others=share,
        output="" if good else output[-2000:],
    )


def _command(command: list[str], contender: Contender, scratch: Scratch, search: str) -> tuple[Measured, str]:
    """A command that asks no model, the second of two runs, and what it printed."""
    environment = contender.environment_for(scratch.home(contender), scratch.base, search)
    subprocess.run(command, env=environment, cwd=scratch.work, capture_output=True, check=True)
    load, others, began = os.getloadavg()[0], Others(scratch.model), time.monotonic_ns()
    process = subprocess.Popen(command, env=environment, cwd=scratch.work, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout:
        output = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    wall = (time.monotonic_ns() - began) / 1e9
    code = process.returncode = os.waitstatus_to_exitcode(status)
    processor = used.ru_utime + used.ru_stime
    share = others.share(processor)
    measured = Measured(contender.name, "version", wall, processor, good=code == 0, load=load, others=share)
    return measured, output


def _good(run: Process, requests: list[Line]) -> bool:
    return run.code == 0 and len(requests) == run.needed


def _gaps(requests: list[Line]) -> list[float]:
    pairs = itertools.pairwise(requests)
    return [(after.asked_at - before.answered_at) / 1e9 for before, after in pairs]
