"""Locates the git directory of a worktree by reading files as git reads them, without running git."""

import os
from collections.abc import Iterator

from msgspec import Struct

from bobstay.system.safe_read import read_regular

_MAX_SIZE = 1 << 20
"""Git itself refuses a longer `.git` file."""


class GitDirectory(Struct, frozen=True):
    """A `.git` entry and the directories it points to. The author of the worktree may have chosen all of them."""

    entry: str
    """The `.git` itself: a directory, a link, or a file that names the directory."""
    directory: str
    """The directory of HEAD and the index; the entry itself if that is a file that names none."""
    common: str
    """The directory of the configuration and the hooks; different from `directory` for a linked worktree."""
    ambiguous: bool = False
    """A file on the way names a path with spaces at its ends, which git keeps and other programs remove."""

    @property
    def top(self) -> str:
        """The top of the worktree."""
        return os.path.dirname(self.entry)

    def is_linked(self) -> bool:
        """Whether it is a linked worktree: its directory is in the repository and points back to this `.git`."""
        back = _read_target(os.path.join(self.directory, "gitdir"))
        if not back or os.path.dirname(self.directory) != os.path.join(self.common, "worktrees"):
            return False
        return os.path.realpath(os.path.join(self.directory, back)) == os.path.realpath(self.entry)


def find_repository(folder: str) -> str | None:
    """Return the `.git` entry that `folder` belongs to."""
    return next(git_entries(folder), None)


def git_entries(folder: str) -> Iterator[str]:
    """Each `.git` in `folder` and in the folders above it, innermost first."""
    while True:
        entry = os.path.join(folder, ".git")
        if os.path.lexists(entry):
            yield entry
        parent = os.path.dirname(folder)
        if parent == folder:
            return
        folder = parent


def open_repository(entry: str) -> GitDirectory:
    """Follow a `.git` entry, or a bare repository, to its directories. They need not exist."""
    pointer = _read_target(entry) or ""
    # Git expects a space behind the colon; libgit2 does not.
    named = pointer.removeprefix("gitdir:").removeprefix(" ") if pointer.startswith("gitdir:") else ""
    directory = os.path.realpath(os.path.join(os.path.dirname(entry), named) if named else entry)
    shared = _read_target(os.path.join(directory, "commondir")) or ""
    ambiguous = any(path != path.strip() for path in (named, shared))
    return GitDirectory(entry, directory, os.path.realpath(os.path.join(directory, shared)), ambiguous)


def is_worktree_beside(folder: str, other: str) -> bool:
    """Whether `folder` lies in a linked worktree of the repository that `other` belongs to."""
    own, known = find_repository(folder), find_repository(other)
    if own is None or known is None:
        return False
    repository = open_repository(own)
    return repository.is_linked() and repository.common == open_repository(known).common


def worktree_of(directory: str) -> str:
    """The worktree to which a directory in `worktrees` of a repository points back; "" if it names none."""
    back = _read_target(os.path.join(directory, "gitdir"))
    return os.path.dirname(os.path.normpath(os.path.join(directory, back))) if back else ""


def looks_bare(folder: str) -> bool:
    """Whether git would treat the folder itself as a bare repository, and so obey its `config`."""
    return all(os.path.lexists(os.path.join(folder, name)) for name in ("HEAD", "objects", "refs"))


def _read_target(path: str) -> str | None:
    """The path in a file that points elsewhere. As in git, only the ends of its last line are no part of it."""
    content = read_regular(path, _MAX_SIZE)
    return None if content is None else os.fsdecode(content.rstrip(b"\r\n").partition(b"\0")[0])
