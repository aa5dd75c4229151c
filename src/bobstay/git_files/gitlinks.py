"""Reads gitlinks from git's index: folders that git treats as submodules, whose configuration it reads by itself.

Anyone who can write the index can add one without declaring a submodule anywhere.
"""

import os
import struct
from contextlib import suppress
from functools import lru_cache

from bobstay.git_files.git_config import config_entries
from bobstay.git_files.git_index import index_entries
from bobstay.system.safe_read import read_regular

_KIND, _GITLINK = 0o170000, 0o160000
"""The part of a mode that says what an entry is, whatever the other bits are."""
LARGEST_INDEX = 1 << 26
"""Bytes of an index that are read."""


def gitlinks(folder: str, config: bytes = b"") -> tuple[str, ...]:
    """The gitlink paths in the index of a git directory, including its shared parts if it is split."""
    formats = [entry.value for entry in config_entries(config) if entry.name == "extensions.objectformat"]
    size = 32 if formats[-1:] == ["sha256"] else 20
    found: list[str] = []
    for path in index_files(folder):
        try:
            status = os.stat(path)
        except OSError:
            continue
        found += _links(path, size, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return tuple(dict.fromkeys(found))


def index_files(folder: str) -> list[str]:
    """The index of a git directory and its shared parts. They need not exist."""
    try:
        shared = sorted(name for name in os.listdir(folder) if name.startswith("sharedindex."))
    except OSError:
        return []
    return [f"{folder}/{name}" for name in ("index", *shared)]


@lru_cache(maxsize=256)
def _links(path: str, size: int, *_identity: int) -> tuple[str, ...]:
    data = read_regular(path, LARGEST_INDEX) or b""
    found: list[str] = []
    with suppress(struct.error, IndexError, ValueError):  # git may have used what comes before the damage
        for mode, name in index_entries(data, size, complete=False):
            if int.from_bytes(mode, "big") & _KIND == _GITLINK:
                found.append(os.fsdecode(name))
    return tuple(found)
