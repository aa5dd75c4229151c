"""Finds the paths in a git directory that can make git run programs, by reading files, never by running git."""

import os
from collections.abc import Iterator

from msgspec import Struct

from bobstay.git_files.git_config import config_entries, expand_home, included_files, read_config
from bobstay.git_files.git_directory import git_entries, open_repository, worktree_of
from bobstay.git_files.gitlinks import gitlinks
from bobstay.permissions.path_resolution import within
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
    entries = git_entries(os.path.dirname(folder)) if folder != "/" else ()
    return next((entry for entry in entries if not is_placeholder(entry)), "")


def inspect(git: str, home: str = "") -> GuardedRepository:
    """Inspect a `.git` folder, or the `.git` file of a worktree or submodule. `home` is what `~` stands for in it.

    A file is followed only if the folder it names points back: anyone can write a file that names any folder.
    """
    if os.path.isdir(git):
        return _of_folder(git, os.path.dirname(git), home)
    repository = open_repository(git)
    if not os.path.isfile(f"{repository.directory}/HEAD"):
        return GuardedRepository()
    if repository.common != repository.directory:
        return _of_folder(repository.common, repository.top, home) if repository.is_linked() else GuardedRepository()
    here = os.path.realpath(repository.top)
    if _submodule_worktree(repository.directory) != here:
        return GuardedRepository()
    return _of_folder(repository.directory, here, home)


def _of_folder(git: str, tree: str, home: str) -> GuardedRepository:
    config = read_config(f"{git}/config")
    folders, guarded = [git], list(_internals(git, tree, home))
    if os.path.isdir(f"{git}/info"):
        folders.append(f"{git}/info")
        guarded.append(Guarded(f"{git}/info/attributes", "file"))
    else:
        guarded.append(Guarded(f"{git}/info", "folder"))
    trees = [(git, os.path.dirname(git))] if os.path.basename(git) == ".git" else []
    for part in _parts(f"{git}/worktrees"):
        folders += [part] if folders[-1].startswith(f"{git}/worktrees/") else [f"{git}/worktrees", part]
        guarded += [Guarded(f"{part}/{name}") for name in ("commondir", "gitdir")]
        guarded.append(Guarded(f"{part}/config.worktree", "file" if b"worktreeconfig" in config.lower() else ""))
        trees.append((part, worktree_of(part)))
    modules = _modules(f"{git}/modules")
    if modules:
        folders.append(f"{git}/modules")
    for part in modules:
        folders.append(part)
        guarded += _internals(part, "", home)
        trees.append((part, _submodule_worktree(part)))
    links = [link for folder, top in trees if top for link in _links(folder, top, config)]
    links += [f"{top}/.git" for folder, top in trees if top and folder in modules]
    return GuardedRepository(tuple(folders), tuple(guarded), tuple(dict.fromkeys(links))[:_MOST_LINKS])


def _links(folder: str, tree: str, config: bytes) -> Iterator[str]:
    modules = config_entries(read_config(f"{tree}/.gitmodules"))
    declared = (one.value for one in modules if one.key == "path" and one.value)
    for path in dict.fromkeys((*gitlinks(folder, config), *declared)):
        link = os.path.normpath(f"{tree}/{path}/.git")
        if within(link, tree):
            yield link


def _submodule_worktree(git: str) -> str:
    """The worktree that a submodule's configuration names; "" if it names none."""
    named = [one.value for one in config_entries(read_config(f"{git}/config")) if one.name == "core.worktree"]
    return os.path.realpath(os.path.join(git, named[-1])) if named and named[-1] else ""


def _internals(git: str, tree: str, home: str) -> Iterator[Guarded]:
    yield Guarded(f"{git}/hooks", "folder")
    yield Guarded(f"{git}/config", "file")
    yield Guarded(f"{git}/commondir", "dot")
    config = read_config(f"{git}/config")
    if os.path.lexists(f"{git}/config.worktree") or b"worktreeconfig" in config.lower():
        yield Guarded(f"{git}/config.worktree", "file")
    for path in included_files(f"{git}/config", config, home):
        yield Guarded(path, "file")
    if tree:
        for path in hooks_paths(config, home):
            yield Guarded(os.path.normpath(os.path.join(tree, path)), "folder")


def hooks_paths(config: bytes, home: str) -> list[str]:
    """The `core.hooksPath` folders of a configuration."""
    named = (one.value for one in config_entries(config) if one.name == "core.hookspath")
    return [expand_home(path, home) for path in named if path]


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
