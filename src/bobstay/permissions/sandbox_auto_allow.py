"""Sandbox auto-allow: finds paths outside the workspace that a sandboxed command names; such a command is asked about.

The sandbox restricts what a command writes and which hosts it reaches. It may read outside the workspace, and the model
sees the output, so a person should know. Only paths in the command's words are considered.
"""

import os
from collections.abc import Iterator

from bobstay.permissions.path_resolution import FileSystemView, Located, locate, within
from bobstay.permissions.shell import analyze

_PRIVATE = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - a sandbox has its own, or may not write there
_HARMLESS = frozenset(("/dev/null", "/dev/zero", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty"))


def named_outside_path(command: str, cwd: str, view: FileSystemView) -> str:
    """The first existing path outside the working directories that `command` names, or ""."""
    for target in _named_paths(command, cwd, view):
        located = locate(target, cwd, view)
        if located.path and not view.contains(located) and not _is_harmless(located):
            return located.path
    return ""


def _named_paths(command: str, cwd: str, view: FileSystemView) -> Iterator[str]:
    analysis = analyze(command, cwd, view)
    for simple in (*analysis.commands, *analysis.hidden):
        yield from simple.reads
        yield from simple.writes
        yield from simple.read_directories
    yield from (target.path for target in analysis.targets if target.path)


def _is_harmless(located: Located) -> bool:
    """Whether the path is a harmless device or does not exist: a sed script such as `/word/d` looks like a path."""
    if any(spelling in _HARMLESS for spelling in located.spellings):
        return True
    return not any(map(_exists, located.spellings))


def _exists(path: str) -> bool:
    if any(within(path, directory) for directory in _PRIVATE):
        return os.path.lexists(path)
    return os.path.lexists("/" + path.split("/")[1])
