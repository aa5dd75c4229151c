"""Blanks secrets in what other processes can read of this one: `/proc/PID/environ` and `/proc/PID/cmdline`.

The kernel reads both from the memory the process was started with, whatever is unset or copied later, and every
program of the same user may read them: a command that an agent runs could print the keys of its parent. On other
systems than Linux this does nothing.
"""

import os
from collections.abc import Callable

_ARGUMENTS, _ENVIRONMENT = 47, 49
"""Fields of `/proc/self/stat` (counted from 0) with the start address of each; the next field is the end address."""


def blank_environment(is_secret: Callable[[str, str], bool]) -> None:
    """Blank the values of variables for which `is_secret(name, value)`. `os.environ` keeps them."""

    def blanked(entry: bytes) -> bytes:
        name, equals, value = entry.partition(b"=")
        secret = bool(equals) and is_secret(os.fsdecode(name), os.fsdecode(value))
        return name + equals + b"\0" * len(value) if secret else entry

    _rewrite(_ENVIRONMENT, blanked)


def blank_arguments(is_secret: Callable[[str], str]) -> None:
    """Blank in each argument the part that `is_secret` returns. `sys.argv` keeps it."""

    def blanked(entry: bytes) -> bytes:
        part = os.fsencode(is_secret(os.fsdecode(entry)))
        return entry.replace(part, b"*" * len(part)) if part else entry

    _rewrite(_ARGUMENTS, blanked)


def _rewrite(field: int, blanked: Callable[[bytes], bytes]) -> None:
    try:
        with open("/proc/self/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()  # the name before it may hold anything
        start, stop = int(fields[field - 2]), int(fields[field - 1])
        if not 0 < start < stop:
            return
        with open("/proc/self/mem", "r+b", buffering=0) as memory:
            memory.seek(start)
            before = memory.read(stop - start)
            after = b"\0".join(map(blanked, before.split(b"\0")))
            if after != before and len(after) == len(before):
                memory.seek(start)
                memory.write(after)
    except (OSError, ValueError, IndexError):
        return  # no such file system, or a system that does not let a process write its own memory
