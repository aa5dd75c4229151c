"""Puts aside what a sandboxed command made below the workspace and programs outside would obey without being asked.

In the working directories themselves such names are held by mounts, present or not. They cannot be held in every
folder below, nor in folders that are yet to be made: what is there afterwards and was not before gets another name.
"""

import errno
import os

from msgspec import Struct

from bobstay.permissions.sandbox.mount_plan import Survey
from bobstay.permissions.sandbox.placeholders import is_stand_in
from bobstay.permissions.sandbox.planner import Planner
from bobstay.permissions.sandbox.safe_repository import is_decent

SUFFIX = ".from-sandbox"
_MOST_NAMES = 100


class Moved(Struct, frozen=True):
    path: str
    now: str
    """Its new name; "" if it could not be moved."""


class Watch:
    """What is obeyed in and below the working directories when a command starts."""

    def __init__(self, planner: Planner, survey: Survey) -> None:
        self._planner = planner
        self._survey = survey
        self._before = {_identity(path) for path in planner.obeyed(survey)}

    def sweep(self, *, lasting: bool = False) -> tuple[Moved, ...]:
        """Look again, when all of the command is gone.

        `lasting`: it ran long beside other work, so what is new need not be its own. Then only repositories that make
        git run programs are put aside: nobody else makes these by the way.
        """
        found = []
        known = frozenset(self._planner.guarded_folders(self._survey))
        for path in self._planner.obeyed(self._survey):
            if _identity(path) in self._before or is_stand_in(path):
                continue
            name = os.path.basename(path)
            if name.lower() == ".git":
                harmless = is_decent(path, known)
            elif name == "HEAD":  # of a bare repository
                harmless = is_decent(os.path.dirname(path), known)
            else:
                harmless = lasting
            if not harmless:
                found.append(_put_aside(path))
        return tuple(found)


def _identity(path: str) -> tuple[int, int]:
    """The same for a thing wherever it is moved, another for what takes its place."""
    try:
        status = os.lstat(path)
    except OSError:
        return (0, 0)
    return status.st_dev, status.st_ino


def _put_aside(path: str) -> Moved:
    for number in range(1, _MOST_NAMES):
        wanted = f"{path}{SUFFIX}" + (f"-{number}" if number > 1 else "")
        if os.path.lexists(wanted):
            continue
        try:
            os.rename(path, wanted)
        except OSError as error:
            if error.errno in (errno.EEXIST, errno.ENOTEMPTY):
                continue
            return Moved(path, "")
        return Moved(path, wanted)
    return Moved(path, "")
