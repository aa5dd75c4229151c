"""Traces a path through symbolic links: every link and folder on the way that could be replaced."""

import os
import stat
from collections.abc import Callable

from msgspec import Struct

MOST_LINKS = 40


class Trail(Struct, frozen=True):
    links: tuple[str, ...] = ()
    """Symbolic links on the way, as real paths."""
    folders: tuple[str, ...] = ()
    """Real folders that were traversed after the first link."""
    end: str = ""
    """The resolved path; the first missing component if it does not exist; "" for a loop of links."""
    missing: bool = False


def trace(path: str, changeable: Callable[[str], bool]) -> Trail:
    """Follow `path`, whose parent must be a real path. Only `changeable` links and folders are listed."""
    waiting = [os.path.basename(path)]
    done = os.path.dirname(path).rstrip("/")
    links: list[str] = []
    folders: list[str] = []
    followed = 0
    while waiting:
        part = waiting.pop()
        if part in ("", "."):
            continue
        if part == "..":
            done = done.rpartition("/")[0]
            continue
        here = f"{done}/{part}"
        try:
            mode = os.lstat(here).st_mode
        except OSError:
            return Trail(tuple(links), tuple(folders), here, missing=True)
        if not stat.S_ISLNK(mode):
            done = here
            if waiting and followed and stat.S_ISDIR(mode) and changeable(here):
                folders.append(here)
            continue
        followed += 1
        if followed > MOST_LINKS:
            return Trail(tuple(dict.fromkeys(links)), tuple(dict.fromkeys(folders)))
        if changeable(here):
            links.append(here)
        target = os.readlink(here)
        if target.startswith("/"):
            done = ""
        waiting.extend(target.split("/")[::-1])
    return Trail(tuple(dict.fromkeys(links)), tuple(dict.fromkeys(folders)), done or "/")
