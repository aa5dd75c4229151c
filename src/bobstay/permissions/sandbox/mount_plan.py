"""Decides what a sandboxed command may write, what it may only read, and what it does not see at all.

Mounts are worked out parents first, so what lies deeper is laid over what lies above it. Nothing here changes the
disk: what must be put in the place of missing paths is said, and done by `masks`.
"""

import hashlib
import os
import stat
from typing import Literal, TypeAlias

from msgspec import Struct

from bobstay.permissions.path_resolution import PROTECTED_DIRECTORIES, PROTECTED_FILES, within
from bobstay.permissions.sandbox import guarded_repository
from bobstay.permissions.sandbox.git_config import read
from bobstay.permissions.sandbox.hidden_paths import OBEYED_AT_HOME, secret_places
from bobstay.permissions.sandbox.placeholders import Kind, Placeholder, is_stand_in
from bobstay.permissions.sandbox.symlink_trail import trace

How: TypeAlias = Literal["write", "scratch", "read", "empty", "blank"]
"""`write` and `read`: the path itself, or `source`; `scratch`: an empty folder to write to, gone afterwards;
`empty`: an empty file; `blank`: an empty folder."""
_RANK: dict[str, int] = {"write": 0, "scratch": 1, "read": 2, "empty": 3, "blank": 4}
TEMPORARY = "/tmp"  # noqa: S108 - the name inside; outside it is a private folder
SCRATCH = ("/var/tmp", "/run", "/dev/shm")  # noqa: S108 - mounted anew, nothing of the host's is in there
MOST_REPOSITORIES = 100


class SandboxSpec(Struct, frozen=True):
    """What a session wants of its sandbox."""

    root: str
    home: str
    state: str
    """A folder of our own, for notes and for what is mounted over other things."""
    writable: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    """To be hidden beside what always is."""
    shown: tuple[str, ...] = ()
    """Readable although they lie in a hidden folder."""
    domains: tuple[str, ...] | None = None
    """Hosts that may be reached; None for no network at all."""
    unix_sockets: bool = False
    variables: tuple[str, ...] = ()
    """Environment variables to pass beside the usual ones."""


class Mount(Struct, frozen=True):
    path: str
    how: How
    source: str = ""
    stand_in: Kind | None = None
    """What must be at `path` before it can be mounted on, should nothing be there."""
    firm: bool = False
    """Wanted whatever lies above it; the others only guard what would be writable."""


class Plan(Struct, frozen=True):
    roots: tuple[str, ...]
    """Folders that may be written to."""
    locked: tuple[str, ...]
    """Folders in which stand-ins may be put."""
    mounts: tuple[Mount, ...]
    pins: tuple[tuple[str, str], ...]
    """Symbolic links that must stay what they are, and the file to lay over each."""

    def stand_ins(self, number: int) -> list[Placeholder]:
        """Those that belong to one of `locked`: the innermost that holds them."""
        found = []
        for mount in self.mounts:
            if mount.stand_in is not None:
                holding = [place for place in self.locked if within(mount.path, place)]
                if holding and max(holding, key=len) == self.locked[number]:
                    found.append(Placeholder(mount.path, mount.stand_in))
        return found


class Survey(Struct, frozen=True):
    roots: tuple[str, ...]
    gits: tuple[str, ...]
    """`.git` entries of the roots, or of folders above them."""
    outside: tuple[str, ...]
    """Git folders that must be writable though they lie in no root."""
    refused: tuple[str, ...]
    """Folders that were wanted and stay read-only."""

    @property
    def locked(self) -> tuple[str, ...]:
        return tuple(sorted({*self.roots, *self.outside}))


class PlanBuilder:
    """A plan while it is being made."""

    def __init__(self, spec: SandboxSpec, survey: Survey) -> None:
        self._spec = spec
        self._survey = survey
        self._found: dict[str, Mount] = {}
        self._hidden = secret_places(spec.home, os.getuid())
        self._hidden += [os.path.realpath(path) for path in spec.hidden if os.path.exists(path)]
        self._known: dict[str, str] = {}
        self._repositories: set[str] = set()
        self._hooks = _hooks_of_the_user(spec.home)
        self.pins: dict[str, str] = {}

    def surroundings(self) -> None:
        for path in SCRATCH:
            if os.path.isdir(path) and not os.path.islink(path):
                self._add(Mount(path, "scratch", firm=True))
        for path in self._hidden:
            self._add(Mount(path, "blank" if os.path.isdir(path) else "empty", firm=True))
        for path in map(os.path.realpath, self._spec.shown):
            if os.path.isdir(path):
                self._add(Mount(path, "read", path, firm=True))
        for path in self._survey.refused:
            if any(within(path, place) for place in (TEMPORARY, *SCRATCH)):  # elsewhere it is seen as it is
                self._add(Mount(path, "read", path, firm=True))
        for path in (*self._survey.roots, *self._survey.outside):
            self._add(Mount(path, "write", path, firm=True))

    def root(self, root: str) -> None:
        for name in sorted(PROTECTED_DIRECTORIES - {".git"}):
            self._protect(f"{root}/{name}", "folder")
        for name in sorted(PROTECTED_FILES):
            self._protect(f"{root}/{name}", "socket")
        git = f"{root}/.git"
        if os.path.islink(git):
            self._protect(git, "folder")
        elif not os.path.lexists(git) or is_stand_in(git):  # another sandbox put it there: still no repository
            self._protect(git, "folder")
            self._protect(f"{root}/HEAD", "socket")  # else the folder itself could be made a repository

    def home(self, home: str) -> None:
        """Hold what is obeyed in a home directory, where a root makes it or a part of it writable."""
        if not any(within(home, root) or within(root, home) for root in self._survey.roots):
            return
        for name in OBEYED_AT_HOME:
            path = f"{home}/{name}"
            while not os.path.lexists(os.path.dirname(path)):
                path = os.path.dirname(path)
            self._protect(path, "folder" if "/" in name or name in (".ssh", ".vim") else "socket")

    def nested(self, path: str) -> None:
        name = os.path.basename(path)
        if name == "HEAD":
            self.repository(os.path.dirname(path))
        elif name == ".git" and not os.path.islink(path) and not is_stand_in(path):
            self.repository(path)
        else:
            self._protect(path, None)

    def repository(self, git: str) -> None:
        if git in self._repositories or len(self._repositories) > MOST_REPOSITORIES:
            return
        self._repositories.add(git)
        found = guarded_repository.inspect(git)
        tree = os.path.dirname(git)
        for hooks in self._hooks if os.path.basename(git) == ".git" else ():
            self._keep_way(os.path.normpath(os.path.join(tree, hooks)))
            self._protect(os.path.normpath(os.path.join(tree, hooks)), "folder")
        if os.path.isfile(git):
            self._protect(git, None)
        for folder in found.folders:
            self._add(Mount(folder, "write", folder))
        for guarded in found.guarded:
            if os.path.isdir(os.path.dirname(guarded.path)):
                kinds: dict[str, Kind | None] = {"folder": "folder", "file": "file", "dot": "dot"}
                if not within(guarded.path, git):
                    self._keep_way(guarded.path)
                self._protect(guarded.path, kinds.get(guarded.stand_in))
        for link in found.links:
            self._submodule(link)

    def _submodule(self, link: str) -> None:
        """Hold the `.git` of a repository that git goes into by itself: if there is none, none can be made."""
        folder = os.path.dirname(link)
        if not self._writable(link) or not os.path.isdir(folder) or os.path.realpath(folder) != folder:
            return
        self._keep_way(link)
        if os.path.lexists(link) and not is_stand_in(link):
            self.nested(link)
        else:
            self._protect(link, "folder")

    def _keep_way(self, path: str) -> None:
        """Let nobody move away a folder on the way to `path` and make another."""
        folder = os.path.dirname(path)
        while self._writable(folder) and folder not in (*self._survey.roots, *self._survey.outside):
            if os.path.isdir(folder) and not os.path.islink(folder):
                self._add(Mount(folder, "write", folder))
            folder = os.path.dirname(folder)

    def mounts(self) -> tuple[Mount, ...]:
        """Parents first, without those that guard what cannot be written anyway."""
        kept: dict[str, Mount] = {}
        for path in sorted(self._found, key=lambda one: (one.count("/"), one)):
            mount = self._found[path]
            over = _nearest(path, kept)
            if over is None or over.how == "write" or (mount.firm and mount.how not in ("blank", "empty")):
                kept[path] = mount
        return tuple(kept.values())

    def _protect(self, path: str, kind: Kind | None) -> None:
        """Let nobody change, create, replace or move away what is, or would be, at `path`."""
        if not self._writable(path):
            return
        folder, _, name = path.rpartition("/")
        path = f"{self._real(folder)}/{name}"
        trail = trace(path, self._writable)
        if not trail.links:
            self._hold(path, kind if trail.missing else None, missing=trail.missing)
            return
        for link in trail.links:
            self.pins[link] = self._cover(link, trail.end if not trail.missing else "")
        for folder in trail.folders:
            self._add(Mount(folder, "write", folder))
        if trail.end and self._writable(trail.end):
            self._hold(trail.end, "socket" if trail.missing else None, missing=trail.missing)

    def _hold(self, path: str, kind: Kind | None, *, missing: bool) -> None:
        if missing and kind is None:
            return
        if kind == "folder":
            self._add(Mount(path, "blank", stand_in=kind))
        elif kind == "socket" or (not missing and stat.S_ISSOCK(os.lstat(path).st_mode) and is_stand_in(path)):
            self._add(Mount(path, "empty", stand_in="socket"))
        else:
            self._add(Mount(path, "read", path, stand_in=kind))

    def _cover(self, link: str, end: str) -> str:
        """A file to lay over a link: what it leads to, if that may be seen, or an empty one."""
        if os.path.basename(link) == ".git" and os.path.isdir(end):
            return _written(self._spec.state, f"gitdir: {end}\n")
        seen = not any(within(end, hidden) for hidden in self._hidden)
        return end if end and seen and os.path.isfile(end) else empty_file(self._spec.state)

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


def _hooks_of_the_user(home: str) -> list[str]:
    """Folders of hooks that the user's own configuration names for every repository."""
    files = (f"{home}/.gitconfig", f"{home}/.config/git/config")
    return [path for file in files for path in guarded_repository.hooks_paths(read(file)) if not path.startswith("~")]


def empty_file(state: str) -> str:
    """A file of ours that has nothing in it."""
    return _written(state, "")


def _written(state: str, text: str) -> str:
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


def _nearest(path: str, kept: dict[str, Mount]) -> Mount | None:
    parent = os.path.dirname(path)
    while parent not in kept:
        if parent == "/":
            return None
        parent = os.path.dirname(parent)
    return kept[parent]
