"""Folder trust: decides whether a folder is trusted, by its real path and the digests of its executable parts.

The folder's settings are not interpreted here. Files are compared by their digests, and the list of trusted folders
is the user's own. See docs/trust.md.
"""

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager

from msgspec import Struct

from bobstay.config.paths import Paths
from bobstay.config.trust_store import TrustStore, TrustStoreError


class TrustStatus(Struct, frozen=True):
    """Whether a folder is trusted, and why not."""

    trusted: bool = False
    changed: tuple[str, ...] = ()
    """Parts that changed since the folder was trusted."""
    problem: str = ""
    """Why trust could not be determined; a sentence for a person."""


UNKNOWN = TrustStatus()


def check_trust(folder: str, paths: Paths, known: Mapping[str, bytes] | None = None) -> TrustStatus:
    """Compare a folder with its state when it was trusted.

    Args:
        folder: A real path.
        paths: The path of the user's list.
        known: Files of the folder that were already read, by path; these bytes are compared.
    """
    if not is_trust_list_outside(paths, folder):
        return UNKNOWN
    try:
        entry = TrustStore(paths.bobstay).get(folder)
    except TrustStoreError as error:
        return TrustStatus(problem=str(error))
    if entry is None:
        return UNKNOWN
    from bobstay.config.digest import DigestLimitError
    from bobstay.config.trust_parts import executable_parts

    try:
        changed = describe_changes(entry.parts, executable_parts(folder, known))
    except DigestLimitError as error:
        return TrustStatus(problem=f"The folder cannot be checked: {error}.")
    return TrustStatus(not changed, changed)


def is_trust_list_outside(paths: Paths, folder: str) -> bool:
    """Whether the user's list lies outside the folder. A home directory may contain its own list."""
    if os.path.realpath(paths.home) == folder:
        return True
    return not is_inside(os.path.realpath(paths.bobstay), folder)


def describe_changes(before: Mapping[str, str], now: Mapping[str, str]) -> tuple[str, ...]:
    """List the parts that differ, each with `(new)`, `(gone)` or `(changed)`."""
    changes = []
    for name in sorted({*before, *now}):
        if name not in before:
            changes.append(f"{name} (new)")
        elif name not in now:
            changes.append(f"{name} (gone)")
        elif before[name] != now[name]:
            changes.append(f"{name} (changed)")
    return tuple(changes)


@contextmanager
def preserve_trust(folder: str, paths: Paths, files: tuple[str, ...]) -> Generator[None, None, None]:
    """Keep a folder trusted while bobstay itself writes its settings `files` on a person's request.

    A file that had already changed since it was trusted is not accepted. `files` are paths below `folder`.
    """
    names = {os.path.relpath(file, folder): file for file in files}
    before = _digest_named_files(folder, names)
    yield
    after = _digest_named_files(folder, names)

    def change(parts: dict[str, str]) -> None:
        for name in names:
            if parts.get(name) == before.get(name):
                parts.pop(name, None)
                parts.update({name: after[name]} if name in after else {})

    if before != after:
        TrustStore(paths.bobstay).amend(folder, change)


def filter_search_path(path: str, *folders: str) -> str:
    """Remove relative entries from a search path, and those that lie in one of the folders."""
    kept = [
        entry
        for entry in path.split(os.pathsep)
        if entry.startswith("/") and not any(is_inside(os.path.realpath(entry), folder) for folder in folders)
    ]
    return os.pathsep.join(kept)


def is_inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _digest_named_files(folder: str, names: Mapping[str, str]) -> dict[str, str]:
    from bobstay.config.digest import Digests

    digests = Digests(folder)
    for name, file in names.items():
        digests.add_file(file, name)
    return digests.by_name


_GIT_LAYOUT = (".git", "git directory", "git common directory")
"""Parts that only locate the repository of a worktree."""


def trust_worktree(worktree: str, project: str, paths: Paths) -> bool:
    """Trust a git worktree that was just created from a trusted folder, if its executable parts are the same.

    Args:
        worktree: A real path, which the caller created from `project`.
        project: A real path.
        paths: The path of the user's list.
    """
    from bobstay.config.digest import DigestLimitError
    from bobstay.config.trust_parts import executable_parts

    if not is_trust_list_outside(paths, worktree) or not check_trust(project, paths).trusted:
        return False
    store = TrustStore(paths.bobstay)
    try:
        entry = store.get(project)
        parts = executable_parts(worktree)
    except (TrustStoreError, DigestLimitError):
        return False
    if entry is None:
        return False
    for name, digest in parts.items():
        in_project = os.path.relpath(os.path.join(worktree, name), project)
        is_layout = name in _GIT_LAYOUT or name.endswith("/commondir")
        if not is_layout and digest not in (entry.parts.get(name), entry.parts.get(in_project)):
            return False
    store.put(worktree, parts)
    return True
