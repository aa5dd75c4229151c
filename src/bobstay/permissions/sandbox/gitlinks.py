"""Folders that a repository takes for repositories of their own: git goes into these by itself and obeys what it finds.

Anybody who can write to an index can add one, without a submodule being declared anywhere.
"""

import os
import struct
from functools import lru_cache

_MODE = b"\0\0\xe0\0"
"""The mode of such an entry, as it stands in the file."""
_LARGEST = 1 << 26
_STATUS = 40
"""Bytes before the hash of an entry; the mode is the seventh of ten numbers in them."""
_MODE_AT = 24
_LONG_NAME = 0xFFF
_EXTENDED = 0x4000


def gitlinks(folder: str, config: str = "") -> tuple[str, ...]:
    """The paths of such folders in the index of a git folder, and in the parts it may be split into."""
    size = 32 if "sha256" in config.lower() else 20
    names = ["index"]
    try:
        names += sorted(name for name in os.listdir(folder) if name.startswith("sharedindex."))
    except OSError:
        return ()
    found: list[str] = []
    for name in names:
        path = f"{folder}/{name}"
        try:
            status = os.stat(path, follow_symlinks=False)
        except OSError:
            continue
        found += _links(path, size, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return tuple(dict.fromkeys(found))


@lru_cache(maxsize=256)
def _links(path: str, size: int, *_identity: int) -> tuple[str, ...]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ()
    with open(descriptor, "rb") as file:
        data = file.read(_LARGEST)
    if data[:4] != b"DIRC" or len(data) < 12 or _MODE not in data:
        return ()
    version, count = struct.unpack(">II", data[4:12])
    try:
        return tuple(_walked(data, count, size)) if version == 4 else tuple(_spotted(data, size))
    except (struct.error, IndexError, ValueError):
        return ()  # git does not read it either


def _spotted(data: bytes, size: int) -> list[str]:
    """Look at the places only where the mode stands: most indexes have many entries and few such ones."""
    found = []
    place = data.find(_MODE, 12 + _MODE_AT)
    while place >= 0:
        name_at = place - _MODE_AT + _STATUS + size + 2
        (flags,) = struct.unpack(">H", data[name_at - 2 : name_at])
        name_at += 2 if flags & _EXTENDED else 0
        name = data[name_at : data.index(b"\0", name_at)]
        length = flags & _LONG_NAME
        if name and (length == len(name) or (length == _LONG_NAME and len(name) >= _LONG_NAME)):
            found.append(os.fsdecode(name))
        place = data.find(_MODE, place + 1)
    return found


def _walked(data: bytes, count: int, size: int) -> list[str]:
    """In the fourth version a name is written as what it adds to the one before."""
    found = []
    place, name = 12, b""
    for _ in range(count):
        mode = data[place + _MODE_AT : place + _MODE_AT + 4]
        place += _STATUS + size + 2
        (flags,) = struct.unpack(">H", data[place - 2 : place])
        place += 2 if flags & _EXTENDED else 0
        dropped, place = _number(data, place)
        end = data.index(b"\0", place)
        name = name[: len(name) - dropped] + data[place:end]
        place = end + 1
        if mode == _MODE:
            found.append(os.fsdecode(name))
    return found


def _number(data: bytes, place: int) -> tuple[int, int]:
    byte = data[place]
    value = byte & 0x7F
    while byte & 0x80:
        place += 1
        byte = data[place]
        value = ((value + 1) << 7) | (byte & 0x7F)
    return value, place + 1
