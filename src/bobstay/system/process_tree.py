"""Finds and ends all descendants of a process we started, even if they detach from it.

A process belongs to the tree if it descends from the leader, is in the leader's session, writes to one of its pipes, or
has the tree's mark in its environment or the tag derived from it. On Linux this process makes itself the reaper of its
descendants, so a process that loses its parent (`setsid`, a double fork) becomes our child and is found again among our
children. Other children, such as those of a program that embeds us, are never signalled or reaped. Without /proc only
the leader's process group is known.
"""

import os
import signal
import sys
import time
from contextlib import suppress
from functools import cache

from msgspec import Struct

from bobstay.system.process_marker import has_tag, read_tag, tag_of

MARK = "BOBSTAY_CALL"
"""The environment variable with the mark. Marks of nested programs are joined by `/`, the outermost first."""
_KERNEL_THREAD = 0x200000
_ATTEMPTS = 10
"""How often the process table is read again if processes start or end meanwhile."""


class ProcessTree:
    """The process `leader` and all its descendants."""

    def __init__(self, leader: int, mark: str, pipes: frozenset[str] = frozenset()) -> None:
        self.leader = leader
        self.mark = mark
        self._pipes = pipes
        self._sessions = {leader}
        """Sessions of members: every process in one belongs to the tree."""
        self._known: dict[int, int] = {}
        self._strangers: dict[int, int] = {}

    def close_pipes(self) -> None:
        """Forget the pipes before they are closed: their names may be reused."""
        self._pipes = frozenset()

    def orphans(self) -> list[int]:
        """Return the members that lost their parent and are our children now. Reaps the dead among them."""
        empty = 0
        for _ in range(_ATTEMPTS):
            children = _children_of_this_process()
            if children is None:
                return [self.leader] if _group_lives(self.leader) else []
            found = [_process(pid) for pid in children if pid != self.leader]
            tops, certain = self._filter_owned([process for process in found if process is not None])
            living, quiet = self._collect_living(tops, {})
            empty = empty + 1 if quiet and certain and None not in found else 0
            if living or empty > 1:  # the kernel's list may miss one while others exit, so once is not enough
                return living
        return []

    def members(self) -> list[int]:
        """Return all living members, the leader first."""
        for _ in range(_ATTEMPTS):
            processes, stable = _table()
            below: dict[int, list[Process]] = {}
            for process in processes.values():
                below.setdefault(process.parent, []).append(process)
            tops = below.pop(os.getpid(), [])
            for parent in below.keys() - processes.keys() - {0}:  # it exited meanwhile: they are our children by now
                tops += below[parent]
            tops, certain = self._filter_owned(tops)
            living, quiet = self._collect_living(sorted(tops, key=lambda process: process.pid != self.leader), below)
            if living or (quiet and certain and stable):
                return living
        return []

    def _filter_owned(self, processes: "list[Process]") -> tuple[list["Process"], bool]:
        """Return the members among `processes`, and whether that is certain: not if one was dead when first seen."""
        owned, certain = [], True
        for process in processes:
            if self._owns(process):
                owned.append(process)
                self._sessions.add(process.session)
            elif process.state == "Z" and self._strangers.get(process.pid) != process.started:
                self._strangers[process.pid] = process.started
                certain = False
        return owned, certain

    def _collect_living(self, tops: "list[Process]", below: "dict[int, list[Process]]") -> tuple[list[int], bool]:
        """Return the living among `tops` and their descendants, and whether none of them was dead.

        A dead process may have left a child that started after the table was read, so an empty result is not certain.
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
        """Send a signal to all members. Returns their number."""
        if not _has_proc():
            return int(_signal_group(self.leader, number))
        members = self.members()
        for pid in members:
            send_signal(pid, number, self._known[pid])
        return len(members)

    def kill(self, rounds: int = 20) -> int:
        """Kill all members and those started meanwhile, without waiting. Returns how many the last round found."""
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
        return has_mark(process.pid, self.mark) or has_tag(process.pid, self.mark) or self._writes_to_us(process.pid)

    def _writes_to_us(self, pid: int) -> bool:
        return any(_link(f"/proc/{pid}/fd/{number}") in self._pipes for number in (1, 2))


class Process(Struct, frozen=True):
    """A row of the process table."""

    pid: int
    state: str
    parent: int
    session: int
    started: int


def become_reaper() -> None:
    """Make orphaned descendants our children instead of those of process 1. Only on Linux."""
    if sys.platform.startswith("linux"):
        _become_reaper(os.getpid())


def has_mark(pid: int, mark: str) -> bool:
    """Whether a process has `mark` among the marks in its environment."""
    return bool(mark) and mark.encode() in marks_of(pid, retry=True).split(b"/")


def marks_of(pid: int, *, retry: bool = False) -> bytes:
    """Return the marks in a process's environment, joined by `/`.

    A process has no environment for a moment during exec: with `retry` it is read again then.
    """
    for entry in (_read_environment(pid) if retry else _bytes(f"/proc/{pid}/environ")).split(b"\0"):
        if entry.startswith(MARK.encode() + b"="):
            return entry.partition(b"=")[2]
    return b""


def kill_marked(part: str) -> int:
    """Kill every process whose mark contains `part`, such as those a crashed run left. Returns their number."""
    if len(part) < 8:
        raise ValueError("the part of a mark is too short to identify processes")
    me = os.getpid()
    found = [
        process
        for process in _table()[0].values()
        if part.encode() in marks_of(process.pid, retry=process.parent == me) or _has_session_tag(process.pid, part)
    ]
    for process in found:
        send_signal(process.pid, signal.SIGKILL, process.started)
    return len(found)


def _has_session_tag(pid: int, part: str) -> bool:
    """Whether a process has the tag of a session, but no mark."""
    session = part.strip(":")
    if not part.startswith(":") or ":" in session:
        return False
    return read_tag(pid)[9:15] == tag_of(f"0:{session}")[9:] and not marks_of(pid)


def send_signal(pid: int, number: int, started: int) -> None:
    """Send a signal to the process `pid` that started at `started`, and to no later one with the same id."""
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
        pass  # it is gone, or runs as another user now (sudo)
    finally:
        os.close(handle)


def reap(pid: int) -> None:
    """Remove a dead child from the process table."""
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


@cache
def _become_reaper(_pid: int) -> None:
    """Set it once per process: a fork does not inherit it."""
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
    """Return the process ids of our children, or None if the system does not tell."""
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


def _read_environment(pid: int) -> bytes:
    for _ in range(200):
        found = _bytes(f"/proc/{pid}/environ")
        if found:
            return found
        if not _is_in_exec(pid):
            return _bytes(f"/proc/{pid}/environ")  # exec may have finished in between
        time.sleep(0.0005)  # exec takes only as long as the process waits for a processor
    return b""


def _is_in_exec(pid: int) -> bool:
    """Whether a process is in the middle of exec: it is alive and readable, but has no environment."""
    fields = _bytes(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    if len(fields) <= 48 or fields[0] == b"Z" or int(fields[6]) & _KERNEL_THREAD:
        return False
    return fields[48] == b"0" and os.access(f"/proc/{pid}/environ", os.R_OK)


def _table() -> tuple[dict[int, Process], bool]:
    """Return all processes by id, and whether none of them ended meanwhile."""
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
