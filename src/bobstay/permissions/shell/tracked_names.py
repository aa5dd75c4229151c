"""Judges the tracked names in git's index: what `git ls-files` prints, even for missing files."""

import os
import re
from collections.abc import Iterable, Iterator
from struct import error

from bobstay.git_files.git_directory import find_repository, open_repository
from bobstay.git_files.git_index import BadIndex, index_entries
from bobstay.permissions.path_pattern import matches_wildcard
from bobstay.permissions.path_resolution import FileSystemView, locate, normalise, read_link
from bobstay.permissions.shell.directory_links import MOST, FullLinkListing, LinkListing
from bobstay.system.safe_read import read_regular

LARGEST = 8_000_000
"""The largest index that is read, in bytes."""
MOST_ENTRIES = 10 * MOST


def is_tracked_misleading(
    specs: tuple[str, ...], odd: re.Pattern[str] | None, start: str, view: FileSystemView, *, whole: bool
) -> bool:
    """Whether one of the tracked files that `specs` select leads out, matches `odd` or looks like an option.

    If `whole`, names are relative to the top of the repository, but are still used in `start`.
    """
    try:
        names = [name for name in _known(start, view, whole=whole) if _selects(specs, name)]
    except (OSError, ValueError, IndexError, error):
        return True
    if len(names) > MOST:
        return True
    if any(name.startswith("-") or (odd is not None and odd.search(name)) for name in names):
        return True
    parents = {os.path.dirname(name) for name in names}
    links = [name for name in names if view.readlink(f"{start}/{name}") is not None]
    return not all(view.contains(locate(f"./{name}", start, view)) for name in (*parents, *links))


def _known(start: str, view: FileSystemView, *, whole: bool) -> Iterable[str]:
    if view.readlink is read_link:
        return _names(start, whole=whole)
    reader: object = view.readlink
    if isinstance(reader, FullLinkListing):
        return [name[len(start) + 1 :] for name in reader.tracked() if name.startswith(f"{start}/")]
    listed = reader.links(start, deep=True) if isinstance(reader, LinkListing) else ()
    return [link[len(start) + 1 :] for link in listed or ()]  # nothing else is known, and every link may be tracked


def _selects(specs: tuple[str, ...], name: str) -> bool:
    """Whether git selects the name by these pathspecs; one with special characters is assumed to select everything."""
    for spec in specs or (".",):
        literal = normalise(spec)[1:]
        if not literal or any(sign in literal for sign in ":?[\\"):
            return True
        if name == literal or name.startswith(literal + "/") or ("*" in literal and matches_wildcard(literal, name)):
            return True
    return False


def _names(start: str, *, whole: bool) -> Iterator[str]:
    """The names in the index; unless `whole`, only those below `start`, relative to it."""
    entry = find_repository(start)
    if entry is None:
        raise BadIndex(start)
    repository = open_repository(entry)
    content = read_regular(f"{repository.directory}/index", LARGEST + 1)
    if content is None or len(content) > LARGEST:
        raise BadIndex(repository.directory)
    below = start[len(repository.top.rstrip("/")) :].strip("/")
    prefix = f"{below}/" if below and not whole else ""
    for number, (_, name) in enumerate(index_entries(content)):
        if number >= MOST_ENTRIES:
            raise BadIndex(number)
        if (decoded := os.fsdecode(name)).startswith(prefix):
            yield decoded[len(prefix) :]
