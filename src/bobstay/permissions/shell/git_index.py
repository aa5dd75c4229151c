"""The names git has in its index, read without git: what `git ls-files` prints, whether the files are there or not."""

import os
import re
from collections.abc import Iterable, Iterator
from struct import error, unpack_from

from bobstay.permissions.path_pattern import wildcard
from bobstay.permissions.path_resolution import PathWorld, locate, normalise, read_link
from bobstay.permissions.shell.directory_links import MOST, FullLinkListing, LinkListing

LARGEST = 8_000_000
"""Bytes of an index that is read."""
MOST_ENTRIES = 10 * MOST
FIXED = 62
"""Bytes of an entry before its name."""
EXTENDED = 0x4000


class _Unknown(ValueError):  # noqa: N818 - it names a state of mind, not an event
    """An index of a kind that is not read here."""


def tracked_misleads(
    specs: tuple[str, ...], odd: re.Pattern[str] | None, start: str, world: PathWorld, *, whole: bool
) -> bool:
    """Whether one of the tracked files that `specs` select leads out, or is spelled as in `odd` or as an option.

    If `whole`, names begin at the top of the repository, and are looked for in `start` all the same.
    """
    try:
        names = [name for name in _known(start, world, whole=whole) if _selects(specs, name)]
    except (OSError, ValueError, IndexError, error):
        return True
    if len(names) > MOST:
        return True
    if any(name.startswith("-") or (odd is not None and odd.search(name)) for name in names):
        return True
    parents = {os.path.dirname(name) for name in names}
    links = [name for name in names if world.readlink(f"{start}/{name}") is not None]
    return not all(world.holds(locate(f"./{name}", start, world)) for name in (*parents, *links))


def _known(start: str, world: PathWorld, *, whole: bool) -> Iterable[str]:
    if world.readlink is read_link:
        return _names(start, whole=whole)
    reader: object = world.readlink
    if isinstance(reader, FullLinkListing):
        return [name[len(start) + 1 :] for name in reader.tracked() if name.startswith(f"{start}/")]
    listed = reader.links(start, deep=True) if isinstance(reader, LinkListing) else ()
    return [link[len(start) + 1 :] for link in listed or ()]  # nothing else is known, and each link may be tracked


def _selects(specs: tuple[str, ...], name: str) -> bool:
    """Whether git takes the name for one of these; a pattern that is not plain selects everything."""
    for spec in specs or (".",):
        plain = normalise(spec)[1:]
        if not plain or any(sign in plain for sign in ":?[\\"):
            return True
        if name == plain or name.startswith(plain + "/") or ("*" in plain and wildcard(plain, name)):
            return True
    return False


def _names(start: str, *, whole: bool) -> Iterator[str]:
    """The names in the index; or, as seen from `start`, those below it."""
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


def _content(place: str) -> bytes:
    if os.path.isfile(place):  # a worktree or a submodule says where its own is
        with open(place, encoding="utf-8") as file:
            said = file.read(4096)
        if not said.startswith("gitdir: "):
            raise _Unknown(place)
        place = os.path.join(os.path.dirname(place), said.removeprefix("gitdir: ").rstrip("\n"))
    with open(f"{place}/index", "rb") as file:
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise _Unknown(place)
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
    """How much of the name before is kept, and where the rest of the name begins."""
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
    """Behind the entries stand extensions and a checksum, exactly; else the entries were not what they seemed."""
    while at < len(content) - 20:
        kind, size = unpack_from(">4sI", content, at)
        if not kind.isupper():
            raise _Unknown(kind)  # one that must be understood: entries may be elsewhere, or stand for directories
        at += 8 + size
    if at != len(content) - 20:
        raise _Unknown(at)
