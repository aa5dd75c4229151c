"""What of a git directory makes programs run: found by looking at the files, never by asking git."""

import os
import re
from collections.abc import Iterator

from msgspec import Struct

from bobstay.permissions.sandbox.masks import is_stand_in

_MOST_PARTS = 30
_HOOKS_PATH = re.compile(r"^\s*hookspath\s*=\s*(.+?)\s*$", re.IGNORECASE | re.MULTILINE)
_WORKTREE = re.compile(r"^\s*worktree\s*=\s*(.+?)\s*$", re.IGNORECASE | re.MULTILINE)


class Guarded(Struct, frozen=True):
    """A path in a git directory that sandboxed commands may not change."""

    path: str
    stand_in: str = ""
    """What to put there if it is missing: `folder`, `file` or `dot`; "" to leave it missing."""


class Repository(Struct, frozen=True):
    folders: tuple[str, ...] = ()
    """Folders that are written to, and may not be moved away."""
    guarded: tuple[Guarded, ...] = ()


def above(folder: str) -> str:
    """The nearest `.git` in a folder above, or ""."""
    while True:
        parent = os.path.dirname(folder)
        if parent == folder:
            return ""
        folder = parent
        if os.path.lexists(f"{folder}/.git") and not is_stand_in(f"{folder}/.git"):
            return f"{folder}/.git"


def inspect(git: str) -> Repository:
    """Look at a `.git` folder, or at the file that stands for one in a work tree or submodule.

    A file is believed only if the folder it names points back: anybody can write a file that names any folder.
    """
    if os.path.isdir(git):
        return _of_folder(git, os.path.dirname(git))
    meant = _pointed_at(git)
    if not meant:
        return Repository()
    common = _common(meant)
    back = _text(f"{meant}/gitdir").strip()
    if common != meant:
        belongs = os.path.dirname(meant) == f"{common}/worktrees"
        if not belongs or os.path.realpath(os.path.join(meant, back)) != os.path.realpath(git):
            return Repository()
        return _of_folder(common, os.path.dirname(git))
    found = _WORKTREE.search(_text(f"{meant}/config"))
    here = os.path.realpath(os.path.dirname(git))
    if found is None or os.path.realpath(os.path.join(meant, found[1].strip('"'))) != here:
        return Repository()
    return _of_folder(meant, here)


def _of_folder(git: str, tree: str) -> Repository:
    folders, guarded = [git], list(_internals(git, tree))
    if os.path.isdir(f"{git}/info"):
        folders.append(f"{git}/info")
        guarded.append(Guarded(f"{git}/info/attributes", "file"))
    for part in _parts(f"{git}/worktrees"):
        folders += [part] if folders[-1].startswith(f"{git}/worktrees/") else [f"{git}/worktrees", part]
        guarded += [Guarded(f"{part}/{name}") for name in ("commondir", "gitdir", "config.worktree")]
    modules = _modules(f"{git}/modules")
    if modules:
        folders.append(f"{git}/modules")
    for part in modules:
        folders.append(part)
        guarded += _internals(part, "")
    return Repository(tuple(folders), tuple(guarded))


def _internals(git: str, tree: str) -> Iterator[Guarded]:
    yield Guarded(f"{git}/hooks", "folder")
    yield Guarded(f"{git}/config", "file")
    yield Guarded(f"{git}/commondir", "dot")
    config = _text(f"{git}/config")
    if os.path.lexists(f"{git}/config.worktree") or "worktreeconfig" in config.lower():
        yield Guarded(f"{git}/config.worktree", "file")
    if tree:
        for found in _HOOKS_PATH.finditer(config):
            yield Guarded(os.path.normpath(os.path.join(tree, found[1].strip('"'))), "folder")


def _parts(folder: str) -> list[str]:
    try:
        names = sorted(os.listdir(folder))[:_MOST_PARTS]
    except OSError:
        return []
    return [f"{folder}/{name}" for name in names if os.path.isdir(f"{folder}/{name}")]


def _modules(folder: str, depth: int = 0) -> list[str]:
    """The git folders of submodules, whose names may have slashes in them."""
    found: list[str] = []
    for part in _parts(folder):
        if os.path.isfile(f"{part}/HEAD"):
            found.append(part)
        elif depth < 3:
            found += _modules(part, depth + 1)
    return found[:_MOST_PARTS]


def _pointed_at(git: str) -> str:
    text = _text(git)
    if not text.startswith("gitdir:"):
        return ""
    meant = os.path.realpath(os.path.join(os.path.dirname(git), text.removeprefix("gitdir:").strip()))
    return meant if os.path.isfile(f"{meant}/HEAD") else ""


def _common(git: str) -> str:
    text = _text(f"{git}/commondir").strip()
    return os.path.realpath(os.path.join(git, text)) if text else git


def _text(path: str) -> str:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return os.read(descriptor, 1 << 18).decode("utf-8", "replace").replace("\0", "")
    except OSError:
        return ""
    finally:
        os.close(descriptor)
