"""Landlock grants for a mount plan, for machines where bubblewrap does not work.

Landlock can only grant: a grant on a folder covers everything in it, without exceptions. So a folder that contains a
protected path, present or missing, is not granted itself; its entries are, one by one. Files cannot be created
directly in such a folder, which includes every working directory and every `.git`: this sandbox permits less than
bubblewrap does, never more.
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
_MANAGE_ENTRIES = (
    _REMOVE_FOLDER | _REMOVE_FILE | _MAKE_FOLDER | _MAKE_FILE | _MAKE_SOCKET | _MAKE_PIPE | _MAKE_LINK | _REFER
)
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")
_MOST = 20_000


class Grant(Struct, frozen=True):
    path: str
    rights: int


def grants(plan: Plan, temporary: str) -> list[Grant]:
    """All grants. Directories may be listed everywhere; contents are granted except those of hidden paths."""
    hidden = [mount.path for mount in plan.mounts if mount.how in ("blank", "empty") and mount.placeholder is None]
    held = [mount.path for mount in plan.mounts if mount.how in ("blank", "empty", "read")]
    held += [link for link, _ in plan.pins]
    shown = [mount.path for mount in plan.mounts if mount.how == "read" and mount.required]
    found = [Grant("/", READ_FOLDER)]
    found += [Grant(path, _READ) for path in _around("/", hidden)]
    found += [Grant(path, _READ) for path in (*shown, *plan.roots, temporary) if os.path.isdir(path)]
    found += [Grant(path, _CHANGE | READ_FILE) for path in _DEVICES if os.path.exists(path)]
    for root in plan.roots:
        for path in _around(root, [path for path in held if within(path, root)]):
            found.append(Grant(path, _CHANGE | _MANAGE_ENTRIES if os.path.isdir(path) else _CHANGE))
    found.append(Grant(temporary, _CHANGE | _MANAGE_ENTRIES))
    return found


def encode(found: list[Grant]) -> bytes:
    """Encode grants in the format that `restrict.py` reads."""
    return b"".join(b"%d %s\0" % (grant.rights, os.fsencode(grant.path)) for grant in found)


def _around(folder: str, excluded: list[str]) -> list[str]:
    """The topmost existing paths in `folder` that neither are nor contain anything of `excluded`."""
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
