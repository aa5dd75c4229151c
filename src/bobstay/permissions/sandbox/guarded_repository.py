"""Finds the paths in a git directory that can make git run programs, by reading files, never by running git."""

import os
from collections.abc import Iterator

from msgspec import Struct

from bobstay.permissions.path_resolution import within
from bobstay.permissions.sandbox.git_config import entries, included_files, read
from bobstay.permissions.sandbox.gitlinks import gitlinks
from bobstay.permissions.sandbox.placeholders import is_placeholder

_MOST_PARTS = 30
_MOST_LINKS = 100


class Guarded(Struct, frozen=True):
    """A path in a git directory that sandboxed commands may not change."""

    path: str
    placeholder: str = ""
    """The placeholder to create if it is missing: `folder`, `file` or `dot`; "" for none."""


class GuardedRepository(Struct, frozen=True):
    folders: tuple[str, ...] = ()
    """Folders that git writes to, and that may not be moved away."""
    guarded: tuple[Guarded, ...] = ()
    links: tuple[str, ...] = ()
    """The `.git` of each nested repository that git enters by itself; some do not exist."""


def find_above(folder: str) -> str:
    """The nearest `.git` in a parent folder, or ""."""
    while True:
        parent = os.path.dirname(folder)
        if parent == folder:
            return ""
        folder = parent
        if os.path.lexists(f"{folder}/.git") and not is_placeholder(f"{folder}/.git"):
            return f"{folder}/.git"


def inspect(git: str) -> GuardedRepository:
    """Inspect a `.git` folder, or the `.git` file of a worktree or submodule.

    A file is followed only if the folder it names points back: anyone can write a file that names any folder.
    """
    if os.path.isdir(git):
        return _of_folder(git, os.path.dirname(git))
    meant = _linked_git_dir(git)
    if not meant:
        return GuardedRepository()
    common = _common(meant)
    back = read(f"{meant}/gitdir").strip()
    if common != meant:
        belongs = os.path.dirname(meant) == f"{common}/worktrees"
        if not belongs or os.path.realpath(os.path.join(meant, back)) != os.path.realpath(git):
            return GuardedRepository()
        return _of_folder(common, os.path.dirname(git))
    here = os.path.realpath(os.path.dirname(git))
    if _submodule_worktree(meant) != here:
        return GuardedRepository()
    return _of_folder(meant, here)


def _of_folder(git: str, tree: str) -> GuardedRepository:
    config = read(f"{git}/config")
    folders, guarded = [git], list(_internals(git, tree))
    if os.path.isdir(f"{git}/info"):
        folders.append(f"{git}/info")
        guarded.append(Guarded(f"{git}/info/attributes", "file"))
    else:
        guarded.append(Guarded(f"{git}/info", "folder"))
    trees = [(git, os.path.dirname(git))] if os.path.basename(git) == ".git" else []
    for part in _parts(f"{git}/worktrees"):
        folders += [part] if folders[-1].startswith(f"{git}/worktrees/") else [f"{git}/worktrees", part]
        guarded += [Guarded(f"{part}/{name}") for name in ("commondir", "gitdir")]
        guarded.append(Guarded(f"{part}/config.worktree", "file" if "worktreeconfig" in config.lower() else ""))
        trees.append((part, os.path.dirname(read(f"{part}/gitdir").strip())))
    modules = _modules(f"{git}/modules")
    if modules:
        folders.append(f"{git}/modules")
    for part in modules:
        folders.append(part)
        guarded += _internals(part, "")
        trees.append((part, _submodule_worktree(part)))
    links = [link for folder, top in trees if top for link in _links(folder, top, config)]
    links += [f"{top}/.git" for folder, top in trees if top and folder in modules]
    return GuardedRepository(tuple(folders), tuple(guarded), tuple(dict.fromkeys(links))[:_MOST_LINKS])


def _links(folder: str, tree: str, config: str) -> Iterator[str]:
    declared = (one.value for one in entries(read(f"{tree}/.gitmodules")) if one.key == "path" and one.value)
    for path in dict.fromkeys((*gitlinks(folder, config), *declared)):
        link = os.path.normpath(f"{tree}/{path}/.git")
        if within(link, tree):
            yield link


def _submodule_worktree(git: str) -> str:
    """The worktree that a submodule's configuration names; "" if it names none."""
    named = [one.value for one in entries(read(f"{git}/config")) if (one.section, one.key) == ("core", "worktree")]
    return os.path.realpath(os.path.join(git, named[-1])) if named and named[-1] else ""


def _internals(git: str, tree: str) -> Iterator[Guarded]:
    yield Guarded(f"{git}/hooks", "folder")
    yield Guarded(f"{git}/config", "file")
    yield Guarded(f"{git}/commondir", "dot")
    config = read(f"{git}/config")
    if os.path.lexists(f"{git}/config.worktree") or "worktreeconfig" in config.lower():
        yield Guarded(f"{git}/config.worktree", "file")
    for path in included_files(f"{git}/config", config):
        yield Guarded(path, "file")
    if tree:
        for path in hooks_paths(config):
            yield Guarded(os.path.normpath(os.path.join(tree, path)), "folder")


def hooks_paths(config: str) -> list[str]:
    """The `core.hooksPath` folders of a configuration."""
    return [one.value for one in entries(config) if (one.section, one.key) == ("core", "hookspath") and one.value]


def _parts(folder: str) -> list[str]:
    try:
        names = sorted(os.listdir(folder))[:_MOST_PARTS]
    except OSError:
        return []
    return [f"{folder}/{name}" for name in names if os.path.isdir(f"{folder}/{name}")]


def _modules(folder: str, depth: int = 0) -> list[str]:
    """The git directories of submodules, whose names may contain slashes."""
    found: list[str] = []
    for part in _parts(folder):
        if os.path.isfile(f"{part}/HEAD"):
            found.append(part)
        elif depth < 3:
            found += _modules(part, depth + 1)
    return found[:_MOST_PARTS]


def _linked_git_dir(git: str) -> str:
    text = read(git)
    if not text.startswith("gitdir:"):
        return ""
    meant = os.path.realpath(os.path.join(os.path.dirname(git), text.removeprefix("gitdir:").strip()))
    return meant if os.path.isfile(f"{meant}/HEAD") else ""


def _common(git: str) -> str:
    text = read(f"{git}/commondir").strip()
    return os.path.realpath(os.path.join(git, text)) if text else git
