"""Quarantines files that a sandboxed command created and that programs outside would execute or load without asking.

Directly in the working directories mounts protect such names, present or not. Mounts cannot protect every folder below,
nor folders that do not exist yet: a path that exists after the command and did not before is renamed.
"""

import errno
import os

from msgspec import Struct

from bobstay.permissions.sandbox.mount_plan import Survey
from bobstay.permissions.sandbox.placeholders import is_placeholder
from bobstay.permissions.sandbox.planner import Planner
from bobstay.permissions.sandbox.safe_repository import is_safe_repository
from bobstay.system.atomic_file import move

SUFFIX = ".from-sandbox"
_MOST_NAMES = 100


class QuarantinedPath(Struct, frozen=True):
    path: str
    now: str
    """Its new path; "" if it could not be renamed."""


class QuarantineScan:
    """The autoloaded paths in and below the working directories when a command starts."""

    def __init__(self, planner: Planner, survey: Survey) -> None:
        self._planner = planner
        self._survey = survey
        self._before = {_identity(path) for path in planner.autoloaded_paths(survey)}

    def quarantine_new(self, *, background: bool = False) -> tuple[QuarantinedPath, ...]:
        """Quarantine the new paths, after the last process of the command has ended.

        `background`: it ran in parallel with other work, so new files need not be its own. Then only repositories that
        make git run programs are quarantined: other work does not create these by accident.
        """
        found = []
        known = frozenset(self._planner.guarded_folders(self._survey))
        for path in self._planner.autoloaded_paths(self._survey):
            if _identity(path) in self._before or is_placeholder(path):
                continue
            name = os.path.basename(path)
            if name.lower() == ".git":
                is_safe = is_safe_repository(path, known)
            elif name == "HEAD":  # of a bare repository
                is_safe = is_safe_repository(os.path.dirname(path), known)
            else:
                is_safe = background
            if not is_safe:
                found.append(_quarantine(path))
        return tuple(found)


def _identity(path: str) -> tuple[int, int]:
    """Device and inode: stable when a file is moved, different for a file that replaces it."""
    try:
        status = os.lstat(path)
    except OSError:
        return (0, 0)
    return status.st_dev, status.st_ino


def _quarantine(path: str) -> QuarantinedPath:
    for number in range(1, _MOST_NAMES):
        wanted = f"{path}{SUFFIX}" + (f"-{number}" if number > 1 else "")
        if os.path.lexists(wanted):
            continue
        try:
            move(path, wanted)
        except OSError as error:
            if error.errno in (errno.EEXIST, errno.ENOTEMPTY):
                continue
            return QuarantinedPath(path, "")
        return QuarantinedPath(path, wanted)
    return QuarantinedPath(path, "")
