"""Reads the tracked names from git's index without git: what `git ls-files` prints, even for missing files."""

import os
import re
from collections.abc import Iterable, Iterator
from struct import error, unpack_from

from bobstay.permissions.path_pattern import matches_wildcard
from bobstay.permissions.path_resolution import FileSystemView, locate, normalise, read_link
from bobstay.permissions.shell.directory_links import MOST, FullLinkListing, LinkListing

LARGEST = 8_000_000
"""The largest index that is read, in bytes."""
MOST_ENTRIES = 10 * MOST
FIXED = 62
"""Bytes of an entry before its name."""
EXTENDED = 0x4000


class _Unknown(ValueError):  # noqa: N818 - it names a kind of index
    """An index in a format that is not supported here."""


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
    top = start
    while not os.path.lexists(f"{top}/.git"):
        if top in ("", "/"):
            raise _Unknown(start)
        top = os.path.dirname(top)
    below = start[len(top) :].strip("/")
    prefix = f"{below}/" if below and not whole else ""
    for name in _entries(_content(f"{top}/.git")):
        if name.startswith(prefix):
            yield name[len(prefix) :]


def _content(git_dir: str) -> bytes:
    if os.path.isfile(git_dir):  # the `.git` file of a worktree or submodule names its git directory
        with open(git_dir, encoding="utf-8") as file:
            pointer = file.read(4096)
        if not pointer.startswith("gitdir: "):
            raise _Unknown(git_dir)
        git_dir = os.path.join(os.path.dirname(git_dir), pointer.removeprefix("gitdir: ").rstrip("\n"))
    with open(f"{git_dir}/index", "rb") as file:
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise _Unknown(git_dir)
    return content


def _entries(content: bytes) -> Iterator[str]:
    signature, version, count = unpack_from(">4sII", content)
    if signature != b"DIRC" or version not in (2, 3, 4) or count > MOST_ENTRIES:
        raise _Unknown(signature)
    at = 12
    name = b""
    for _ in range(count):
        flags = unpack_from(">H", content, at + FIXED - 2)[0]
        begins = at + FIXED + (2 if flags & EXTENDED else 0)
        kept, begins = _kept(content, begins, len(name)) if version == 4 else (0, begins)
        end = content.index(b"\0", begins)
        name = name[:kept] + content[begins:end]
        at = end + 1 if version == 4 else at + (end - at + 8) // 8 * 8
        yield name.decode("utf-8", "surrogateescape")
    _check_rest(content, at)


def _kept(content: bytes, at: int, length: int) -> tuple[int, int]:
    """How many bytes of the previous name are kept, and where the rest of the name begins."""
    byte = content[at]
    cut = byte & 127
    while byte & 128:
        at += 1
        byte = content[at]
        cut = ((cut + 1) << 7) | (byte & 127)
    if cut > length:
        raise _Unknown(cut)
    return length - cut, at + 1


def _check_rest(content: bytes, at: int) -> None:
    """Check that exactly extensions and a checksum follow the entries; otherwise they were misread."""
    while at < len(content) - 20:
        kind, size = unpack_from(">4sI", content, at)
        if not kind.isupper():
            raise _Unknown(kind)  # a required extension: entries may be elsewhere, or stand for directories
        at += 8 + size
    if at != len(content) - 20:
        raise _Unknown(at)
