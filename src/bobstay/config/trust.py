"""Decides whether a folder is trusted: by its real path and by what is executable in it, never by what it says itself.

Nothing here reads a setting of the folder for its meaning. Files are compared by their digests, and the list of
trusted folders is the user's own. See docs/trust.md.
"""

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager

from msgspec import Struct

from bobstay.config.paths import Paths
from bobstay.config.trust_store import TrustStore, TrustUnusable


class TrustStatus(Struct, frozen=True):
    """How a folder stands with the user."""

    trusted: bool = False
    changed: tuple[str, ...] = ()
    """Parts that are not what they were when the folder was trusted."""
    problem: str = ""
    """Why it could not be told; a sentence for a person."""


UNKNOWN = TrustStatus()


def standing(folder: str, paths: Paths, known: Mapping[str, bytes] | None = None) -> TrustStatus:
    """Compare a folder, given by its real path, with what was trusted.

    Args:
        folder: A real path.
        paths: Where the user's list is.
        known: Files of the folder that were read already, by path: these bytes count.
    """
    if not is_apart(paths, folder):
        return UNKNOWN
    try:
        entry = TrustStore(paths.bobstay).get(folder)
    except TrustUnusable as error:
        return TrustStatus(problem=str(error))
    if entry is None:
        return UNKNOWN
    from bobstay.config.digest import TooMuch
    from bobstay.config.trust_parts import executable_parts

    try:
        changed = difference(entry.parts, executable_parts(folder, known))
    except TooMuch as error:
        return TrustStatus(problem=f"The folder cannot be checked: {error}.")
    return TrustStatus(not changed, changed)


def is_apart(paths: Paths, folder: str) -> bool:
    """Whether the user's list is out of the folder's reach. A home directory may hold its own list."""
    if os.path.realpath(paths.home) == folder:
        return True
    return not inside(os.path.realpath(paths.bobstay), folder)


def difference(before: Mapping[str, str], now: Mapping[str, str]) -> tuple[str, ...]:
    """The parts that differ, each with what became of it."""
    words = []
    for name in sorted({*before, *now}):
        if name not in before:
            words.append(f"{name} (new)")
        elif name not in now:
            words.append(f"{name} (gone)")
        elif before[name] != now[name]:
            words.append(f"{name} (changed)")
    return tuple(words)


@contextmanager
def own_change(folder: str, paths: Paths, files: tuple[str, ...]) -> Generator[None, None, None]:
    """Within this, bobstay itself writes settings `files` of a folder because a person said so: trust survives it.

    A file that was already another one than the trusted one is not taken over. `files` are paths below `folder`.
    """
    names = {os.path.relpath(file, folder): file for file in files}
    before = _digests(folder, names)
    yield
    after = _digests(folder, names)

    def change(parts: dict[str, str]) -> None:
        for name in names:
            if parts.get(name) == before.get(name):
                parts.pop(name, None)
                parts.update({name: after[name]} if name in after else {})

    if before != after:
        TrustStore(paths.bobstay).amend(folder, change)


def path_outside(path: str, *folders: str) -> str:
    """A search path without its relative entries and those that lead into one of the folders."""
    kept = [
        entry
        for entry in path.split(os.pathsep)
        if entry.startswith("/") and not any(inside(os.path.realpath(entry), folder) for folder in folders)
    ]
    return os.pathsep.join(kept)


def inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _digests(folder: str, names: Mapping[str, str]) -> dict[str, str]:
    from bobstay.config.digest import Digests

    digests = Digests(folder)
    for name, file in names.items():
        digests.file(file, name)
    return digests.found


_GIT_LAYOUT = (".git", "git directory", "git common directory")
"""Parts that only say where a worktree keeps its repository."""


def trust_worktree(worktree: str, project: str, paths: Paths) -> bool:
    """Trust a git worktree that was just made from a trusted folder, if all that is executable in it is the same.

    Args:
        worktree: A real path; whoever calls made it from `project`.
        project: A real path.
        paths: Where the user's list is.
    """
    from bobstay.config.digest import TooMuch
    from bobstay.config.trust_parts import executable_parts

    if not is_apart(paths, worktree) or not standing(project, paths).trusted:
        return False
    store = TrustStore(paths.bobstay)
    try:
        entry = store.get(project)
        parts = executable_parts(worktree)
    except (TrustUnusable, TooMuch):
        return False
    if entry is None:
        return False
    for name, digest in parts.items():
        there = os.path.relpath(os.path.join(worktree, name), project)
        is_layout = name in _GIT_LAYOUT or name.endswith("/commondir")
        if not is_layout and digest not in (entry.parts.get(name), entry.parts.get(there)):
            return False
    store.put(worktree, parts)
    return True
