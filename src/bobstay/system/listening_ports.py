"""Finds out whether processes listen on a network port. Without /proc the answer is no."""

import os
from collections.abc import Iterable
from contextlib import suppress

_LISTEN = "0A"
"""The state of a listening socket in /proc/net/tcp."""


def is_listening(pids: Iterable[int]) -> bool:
    """Whether one of these processes listens for TCP connections."""
    return any(not _listening_sockets(pid).isdisjoint(_open_sockets(pid)) for pid in pids)


def _listening_sockets(pid: int) -> set[str]:
    """The sockets that listen in the network namespace of `pid`."""
    found: set[str] = set()
    for table in ("tcp", "tcp6"):
        with suppress(OSError), open(f"/proc/{pid}/net/{table}", encoding="ascii") as lines:
            rows = [line.split() for line in lines][1:]
            found.update(f"socket:[{row[9]}]" for row in rows if len(row) > 9 and row[3] == _LISTEN)
    return found


def _open_sockets(pid: int) -> set[str]:
    found: set[str] = set()
    with suppress(OSError):
        for name in os.listdir(f"/proc/{pid}/fd"):
            with suppress(OSError):
                found.add(os.readlink(f"/proc/{pid}/fd/{name}"))
    return found
