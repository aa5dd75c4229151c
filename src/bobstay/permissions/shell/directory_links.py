"""Checks the entries of directories for links that lead out, and for names that a program would misread."""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Protocol, TypeAlias, runtime_checkable

from msgspec import Struct

from bobstay.permissions.path_pattern import Segment
from bobstay.permissions.path_resolution import FileSystemView, locate, normalise, read_link

Entry: TypeAlias = tuple[str, bool, bool]
"""A path, whether it is a link, and whether it is a directory."""

MOST = 30_000
"""Directory entries that are checked for one pattern or search; with more, the names count as misleading."""


@runtime_checkable
class LinkListing(Protocol):
    """A link reader without a disk that can list its links."""

    def links(self, directory: str, *, deep: bool) -> list[str] | None: ...


@runtime_checkable
class FullLinkListing(LinkListing, Protocol):
    def names(self, directory: str, *, deep: bool) -> list[str]:
        """All paths except links; those of directories end in a slash."""
        ...

    def tracked(self) -> tuple[str, ...]:
        """The paths that git tracks."""
        ...


class ListedNames(Struct, frozen=True):
    """Names that a command prints, or that are forwarded to one."""

    directory: str
    """Where they are found."""
    deep: bool = True
    """Also below the directory."""
    pattern: str = ""
    """The pattern that the last component of each name matches; empty if it may be anything."""
    links: bool = True
    """Links may be among them, and are followed by the command that receives the names."""
    still: bool = False
    """A link among them may be traversed, so there must be none, wherever it leads."""
    loose: bool = False
    """The names do not begin with the directory, so one may look like an option."""


def has_link_out(directory: str, pattern: str, start: str, view: FileSystemView) -> bool:
    """Whether a pattern may match a link in `directory` that leads out of the working directories."""
    return is_misleading(ListedNames(directory, deep=False, pattern=pattern), None, start, view)


def has_link_out_below(directory: str, start: str, view: FileSystemView) -> bool:
    """Whether some link anywhere below `directory` leads out of the working directories."""
    return is_misleading(ListedNames(directory), None, start, view)


def is_misleading(found: ListedNames, odd: re.Pattern[str] | None, start: str, view: FileSystemView) -> bool:
    """Whether a link among these names may lead out of the working directories, or a name matches `odd`."""
    path = locate(found.directory, start, view).path
    entries = _entries(path, view, deep=found.deep) if path else None
    if entries is None:
        return True
    may_be = _finder(found.pattern)
    for number, (entry, link, directory) in enumerate(entries):
        parent, _, name = entry.rpartition("/")
        if number >= MOST or (found.loose and name.startswith("-") and (parent or "/") == path):
            return True
        if link and found.links and may_be(name) and (found.still or not view.contains(locate(entry, path, view))):
            return True
        if odd is not None and odd.search(name) and (directory or may_be(name)):
            return True
    return False


def _entries(directory: str, view: FileSystemView, *, deep: bool) -> Iterable[Entry] | None:
    """All entries of a directory, or also those below it; None if not known."""
    reader: object = view.readlink
    if view.readlink is read_link:
        return _on_disk(directory, deep=deep)
    if not isinstance(reader, LinkListing):
        return ()  # a view of which nothing else is known
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
            continue  # it cannot be read by the command either


def _finder(pattern: str) -> Callable[[str], bool]:
    """A test whether a pattern may match a name. Brackets and escapes are assumed to match anything."""
    if not pattern or "[" in pattern or "\\" in pattern:
        return lambda _: True
    matches = Segment(pattern).matches
    # The locale decides how many characters a name has: a `?` may match a single byte.
    return matches if "?" not in pattern else lambda name: not name.isascii() or matches(name)


def links_of(known: dict[str, str], directory: str, *, deep: bool) -> list[str]:
    """`LinkListing.links` for a table of all links."""
    return names_of(known, directory, deep=deep)


def names_of(known: Iterable[str], directory: str, *, deep: bool) -> list[str]:
    inside = normalise(directory).rstrip("/") + "/"
    return [name for name in known if name.startswith(inside) and (deep or "/" not in name[len(inside) : -1])]
