"""Finds and ends every process that came from one we started, however it tried to leave.

A process belongs to a family when it descends from the leader, stands in the leader's session, writes to one of its
pipes, carries the family's mark in its environment, or wears the tag made of it. On Linux this process makes itself the
reaper of its descendants, so whatever loses its parent (`setsid`, a double fork) becomes our child and is found again
among our children. Children that do not belong, such as those of a program we are embedded in, are never touched nor
reaped. Without /proc only the leader's process group is known.
"""

import os
import signal
import sys
import time
from contextlib import suppress
from functools import cache

from msgspec import Struct

from bobstay.system.process_marker import tag_of, tag_worn_by, wears

MARK = "BOBSTAY_CALL"
"""The environment variable with the mark. Marks of nested programs are joined by `/`, the outermost first."""
_KERNEL_THREAD = 0x200000
_LOOKS = 10
"""How often we look again when processes come and go while we look."""


class ProcessTree:
    """The process `leader` and all that came from it."""

    def __init__(self, leader: int, mark: str, pipes: frozenset[str] = frozenset()) -> None:
        self.leader = leader
        self.mark = mark
        self._pipes = pipes
        self._sessions = {leader}
        """Sessions begun by members: whoever stands in one came from us."""
        self._known: dict[int, int] = {}
        self._strangers: dict[int, int] = {}

    def close_pipes(self) -> None:
        """They are about to be closed: from then on others may have what is called so."""
        self._pipes = frozenset()

    def orphans(self) -> list[int]:
        """Those whose parent is gone and who are our children now. Reaps the dead among them."""
        nobody = 0
        for _ in range(_LOOKS):
            children = _children_of_this_process()
            if children is None:
                return [self.leader] if _group_lives(self.leader) else []
            found = [_process(pid) for pid in children if pid != self.leader]
            tops, settled = self._owned([process for process in found if process is not None])
            living, quiet = self._sort(tops, {})
            nobody = nobody + 1 if quiet and settled and None not in found else 0
            if living or nobody > 1:  # the kernel's list may miss one while others go, so once is not enough
                return living
        return []

    def members(self) -> list[int]:
        """All of the family that live, the leader first."""
        for _ in range(_LOOKS):
            processes, still = _table()
            below: dict[int, list[Process]] = {}
            for process in processes.values():
                below.setdefault(process.parent, []).append(process)
            tops = below.pop(os.getpid(), [])
            for parent in below.keys() - processes.keys() - {0}:  # it went while we looked, and they are ours by now
                tops += below[parent]
            tops, settled = self._owned(tops)
            living, quiet = self._sort(sorted(tops, key=lambda process: process.pid != self.leader), below)
            if living or (quiet and settled and still):
                return living
        return []

    def _owned(self, processes: "list[Process]") -> tuple[list["Process"], bool]:
        """Those of ours, and whether there is none of whom we cannot tell: one that is dead when first seen."""
        owned, settled = [], True
        for process in processes:
            if self._owns(process):
                owned.append(process)
                self._sessions.add(process.session)
            elif process.state == "Z" and self._strangers.get(process.pid) != process.started:
                self._strangers[process.pid] = process.started
                settled = False
        return owned, settled

    def _sort(self, tops: "list[Process]", below: "dict[int, list[Process]]") -> tuple[list[int], bool]:
        """The living among `tops` and those below them, and whether nobody died while we looked.

        Whoever died may have left a child that was born after we began to look: then nobody found is not nobody there.
        """
        queue, living, quiet = list(tops), [], True
        for process in queue:
            self._known[process.pid] = process.started
            if process.state != "Z":
                living.append(process.pid)
            elif process.pid != self.leader:
                quiet = False
                if process.parent == os.getpid():
                    reap(process.pid)
            queue.extend(below.get(process.pid, ()))
        return living, quiet

    def signal(self, number: int) -> int:
        """Send a signal to all members. Returns how many there were."""
        if not _has_proc():
            return int(_signal_group(self.leader, number))
        members = self.members()
        for pid in members:
            send(pid, number, self._known[pid])
        return len(members)

    def kill(self, rounds: int = 20) -> int:
        """Kill all members and those born meanwhile, without waiting. Returns how many were left in the last round."""
        count = 0
        for _ in range(rounds):
            count = self.signal(signal.SIGKILL)
            if not count:
                break
        return count

    def _owns(self, process: "Process") -> bool:
        if process.pid == os.getpid():
            return False
        if process.pid == self.leader or process.session in self._sessions:
            return True
        if self._known.get(process.pid) == process.started:
            return True
        return carries(process.pid, self.mark) or wears(process.pid, self.mark) or self._writes_to_us(process.pid)

    def _writes_to_us(self, pid: int) -> bool:
        return any(_link(f"/proc/{pid}/fd/{number}") in self._pipes for number in (1, 2))


class Process(Struct, frozen=True):
    """A line of the process table."""

    pid: int
    state: str
    parent: int
    session: int
    started: int


def become_reaper() -> None:
    """Make orphaned descendants our children instead of those of process 1. Does nothing but on Linux."""
    if sys.platform.startswith("linux"):
        _become_reaper(os.getpid())


def carries(pid: int, mark: str) -> bool:
    """Tell whether a process has `mark` among the marks in its environment."""
    return bool(mark) and mark.encode() in marks_of(pid, patient=True).split(b"/")


def marks_of(pid: int, *, patient: bool = False) -> bytes:
    """The marks in a process's environment, joined by `/`.

    A process has no environment for a moment while it becomes another program: the `patient` look again then.
    """
    for entry in (_settled_environment(pid) if patient else _bytes(f"/proc/{pid}/environ")).split(b"\0"):
        if entry.startswith(MARK.encode() + b"="):
            return entry.partition(b"=")[2]
    return b""


def sweep(part: str) -> int:
    """Kill every process whose mark contains `part`: what a run that crashed left behind. Returns how many."""
    if len(part) < 8:
        raise ValueError("too short to be sure whom it names")
    me = os.getpid()
    found = [
        process
        for process in _table()[0].values()
        if part.encode() in marks_of(process.pid, patient=process.parent == me) or _is_bare(process.pid, part)
    ]
    for process in found:
        send(process.pid, signal.SIGKILL, process.started)
    return len(found)


def _is_bare(pid: int, part: str) -> bool:
    """Whether a process wears the tag of a session and carries no mark that could say more."""
    session = part.strip(":")
    if not part.startswith(":") or ":" in session:
        return False
    return tag_worn_by(pid)[9:15] == tag_of(f"0:{session}")[9:] and not marks_of(pid)


def send(pid: int, number: int, started: int) -> None:
    """Send a signal to the process `pid` that began at `started`, and to no later one of the same number."""
    if pid in (os.getpid(), 0, 1):
        return
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return
    try:
        process = _process(pid)
        if process is not None and process.started == started:
            signal.pidfd_send_signal(handle, number)
    except (ProcessLookupError, PermissionError):
        pass  # it is gone, or belongs to somebody else now (sudo)
    finally:
        os.close(handle)


def reap(pid: int) -> None:
    """Take a dead child out of the process table."""
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


@cache
def _become_reaper(_pid: int) -> None:
    """Once for each process: a fork does not inherit it."""
    import ctypes

    set_child_subreaper = 36
    ctypes.CDLL(None).prctl(set_child_subreaper, 1, 0, 0, 0)


def _has_proc() -> bool:
    return sys.platform.startswith("linux") and os.path.exists("/proc/self/stat")


def _group_lives(group: int) -> bool:
    return _signal_group(group, 0)


def _signal_group(group: int, number: int) -> bool:
    if group <= 1 or group == os.getpgrp():
        return False
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _children_of_this_process() -> list[int] | None:
    """Our children by process id, or None where the system does not tell."""
    if not sys.platform.startswith("linux"):
        return None
    found: list[int] = []
    try:
        for thread in os.listdir("/proc/self/task"):
            with open(f"/proc/self/task/{thread}/children", "rb", buffering=0) as file:
                found.extend(map(int, file.read(1 << 20).split()))
    except OSError:
        return [process.pid for process in _table()[0].values() if process.parent == os.getpid()]
    return found


def _settled_environment(pid: int) -> bytes:
    for _ in range(200):
        found = _bytes(f"/proc/{pid}/environ")
        if found:
            return found
        if not _is_becoming(pid):
            return _bytes(f"/proc/{pid}/environ")  # it may have become the other program while we read
        time.sleep(0.0005)  # it only waits for its turn to run
    return b""


def _is_becoming(pid: int) -> bool:
    """Tell whether a process is just between two programs: it lives, is ours to look at, and has no environment."""
    fields = _bytes(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    if len(fields) <= 48 or fields[0] == b"Z" or int(fields[6]) & _KERNEL_THREAD:
        return False
    return fields[48] == b"0" and os.access(f"/proc/{pid}/environ", os.R_OK)


def _table() -> tuple[dict[int, Process], bool]:
    """All processes by their id, and whether none went away while we looked."""
    try:
        names = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return {}, True
    found = {pid: process for pid in names if (process := _process(pid)) is not None}
    return found, len(found) == len(names)


def _process(pid: int) -> Process | None:
    fields = _bytes(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    if len(fields) < 20:
        return None
    return Process(pid, fields[0].decode(), int(fields[1]), int(fields[3]), int(fields[19]))


def _bytes(path: str) -> bytes:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(handle, 1 << 18)
    except OSError:
        return b""
    finally:
        os.close(handle)


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""
