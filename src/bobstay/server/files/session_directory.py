"""Where a session works, as far as people may look: inside the allowed roots, and never into the server's own files."""

import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from msgspec import Struct

from bobstay.server.errors import ApiError
from bobstay.server.files.confined_open import open_directory, opened
from bobstay.server.files.path_names import parts_of, shown

if TYPE_CHECKING:
    from bobstay.config.paths import Paths
    from bobstay.server.console import Config, Console

WORKTREES = "worktrees"
_KERNEL = ("/proc", "/sys", "/dev")


class AllowedRoots(Struct, frozen=True):
    """What may be looked at. All of these are real paths."""

    roots: tuple[str, ...]
    hidden: tuple[str, ...] = ()
    """Directories nobody is shown, wherever they lie: they hold keys, logs and tokens."""
    shown: tuple[str, ...] = ()
    """Exceptions inside the hidden ones: work trees made for sessions."""


def bounds_of(console: "Console") -> AllowedRoots:
    """What sessions of this server may work in."""
    return bounds_for(console.config, console.environment.paths, console.added_roots)


def bounds_for(config: "Config", paths: "Paths", added: Sequence[str] = ()) -> AllowedRoots:
    """The same, before there is a console. `added` are directories that people added in the page."""
    roots = (*(config.roots or (paths.home, os.getcwd())), *added)
    hidden = (paths.bobstay, config.state)
    trees = os.path.join(os.path.realpath(paths.bobstay), WORKTREES)
    return AllowedRoots(_real(roots), _real(hidden), (trees,))


def allowed(path: str, bounds: AllowedRoots) -> str:
    """The real path of an existing directory, if sessions may work there.

    Raises:
        ApiError: invalid, not_found or forbidden.
    """
    if not path or "\0" in path or not path.startswith("/"):
        raise ApiError("invalid", "Give a directory by its absolute path.")
    try:
        real = os.path.realpath(path)
        is_directory = os.path.isdir(real)
    except (OSError, ValueError):
        raise ApiError("invalid", "This is no path of a directory.") from None
    if not permitted(real, bounds):
        # Said before it is looked whether there is such a directory: outside nothing is told of what exists.
        raise ApiError("forbidden", _outside(path, bounds), roots=list(bounds.roots))
    if not is_directory:
        raise ApiError("not_found", f"There is no directory {_words(path)}. Make it first, or choose another.")
    return real


def permitted(real: str, bounds: AllowedRoots) -> bool:
    """Whether a real path lies where people may look."""
    if any(_within(real, place) for place in bounds.shown):
        return True
    if is_own(real, bounds):
        return False
    return any(_within(real, root) for root in bounds.roots)


def is_own(real: str, bounds: AllowedRoots) -> bool:
    """Whether a real path lies in the server's own files or in those of the kernel, which nobody is shown."""
    return any(_within(real, place) for place in (*bounds.hidden, *_KERNEL))


class SessionDirectory:
    """A session's directory, opened for looking. Use it in a `with`, for one request."""

    def __init__(self, real: str, root: int, bounds: AllowedRoots) -> None:
        self.path = real
        self.root = root
        self.bounds = bounds

    @contextmanager
    def file(self, path: str) -> Generator[int, None, None]:
        """A descriptor to read a regular file.

        Raises:
            ApiError: it is not there, or not to be shown.
        """
        parts = parts_of(path)
        self._check(parts)
        with opened(self.root, parts) as handle:
            yield handle

    @contextmanager
    def directory(self, path: str) -> Generator[int, None, None]:
        parts = parts_of(path)
        self._check(parts)
        with opened(self.root, parts, directory=True) as handle:
            yield handle

    def shows(self, parts: Sequence[bytes]) -> bool:
        """Whether what lies at `parts` may be named at all. No links are followed, so this path is the real one."""
        return permitted(os.path.join(self.path, *map(os.fsdecode, parts)), self.bounds)

    def _check(self, parts: Sequence[bytes]) -> None:
        if not self.shows(parts):
            raise ApiError("forbidden", f"{shown(b'/'.join(parts))} holds the server's own files and is not shown.")


@contextmanager
def look(directory: str, bounds: AllowedRoots) -> Generator[SessionDirectory, None, None]:
    """Open a session's directory.

    Raises:
        ApiError: it is gone, or lies outside the allowed roots.
    """
    real = allowed(directory, bounds)
    root = open_directory(real)
    try:
        yield SessionDirectory(real, root, bounds)
    finally:
        os.close(root)


def _outside(path: str, bounds: AllowedRoots) -> str:
    roots = ", ".join(map(_words, bounds.roots))
    return (
        f"{_words(path)} is outside the directories of this server: {roots}. "
        "An administrator can add it in Settings, Directories."
    )


def _words(path: str) -> str:
    return shown(os.fsencode(path[:500]))


def _within(path: str, folder: str) -> bool:
    """By components: `/root-evil` is not inside `/root`."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _real(paths: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(os.path.realpath(path) for path in paths))
