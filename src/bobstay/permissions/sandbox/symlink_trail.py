"""Traces a path through symbolic links: every link and folder on the way that could be replaced."""

import os
import stat
from collections.abc import Callable
from itertools import takewhile

from msgspec import Struct

from bobstay.permissions.path_resolution import read_link, resolve


class Trail(Struct, frozen=True):
    links: tuple[str, ...] = ()
    """Symbolic links on the way, as real paths."""
    folders: tuple[str, ...] = ()
    """Real folders that were traversed after the first link, without the end."""
    end: str = ""
    """The resolved path; the first missing component if it does not exist; "" for a loop of links."""
    missing: bool = False


def trace(path: str, changeable: Callable[[str], bool]) -> Trail:
    """Follow `path`, whose parent must be a real path. Only `changeable` links and folders are listed."""
    modes: dict[str, int] = {}

    def record(here: str) -> str | None:
        modes[here] = _mode(here)
        return read_link(here) if stat.S_ISLNK(modes[here]) else None

    folder, name = os.path.split(path)
    end = resolve(name, record, folder.rstrip("/"))
    missing = next((here for here in modes if not modes[here]), "")
    end = missing or end or ""
    before = [here for here in takewhile(lambda here: modes[here], modes) if changeable(here)]
    links = tuple(here for here in before if stat.S_ISLNK(modes[here]))
    folders = tuple(here for here in before if stat.S_ISDIR(modes[here]) and here != end)
    return Trail(links, folders, end, missing=bool(missing))


def _mode(path: str) -> int:
    try:
        return os.lstat(path).st_mode
    except OSError:
        return 0
