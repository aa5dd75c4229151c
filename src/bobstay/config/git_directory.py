"""Where a git work tree keeps its own files, found by looking: git itself is never asked."""

import os

from msgspec import Struct

from bobstay.system.safe_read import read_regular

_LONGEST = 4096


class GitDirectory(Struct, frozen=True):
    """A `.git`, and the directories it leads to. All of them may be chosen by whoever made the work tree."""

    entry: str
    """The `.git` itself: a directory, a link, or a file that names the directory."""
    directory: str
    """Where HEAD and the index are."""
    common: str
    """Where the configuration and the hooks are; another directory for a linked work tree."""

    @property
    def top(self) -> str:
        """The top of the work tree."""
        return os.path.dirname(self.entry)


def find_repository(folder: str) -> str | None:
    """The `.git` that `folder` belongs to."""
    while True:
        found = os.path.join(folder, ".git")
        if os.path.lexists(found):
            return found
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def open_repository(entry: str) -> GitDirectory:
    directory = entry
    named = read_regular(entry, _LONGEST)
    if named is not None:
        target = os.fsdecode(named).removeprefix("gitdir:").strip()
        directory = os.path.join(os.path.dirname(entry), target)
    directory = os.path.realpath(directory)
    shared = read_regular(os.path.join(directory, "commondir"), _LONGEST)
    common = os.path.join(directory, os.fsdecode(shared).strip()) if shared is not None else directory
    return GitDirectory(entry, directory, os.path.realpath(common))


def looks_bare(folder: str) -> bool:
    """Whether git would take the folder itself for a repository without a work tree, and so obey its `config`."""
    return all(os.path.lexists(os.path.join(folder, name)) for name in ("HEAD", "objects", "refs"))
