"""Locates the git directory of a worktree by reading files, without running git."""

import os

from msgspec import Struct

from bobstay.system.safe_read import read_regular

_MAX_SIZE = 4096


class GitDirectory(Struct, frozen=True):
    """A `.git` entry and the directories it points to. The author of the worktree may have chosen all of them."""

    entry: str
    """The `.git` itself: a directory, a link, or a file that names the directory."""
    directory: str
    """The directory of HEAD and the index."""
    common: str
    """The directory of the configuration and the hooks; different from `directory` for a linked worktree."""

    @property
    def top(self) -> str:
        """The top of the worktree."""
        return os.path.dirname(self.entry)


def find_repository(folder: str) -> str | None:
    """Return the `.git` entry that `folder` belongs to."""
    while True:
        entry = os.path.join(folder, ".git")
        if os.path.lexists(entry):
            return entry
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def open_repository(entry: str) -> GitDirectory:
    directory = entry
    pointer = read_regular(entry, _MAX_SIZE)
    if pointer is not None:
        target = os.fsdecode(pointer).removeprefix("gitdir:").strip()
        directory = os.path.join(os.path.dirname(entry), target)
    directory = os.path.realpath(directory)
    shared = read_regular(os.path.join(directory, "commondir"), _MAX_SIZE)
    common = os.path.join(directory, os.fsdecode(shared).strip()) if shared is not None else directory
    return GitDirectory(entry, directory, os.path.realpath(common))


def looks_bare(folder: str) -> bool:
    """Whether git would treat the folder itself as a bare repository, and so obey its `config`."""
    return all(os.path.lexists(os.path.join(folder, name)) for name in ("HEAD", "objects", "refs"))
