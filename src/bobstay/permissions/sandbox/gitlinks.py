"""Reads gitlinks from git's index: folders that git treats as submodules, whose configuration it reads by itself.

Anyone who can write the index can add one without declaring a submodule anywhere.
"""

import os
import struct
from functools import lru_cache

_MODE = b"\0\0\xe0\0"
"""The mode of a gitlink entry, as stored in the index."""
_LARGEST = 1 << 26
_STATUS = 40
"""Bytes before the hash of an entry: ten numbers, of which the mode is the seventh."""
_MODE_AT = 24
_LONG_NAME = 0xFFF
_EXTENDED = 0x4000


def gitlinks(folder: str, config: str = "") -> tuple[str, ...]:
    """The gitlink paths in the index of a git directory, including its shared parts if it is split."""
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
        return tuple(_read_version_4(data, count, size)) if version == 4 else tuple(_find_entries(data, size))
    except (struct.error, IndexError, ValueError):
        return ()  # git does not read it either


def _find_entries(data: bytes, size: int) -> list[str]:
    """Search for the mode instead of parsing every entry: most indexes have many entries and few gitlinks."""
    found = []
    offset = data.find(_MODE, 12 + _MODE_AT)
    while offset >= 0:
        name_at = offset - _MODE_AT + _STATUS + size + 2
        (flags,) = struct.unpack(">H", data[name_at - 2 : name_at])
        name_at += 2 if flags & _EXTENDED else 0
        name = data[name_at : data.index(b"\0", name_at)]
        length = flags & _LONG_NAME
        if name and (length == len(name) or (length == _LONG_NAME and len(name) >= _LONG_NAME)):
            found.append(os.fsdecode(name))
        offset = data.find(_MODE, offset + 1)
    return found


def _read_version_4(data: bytes, count: int, size: int) -> list[str]:
    """Parse every entry: version 4 stores each name relative to the one before."""
    found = []
    offset, name = 12, b""
    for _ in range(count):
        mode = data[offset + _MODE_AT : offset + _MODE_AT + 4]
        offset += _STATUS + size + 2
        (flags,) = struct.unpack(">H", data[offset - 2 : offset])
        offset += 2 if flags & _EXTENDED else 0
        dropped, offset = _number(data, offset)
        end = data.index(b"\0", offset)
        name = name[: len(name) - dropped] + data[offset:end]
        offset = end + 1
        if mode == _MODE:
            found.append(os.fsdecode(name))
    return found


def _number(data: bytes, offset: int) -> tuple[int, int]:
    byte = data[offset]
    value = byte & 0x7F
    while byte & 0x80:
        offset += 1
        byte = data[offset]
        value = ((value + 1) << 7) | (byte & 0x7F)
    return value, offset + 1
