"""Reads gitlinks from git's index: folders that git treats as submodules, whose configuration it reads by itself.

Anyone who can write the index can add one without declaring a submodule anywhere.
"""

import os
import struct
from functools import lru_cache

from bobstay.git_files.git_config import config_entries
from bobstay.git_files.git_index import index_entries
from bobstay.system.safe_read import read_regular

_MODE = b"\0\0\xe0\0"
"""The mode of a gitlink entry, as stored in the index."""
_LARGEST = 1 << 26
_STATUS = 40
"""Bytes before the hash of an entry: ten numbers, of which the mode is the seventh."""
_MODE_AT = 24
_LONG_NAME = 0xFFF
_EXTENDED = 0x4000


def gitlinks(folder: str, config: bytes = b"") -> tuple[str, ...]:
    """The gitlink paths in the index of a git directory, including its shared parts if it is split."""
    formats = [entry.value for entry in config_entries(config) if entry.name == "extensions.objectformat"]
    size = 32 if formats[-1:] == ["sha256"] else 20
    names = ["index"]
    try:
        names += sorted(name for name in os.listdir(folder) if name.startswith("sharedindex."))
    except OSError:
        return ()
    found: list[str] = []
    for name in names:
        path = f"{folder}/{name}"
        try:
            status = os.stat(path)
        except OSError:
            continue
        found += _links(path, size, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return tuple(dict.fromkeys(found))


@lru_cache(maxsize=256)
def _links(path: str, size: int, *_identity: int) -> tuple[str, ...]:
    data = read_regular(path, _LARGEST) or b""
    if data[:4] != b"DIRC" or len(data) < 12 or _MODE not in data:
        return ()
    try:
        if data[4:8] != b"\0\0\0\4":
            return tuple(_find_entries(data, size))
        # Version 4 stores each name relative to the one before.
        return tuple(os.fsdecode(name) for mode, name in index_entries(data, size, complete=False) if mode == _MODE)
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
