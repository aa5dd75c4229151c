"""What a pattern may find or a walk through a directory may meet: links that lead anywhere, names that mislead."""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Protocol, TypeAlias, runtime_checkable

from msgspec import Struct

from bobstay.permissions.path_pattern import Segment
from bobstay.permissions.path_resolution import PathWorld, locate, normalise, read_link

Entry: TypeAlias = tuple[str, bool, bool]
"""A path, whether it is a link, and whether it is a directory."""

MOST = 30_000
"""Entries of directories that are looked at for one pattern or walk; with more, it cannot be told what is there."""


@runtime_checkable
class LinkListing(Protocol):
    """Who reads links in a world without a disk may know them all, and all other names."""

    def links(self, directory: str, *, deep: bool) -> list[str] | None: ...


@runtime_checkable
class FullLinkListing(LinkListing, Protocol):
    def names(self, directory: str, *, deep: bool) -> list[str]:
        """All paths but links; those of directories end in a slash."""
        ...

    def tracked(self) -> tuple[str, ...]:
        """Those that git knows."""
        ...


class ListedNames(Struct, frozen=True):
    """Names that a command prints, or that are handed to one."""

    directory: str
    """Where it looks for them."""
    deep: bool = True
    """Below it as well."""
    pattern: str = ""
    """What the last part of each name matches; empty if it may be anything."""
    links: bool = True
    """Links may be among them, and are followed by who gets the names."""
    still: bool = False
    """A link among them may be gone through, so that there must be none, wherever it leads."""
    loose: bool = False
    """The names do not begin with the directory, so that one may look like an option."""


def lead_out(directory: str, pattern: str, start: str, world: PathWorld) -> bool:
    """Whether a pattern may find a link in `directory` that leads out of the working directories."""
    return misleads(ListedNames(directory, deep=False, pattern=pattern), None, start, world)


def lead_out_below(directory: str, start: str, world: PathWorld) -> bool:
    """Whether some link anywhere below `directory` leads out of the working directories."""
    return misleads(ListedNames(directory), None, start, world)


def misleads(found: ListedNames, odd: re.Pattern[str] | None, start: str, world: PathWorld) -> bool:
    """Whether a link among these names may lead out of the working directories, or one is spelled as in `odd`."""
    path = locate(found.directory, start, world).path
    entries = _entries(path, world, deep=found.deep) if path else None
    if entries is None:
        return True
    may_be = _finder(found.pattern)
    for number, (entry, link, directory) in enumerate(entries):
        parent, _, name = entry.rpartition("/")
        if number >= MOST or (found.loose and name.startswith("-") and (parent or "/") == path):
            return True
        if link and found.links and may_be(name) and (found.still or not world.holds(locate(entry, path, world))):
            return True
        if odd is not None and odd.search(name) and (directory or may_be(name)):
            return True
    return False


def _entries(directory: str, world: PathWorld, *, deep: bool) -> Iterable[Entry] | None:
    """All that is in a directory, or below it as well; None if that is not known."""
    reader: object = world.readlink
    if world.readlink is read_link:
        return _on_disk(directory, deep=deep)
    if not isinstance(reader, LinkListing):
        return ()  # a world of which nothing else is known
    links = reader.links(directory, deep=deep)
    names = reader.names(directory, deep=deep) if isinstance(reader, FullLinkListing) else ()
    if links is None:
        return None
    others = ((name.rstrip("/"), False, name.endswith("/")) for name in names)
    return chain(((link, True, False) for link in links), others)


def _on_disk(directory: str, *, deep: bool) -> Iterator[Entry]:
    waiting = [directory]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    below = entry.is_dir(follow_symlinks=False)
                    yield entry.path, entry.is_symlink(), below
                    if deep and below:
                        waiting.append(entry.path)
        except OSError:
            continue  # nobody finds anything in there


def _finder(pattern: str) -> Callable[[str], bool]:
    """Whether a pattern may find a name. Brackets and quoted characters are taken to match anything."""
    if not pattern or "[" in pattern or "\\" in pattern:
        return lambda _: True
    matches = Segment(pattern).matches
    # How many characters a name has is for the locale to say: a `?` may stand for one byte of it.
    return matches if "?" not in pattern else lambda name: not name.isascii() or matches(name)


def links_of(known: dict[str, str], directory: str, *, deep: bool) -> list[str]:
    """The answer of a `Listing` that knows all links there are."""
    return names_of(known, directory, deep=deep)


def names_of(known: Iterable[str], directory: str, *, deep: bool) -> list[str]:
    inside = normalise(directory).rstrip("/") + "/"
    return [name for name in known if name.startswith(inside) and (deep or "/" not in name[len(inside) : -1])]
