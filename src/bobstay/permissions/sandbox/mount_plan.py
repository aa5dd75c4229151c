"""The mount plan of a sandbox: what a command may write, what it may only read, and what is hidden from it.

Mounts are sorted parents first, so that deeper ones are mounted over those above. Nothing here changes the disk except
cover files in `state`: placeholders for missing paths are only listed, and created by `placeholders`.
"""

import hashlib
import os
import stat
from typing import Literal, TypeAlias

from msgspec import Struct

from bobstay.git_files.git_config import read_config
from bobstay.permissions.path_resolution import PROTECTED_DIRECTORIES, PROTECTED_FILES, within
from bobstay.permissions.sandbox import guarded_repository
from bobstay.permissions.sandbox.hidden_paths import AUTOLOADED_AT_HOME, secret_paths
from bobstay.permissions.sandbox.placeholders import Kind, Placeholder, is_placeholder
from bobstay.permissions.sandbox.symlink_trail import trace

How: TypeAlias = Literal["write", "scratch", "read", "empty", "blank"]
"""`write` and `read`: the path itself, or `source`; `scratch`: an empty writable folder that is discarded;
`empty`: an empty file; `blank`: an empty folder."""
_RANK: dict[str, int] = {"write": 0, "scratch": 1, "read": 2, "empty": 3, "blank": 4}
TEMPORARY = "/tmp"  # noqa: S108 - the name inside; outside it is a private folder
SCRATCH = ("/var/tmp", "/run", "/dev/shm")  # noqa: S108 - new mounts, without content of the host
MOST_REPOSITORIES = 100


class SandboxSpec(Struct, frozen=True):
    """The sandbox configuration of a session."""

    root: str
    home: str
    state: str
    """A folder of bobstay for lock files and for files that are mounted over others."""
    writable: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    """Paths to hide besides those that always are."""
    shown: tuple[str, ...] = ()
    """Folders that stay readable although they lie in a hidden folder."""
    domains: tuple[str, ...] | None = None
    """Hosts that may be reached; None for no network."""
    unix_sockets: bool = False
    variables: tuple[str, ...] = ()
    """Environment variables to pass besides the usual ones."""


class Mount(Struct, frozen=True):
    path: str
    how: How
    source: str = ""
    placeholder: Kind | None = None
    """The placeholder to create if nothing exists at `path`, because a mount needs a mount point."""
    required: bool = False
    """Needed whatever the mount above it is; other mounts only protect paths that would be writable."""


class Plan(Struct, frozen=True):
    roots: tuple[str, ...]
    """Folders that may be written to."""
    locked: tuple[str, ...]
    """Folders in which placeholders may be created."""
    mounts: tuple[Mount, ...]
    pins: tuple[tuple[str, str], ...]
    """Symbolic links that must not be replaced, and the file to mount over each."""

    def placeholders(self, number: int) -> list[Placeholder]:
        """The placeholders of one of `locked`: each belongs to the innermost folder that contains it."""
        found = []
        for mount in self.mounts:
            if mount.placeholder is not None:
                holding = [directory for directory in self.locked if within(mount.path, directory)]
                if holding and max(holding, key=len) == self.locked[number]:
                    found.append(Placeholder(mount.path, mount.placeholder))
        return found


class Survey(Struct, frozen=True):
    roots: tuple[str, ...]
    gits: tuple[str, ...]
    """`.git` entries of the roots, or of folders above them."""
    outside: tuple[str, ...]
    """Git directories that must be writable although they lie in no root."""
    refused: tuple[str, ...]
    """Folders that were requested but stay read-only."""

    @property
    def locked(self) -> tuple[str, ...]:
        return tuple(sorted({*self.roots, *self.outside}))


class PlanBuilder:
    """Collects the mounts of a plan."""

    def __init__(self, spec: SandboxSpec, survey: Survey) -> None:
        self._spec = spec
        self._survey = survey
        self._found: dict[str, Mount] = {}
        self._hidden = secret_paths(spec.home, os.getuid())
        self._hidden += [os.path.realpath(path) for path in spec.hidden if os.path.exists(path)]
        self._known: dict[str, str] = {}
        self._repositories: set[str] = set()
        self._home = os.path.realpath(spec.home)
        self._hooks = _user_hooks_paths(self._home)
        self.pins: dict[str, str] = {}

    def add_base_mounts(self) -> None:
        for path in SCRATCH:
            if os.path.isdir(path) and not os.path.islink(path):
                self._add(Mount(path, "scratch", required=True))
        for path in self._hidden:
            self._add(Mount(path, "blank" if os.path.isdir(path) else "empty", required=True))
        for path in map(os.path.realpath, self._spec.shown):
            if os.path.isdir(path):
                self._add(Mount(path, "read", path, required=True))
        for path in self._survey.refused:
            if any(within(path, directory) for directory in (TEMPORARY, *SCRATCH)):  # elsewhere it is visible anyway
                self._add(Mount(path, "read", path, required=True))
        for path in (*self._survey.roots, *self._survey.outside):
            self._add(Mount(path, "write", path, required=True))

    def add_root(self, root: str) -> None:
        for name in sorted(PROTECTED_DIRECTORIES - {".git"}):
            self._protect(f"{root}/{name}", "folder")
        for name in sorted(PROTECTED_FILES):
            self._protect(f"{root}/{name}", "socket")
        git = f"{root}/.git"
        if os.path.islink(git):
            self._protect(git, "folder")
        elif not os.path.lexists(git) or is_placeholder(git):  # a placeholder of another sandbox: still no repository
            self._protect(git, "folder")
            self._protect(f"{root}/HEAD", "socket")  # else the folder itself could become a bare repository

    def add_home(self, home: str) -> None:
        """Protect the autoloaded paths of a home directory if a root makes any part of it writable."""
        if not any(within(home, root) or within(root, home) for root in self._survey.roots):
            return
        for name in AUTOLOADED_AT_HOME:
            path = f"{home}/{name}"
            while not os.path.lexists(os.path.dirname(path)):
                path = os.path.dirname(path)
            self._protect(path, "folder" if "/" in name or name in (".ssh", ".vim") else "socket")

    def add_nested(self, path: str) -> None:
        name = os.path.basename(path)
        if name == "HEAD":
            self.add_repository(os.path.dirname(path))
        elif name == ".git" and not os.path.islink(path) and not is_placeholder(path):
            self.add_repository(path)
        else:
            self._protect(path, None)

    def add_repository(self, git: str) -> None:
        if git in self._repositories or len(self._repositories) > MOST_REPOSITORIES:
            return
        self._repositories.add(git)
        found = guarded_repository.inspect(git, self._home)
        tree = os.path.dirname(git)
        for hooks in self._hooks if os.path.basename(git) == ".git" else ():
            self._pin_parents(os.path.normpath(os.path.join(tree, hooks)))
            self._protect(os.path.normpath(os.path.join(tree, hooks)), "folder")
        if os.path.isfile(git):
            self._protect(git, None)
        for folder in found.folders:
            self._add(Mount(folder, "write", folder))
        for guarded in found.guarded:
            if os.path.isdir(os.path.dirname(guarded.path)):
                kinds: dict[str, Kind | None] = {"folder": "folder", "file": "file", "dot": "dot"}
                if not within(guarded.path, git):
                    self._pin_parents(guarded.path)
                self._protect(guarded.path, kinds.get(guarded.placeholder))
        for link in found.links:
            self._submodule(link)

    def _submodule(self, link: str) -> None:
        """Protect the `.git` of a repository that git enters by itself; a missing one cannot be created."""
        folder = os.path.dirname(link)
        if not self._writable(link) or not os.path.isdir(folder) or os.path.realpath(folder) != folder:
            return
        self._pin_parents(link)
        if os.path.lexists(link) and not is_placeholder(link):
            self.add_nested(link)
        else:
            self._protect(link, "folder")

    def _pin_parents(self, path: str) -> None:
        """Prevent a parent folder of `path` from being moved away and replaced."""
        folder = os.path.dirname(path)
        while self._writable(folder) and folder not in (*self._survey.roots, *self._survey.outside):
            if os.path.isdir(folder) and not os.path.islink(folder):
                self._add(Mount(folder, "write", folder))
            folder = os.path.dirname(folder)

    def sorted_mounts(self) -> tuple[Mount, ...]:
        """The mounts, parents first, without those that protect paths that are not writable anyway."""
        kept: dict[str, Mount] = {}
        for path in sorted(self._found, key=lambda one: (one.count("/"), one)):
            mount = self._found[path]
            over = _nearest_above(path, kept)
            if over is None or over.how == "write" or (mount.required and mount.how not in ("blank", "empty")):
                kept[path] = mount
        return tuple(kept.values())

    def _protect(self, path: str, kind: Kind | None) -> None:
        """Prevent `path`, existing or not, from being changed, created, replaced or moved away."""
        if not self._writable(path):
            return
        folder, _, name = path.rpartition("/")
        path = f"{self._real(folder)}/{name}"
        trail = trace(path, self._writable)
        if not trail.links:
            self._add_guard(path, kind if trail.missing else None, missing=trail.missing)
            return
        for link in trail.links:
            self.pins[link] = self._link_cover(link, trail.end if not trail.missing else "")
        for folder in trail.folders:
            self._add(Mount(folder, "write", folder))
        if trail.end and self._writable(trail.end):
            self._add_guard(trail.end, "socket" if trail.missing else None, missing=trail.missing)

    def _add_guard(self, path: str, kind: Kind | None, *, missing: bool) -> None:
        if missing and kind is None:
            return
        if kind == "folder":
            self._add(Mount(path, "blank", placeholder=kind))
        elif kind == "socket" or (not missing and stat.S_ISSOCK(os.lstat(path).st_mode) and is_placeholder(path)):
            self._add(Mount(path, "empty", placeholder="socket"))
        else:
            self._add(Mount(path, "read", path, placeholder=kind))

    def _link_cover(self, link: str, end: str) -> str:
        """A file to mount over a link: its target if that may be read, else an empty file."""
        if os.path.basename(link) == ".git" and os.path.isdir(end):
            return _write_once(self._spec.state, f"gitdir: {end}\n")
        is_visible = not any(within(end, hidden) for hidden in self._hidden)
        return end if end and is_visible and os.path.isfile(end) else empty_file(self._spec.state)

    def _real(self, folder: str) -> str:
        if folder not in self._known:
            self._known[folder] = os.path.realpath(folder)
        return self._known[folder]

    def _writable(self, path: str) -> bool:
        return any(within(path, root) for root in (*self._survey.roots, *self._survey.outside))

    def _add(self, mount: Mount) -> None:
        present = self._found.get(mount.path)
        if present is None or _RANK[mount.how] > _RANK[present.how]:
            self._found[mount.path] = mount


def _user_hooks_paths(home: str) -> list[str]:
    """Hook folders that the user's own configuration sets for every repository."""
    files = (f"{home}/.gitconfig", f"{home}/.config/git/config")
    named = (path for file in files for path in guarded_repository.hooks_paths(read_config(file), home))
    return [path for path in named if not path.startswith("~")]


def empty_file(state: str) -> str:
    """The path of an empty file in the state folder."""
    return _write_once(state, "")


def _write_once(state: str, text: str) -> str:
    path = f"{state}/cover-{hashlib.sha256(text.encode()).hexdigest()[:16]}" if text else f"{state}/empty"
    try:
        if os.stat(path).st_size == len(text.encode()):
            return path
        os.unlink(path)
    except FileNotFoundError:
        pass
    os.makedirs(state, mode=0o700, exist_ok=True)
    made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o444)
    try:
        os.write(made, text.encode())
    finally:
        os.close(made)
    return path


def _nearest_above(path: str, kept: dict[str, Mount]) -> Mount | None:
    parent = os.path.dirname(path)
    while parent not in kept:
        if parent == "/":
            return None
        parent = os.path.dirname(parent)
    return kept[parent]
