"""Lists a directory for the file tree, and suggests directories for new sessions."""

import heapq
import os
import stat
from collections.abc import Iterator
from typing import Literal, TypeAlias

from msgspec import Struct

from bobstay.server.files.path_names import encode_path, split_path
from bobstay.server.files.session_directory import AllowedRoots, SessionDirectory, is_allowed

FileKind: TypeAlias = Literal["directory", "file", "link", "other"]
MOST = 10_000
MOST_LOOKED_AT = 100_000
"""Entries of one directory that are read; of a larger directory only a part is listed."""
MOST_DIRECTORIES = 100


class DirectoryEntry(Struct, frozen=True, omit_defaults=True):
    name: str
    path: str
    """Relative to the session's directory, as in other requests."""
    kind: FileKind
    size: int = 0
    modified: float = 0.0
    target: str = ""
    """Target of a symbolic link, as written. It is not followed."""
    ignored: bool = False
    """Git ignores it."""


class DirectoryListing(Struct, frozen=True):
    path: str
    entries: tuple[DirectoryEntry, ...]
    total: int
    truncated: bool = False


def list_directory(directory: SessionDirectory, path: str, limit: int) -> DirectoryListing:
    """The entries of a directory, directories first, then by name.

    Raises:
        ApiError: there is no such directory, or it must not be shown.
    """
    parts = split_path(path)
    with directory.directory(path) as handle:
        total, looked = 0, 0
        found: list[tuple[bool, str, os.DirEntry[str]]] = []
        with os.scandir(handle) as entries:
            for entry in entries:
                looked += 1
                if looked > MOST_LOOKED_AT:
                    break
                if directory.is_visible((*parts, os.fsencode(entry.name))):
                    total += 1
                    found.append((not entry.is_dir(follow_symlinks=False), entry.name.casefold(), entry))
        chosen = heapq.nsmallest(limit, found, key=lambda row: (row[0], row[1], row[2].name))
        made = tuple(_entry(parts, handle, entry) for _, _, entry in chosen)
    return DirectoryListing(encode_path(b"/".join(parts)), made, total, total > len(made) or looked > MOST_LOOKED_AT)


def suggest_directories(prefix: str, bounds: AllowedRoots) -> Iterator[str]:
    """Directories whose path begins with `prefix` and in which sessions may work."""
    if not prefix:
        yield from bounds.roots
        return
    if not prefix.startswith("/") or "\0" in prefix:
        return
    above, _, begun = prefix.rpartition("/")
    for root in bounds.roots:
        if root.startswith(prefix) and root != prefix:
            yield root
    real = os.path.realpath(above or "/")
    if not is_allowed(real, bounds):
        return
    names: list[str] = []
    try:
        with os.scandir(real) as entries:
            for number, entry in enumerate(entries):
                if number > MOST_LOOKED_AT:
                    break
                hidden = entry.name.startswith(".") and not begun.startswith(".")
                wanted = entry.name.casefold().startswith(begun.casefold())
                if wanted and not hidden and entry.is_dir(follow_symlinks=False):
                    names.append(entry.name)
    except OSError:
        return
    for name in heapq.nsmallest(MOST_DIRECTORIES, names, key=lambda name: (name.casefold(), name)):
        path = os.path.join(real, name)
        if is_allowed(path, bounds):
            yield path


def _entry(parts: tuple[bytes, ...], handle: int, entry: "os.DirEntry[str]") -> DirectoryEntry:
    name = os.fsencode(entry.name)
    path = encode_path(b"/".join((*parts, name)))
    try:
        found = os.stat(entry.name, dir_fd=handle, follow_symlinks=False)
    except OSError:
        return DirectoryEntry(encode_path(name), path, "other")  # removed meanwhile, or not accessible
    if stat.S_ISLNK(found.st_mode):
        return DirectoryEntry(encode_path(name), path, "link", 0, found.st_mtime, _target(entry.name, handle))
    if stat.S_ISDIR(found.st_mode):
        return DirectoryEntry(encode_path(name), path, "directory", 0, found.st_mtime)
    kind: FileKind = "file" if stat.S_ISREG(found.st_mode) else "other"
    return DirectoryEntry(encode_path(name), path, kind, found.st_size if kind == "file" else 0, found.st_mtime)


def _target(name: str, handle: int) -> str:
    try:
        return encode_path(os.fsencode(os.readlink(name, dir_fd=handle)))
    except OSError:
        return ""
