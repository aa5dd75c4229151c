"""What runs on this machine: whether a process lives, and which processes carry a mark."""

import os
from pathlib import Path


def is_alive(pid: int) -> bool:
    """Zombies are not."""
    fields = status_fields(pid)
    return bool(fields) and fields[0] not in "ZX"


def living_processes() -> list[int]:
    """All processes but this one, without zombies."""
    pids = (int(name) for name in os.listdir("/proc") if name.isdigit())
    return [pid for pid in pids if pid != os.getpid() and is_alive(pid)]


def marked_processes(mark: str) -> list[int]:
    """Those whose environment or command line has `mark` in it."""
    return [
        pid
        for pid in living_processes()
        if mark.encode() in proc_file(pid, "environ") or mark.encode() in proc_file(pid, "cmdline")
    ]


def status_fields(pid: int) -> list[str]:
    """The fields after the name: state, parent, ..., the 20th is the start time. Empty if there is no such process."""
    return proc_file(pid, "stat").decode(errors="replace").rpartition(")")[2].split()


def proc_file(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:  # it has ended, or belongs to somebody else
        return b""


def resident_memory() -> int:
    """Bytes this process has in memory."""
    return int(proc_file(os.getpid(), "statm").split()[1]) * os.sysconf("SC_PAGE_SIZE")
