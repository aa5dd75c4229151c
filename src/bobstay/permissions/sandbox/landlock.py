"""What a command may touch under Landlock, for machines where bubblewrap does not work.

Landlock only grants: what is granted on a folder holds for all of it, and nothing in it can be taken out again. So a
folder that holds a protected path, present or missing, is not granted itself; what is in it is, one by one. Files
cannot be created directly in such a folder, which includes every working directory and every `.git`: less work gets
done in this sandbox than in the other, never more harm.
"""

import os

from msgspec import Struct

from bobstay.permissions.path_resolution import within
from bobstay.permissions.sandbox.mount_plan import Plan

EXECUTE, WRITE_FILE, READ_FILE, READ_FOLDER = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REMOVE_FOLDER, _REMOVE_FILE, _MAKE_FOLDER, _MAKE_FILE = 1 << 4, 1 << 5, 1 << 7, 1 << 8
_MAKE_SOCKET, _MAKE_PIPE, _MAKE_LINK, _REFER, _TRUNCATE = 1 << 9, 1 << 10, 1 << 12, 1 << 13, 1 << 14
_READ = EXECUTE | READ_FILE
_CHANGE = WRITE_FILE | _TRUNCATE
_KEEP_HOUSE = (
    _REMOVE_FOLDER | _REMOVE_FILE | _MAKE_FOLDER | _MAKE_FILE | _MAKE_SOCKET | _MAKE_PIPE | _MAKE_LINK | _REFER
)
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")
_MOST = 20_000


class Grant(Struct, frozen=True):
    path: str
    rights: int


def grants(plan: Plan, temporary: str) -> list[Grant]:
    """Everything that is allowed. Names may be listed everywhere; contents are granted around what is hidden."""
    hidden = [mount.path for mount in plan.mounts if mount.how in ("blank", "empty") and mount.stand_in is None]
    held = [mount.path for mount in plan.mounts if mount.how in ("blank", "empty", "read")]
    held += [link for link, _ in plan.pins]
    shown = [mount.path for mount in plan.mounts if mount.how == "read" and mount.firm]
    found = [Grant("/", READ_FOLDER)]
    found += [Grant(path, _READ) for path in _around("/", hidden)]
    found += [Grant(path, _READ) for path in (*shown, *plan.roots, temporary) if os.path.isdir(path)]
    found += [Grant(path, _CHANGE | READ_FILE) for path in _DEVICES if os.path.exists(path)]
    for root in plan.roots:
        for path in _around(root, [path for path in held if within(path, root)]):
            found.append(Grant(path, _CHANGE | _KEEP_HOUSE if os.path.isdir(path) else _CHANGE))
    found.append(Grant(temporary, _CHANGE | _KEEP_HOUSE))
    return found


def encode(found: list[Grant]) -> bytes:
    """As `restrict.py` reads it."""
    return b"".join(b"%d %s\0" % (grant.rights, os.fsencode(grant.path)) for grant in found)


def _around(folder: str, excluded: list[str]) -> list[str]:
    """The largest existing parts of `folder` that neither are nor hold anything of `excluded`."""
    found: list[str] = []
    waiting = [folder]
    while waiting and len(found) < _MOST:
        path = waiting.pop()
        if path in excluded or os.path.islink(path):
            continue
        if not any(within(one, path) for one in excluded):
            found.append(path)
            continue
        try:
            waiting += [entry.path for entry in os.scandir(path)]
        except OSError:
            continue
    return found
