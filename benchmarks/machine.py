"""What the kernel says of processes and of the machine: families of processes, memory, processor time, load."""

import ctypes
import os
import platform
import signal
import threading
import time
from pathlib import Path

import msgspec

_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")
_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """What a measured agent leaves behind becomes our child, so that it is counted and ended."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def family(pid: int) -> list[int]:
    """The process and all its descendants."""
    waiting, found = [pid], []
    while waiting:
        found.append(waiting.pop())
        waiting += children(found[-1])
    return found


def children(pid: int) -> list[int]:
    found: list[int] = []
    for task in _listed(f"/proc/{pid}/task"):
        found += [int(word) for word in _text(f"/proc/{pid}/task/{task}/children").split()]
    return found


def images(pid: int, parent: str = "") -> dict[int, int]:
    """The resident memory of a process and its descendants, each by its id.

    A child between vfork and exec runs in its parent's memory and would report all of it again: it is left out. It is
    known by showing the very same sizes as its parent.
    """
    shape = _text(f"/proc/{pid}/statm")
    found = {pid: int(shape.split()[1]) * _PAGE} if shape and shape != parent else {}
    for child in children(pid):
        found |= images(child, shape)
    return found


def proportional(pid: int) -> int:
    """Memory with shared pages divided among those who share them."""
    for line in _text(f"/proc/{pid}/smaps_rollup").splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return 0


def end_leftovers(spare: set[int]) -> None:
    """End what measured agents left running: our own descendants except `spare`."""
    left = [pid for child in children(os.getpid()) if child not in spare for pid in family(child)]
    for pid in left:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    for child in [pid for pid in children(os.getpid()) if pid not in spare]:
        try:
            os.waitpid(child, 0)
        except ChildProcessError:
            continue


class Memory(threading.Thread):
    """Watches the memory of all our descendants except `spare`, until stopped."""

    def __init__(self, spare: set[int], every: float, proportional_every: float = 0.0) -> None:
        super().__init__(daemon=True)
        self.resident = self.proportional = 0
        self._spare = spare
        self._every = every
        self._proportional_every = proportional_every
        self._ended = threading.Event()

    def run(self) -> None:
        looked = time.monotonic()
        while not self._ended.wait(self._every):
            roots = [pid for pid in children(os.getpid()) if pid not in self._spare]
            found = {pid: size for root in roots for pid, size in images(root).items()}
            self.resident = max(self.resident, sum(found.values()))
            if self._proportional_every and time.monotonic() - looked >= self._proportional_every:
                looked = time.monotonic()
                self.proportional = max(self.proportional, sum(map(proportional, found)))

    def stop(self) -> None:
        self._ended.set()
        self.join()


class Others:
    """The share of the machine's processors that other work takes from now until `share` is asked."""

    def __init__(self, model: int) -> None:
        self._model = model
        self._before = self._now()

    def share(self, measured: float) -> float:
        """`measured` is the processor time of the agents that were run meanwhile."""
        (began, busy, ours), (ended, busy_then, ours_then) = self._before, self._now()
        foreign = busy_then - busy - (ours_then - ours) - measured
        return max(0.0, foreign / (max(ended - began, 0.001) * (os.cpu_count() or 1)))

    def _now(self) -> tuple[float, float, float]:
        user, nice, system, _, _, irq, softirq = map(int, _text("/proc/stat").split("\n", 1)[0].split()[1:8])
        busy = (user + nice + system + irq + softirq) / _TICKS
        return time.monotonic(), busy, time.process_time() + _processor_time(self._model)


class Machine(msgspec.Struct, frozen=True):
    """Where numbers were taken; without it they mean nothing."""

    processors: int
    processor: str
    memory_gb: float
    system: str
    python: str


def machine() -> Machine:
    named = [line.split(":", 1)[1].strip() for line in _text("/proc/cpuinfo").splitlines() if "model name" in line]
    memory = os.sysconf("SC_PHYS_PAGES") * _PAGE / 1e9
    return Machine(
        processors=os.cpu_count() or 1,
        processor=named[0] if named else platform.machine(),
        memory_gb=round(memory, 1),
        system=f"{platform.system()} {platform.release().split('-')[0]}",
        python=platform.python_version(),
    )


def _processor_time(pid: int) -> float:
    words = _text(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / _TICKS if words else 0.0


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _text(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""
