"""Tells whether a command that runs in the sandbox visibly touches more than the workspace: that is still asked about.

The sandbox holds what a command writes and reaches. What it reads outside, a person should know: the model gets to
see it. Only what the words of the command name is looked for; all else is the sandbox's business.
"""

import os
from collections.abc import Iterator

from bobstay.permissions.path_resolution import Located, PathWorld, locate, within
from bobstay.permissions.shell import read

_ITS_OWN = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - a sandbox has these for itself, or may not write there
_HARMLESS = frozenset(("/dev/null", "/dev/zero", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty"))


def outside(command: str, cwd: str, world: PathWorld) -> str:
    """A path outside the working directories that `command` names, or ""."""
    for target in _named(command, cwd, world):
        located = locate(target, cwd, world)
        if located.path and not world.holds(located) and not _is_nothing(located):
            return located.path
    return ""


def _named(command: str, cwd: str, world: PathWorld) -> Iterator[str]:
    reading = read(command, cwd, world)
    for simple in (*reading.commands, *reading.hidden):
        yield from simple.reads
        yield from simple.writes
        yield from simple.sweeps
    yield from (target.path for target in reading.targets if target.path)


def _is_nothing(located: Located) -> bool:
    """Whether there is nothing of the machine's at this path. A pattern such as `/word/d` only looks like one."""
    if any(spelling in _HARMLESS for spelling in located.spellings):
        return True
    return not any(map(_is_there, located.spellings))


def _is_there(path: str) -> bool:
    if any(within(path, place) for place in _ITS_OWN):
        return os.path.lexists(path)
    return os.path.lexists("/" + path.split("/")[1])
