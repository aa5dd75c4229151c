"""Symbolic links that a pattern may find, or a walk through a directory may follow: they may lead anywhere."""

import os
from typing import Protocol, runtime_checkable

from bobstay.permissions.glob import Segment
from bobstay.permissions.paths import World, locate, normalise, read_link

MOST = 10_000
"""Entries of directories that are looked at for one pattern or walk; with more, it cannot be told what is there."""


@runtime_checkable
class Listing(Protocol):
    """Who reads links in a world without a disk may know them all."""

    def links(self, directory: str, *, deep: bool) -> list[str] | None: ...


def lead_out(directory: str, pattern: str, start: str, world: World) -> bool:
    """Whether a pattern may find a link in `directory` that leads out of the working directories."""
    return _stray(directory, start, world, pattern)


def lead_out_below(directory: str, start: str, world: World) -> bool:
    """Whether some link anywhere below `directory` leads out of the working directories."""
    return _stray(directory, start, world, None)


def _stray(directory: str, start: str, world: World, pattern: str | None) -> bool:
    path = locate(directory, start, world).path
    found = _links(path, world, deep=pattern is None) if path else None
    if found is None:
        return True
    return any(
        (pattern is None or _may_find(pattern, os.path.basename(link))) and not world.holds(locate(link, path, world))
        for link in found
    )


def _links(directory: str, world: World, *, deep: bool) -> list[str] | None:
    """All links in a directory, or below it as well; None if there is too much to look at."""
    reader: object = world.readlink
    if isinstance(reader, Listing):
        return reader.links(directory, deep=deep)
    if world.readlink is not read_link:
        return []  # a world of which nothing else is known
    found: list[str] = []
    waiting = [directory]
    count = 0
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    count += 1
                    if count > MOST:
                        return None
                    if entry.is_symlink():
                        found.append(entry.path)
                    elif deep and entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except OSError:
            continue  # nobody finds anything in there
    return found


def _may_find(pattern: str, name: str) -> bool:
    """Whether the shell may find this name. Brackets and quoted characters are taken to match anything."""
    return "[" in pattern or "\\" in pattern or Segment(pattern).matches(name)


def links_of(known: dict[str, str], directory: str, *, deep: bool) -> list[str]:
    """The answer of a `Listing` that knows all links there are."""
    inside = normalise(directory).rstrip("/") + "/"
    return [link for link in known if link.startswith(inside) and (deep or "/" not in link[len(inside) :])]
