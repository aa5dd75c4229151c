"""Access to a session's directory, limited to the allowed roots and without the server's own files."""

import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from msgspec import Struct

from bobstay.config.paths import Paths
from bobstay.server.errors import ApiError
from bobstay.server.files.confined_open import open_confined, open_directory
from bobstay.server.files.path_names import encode_path, split_path
from bobstay.server.server_options import ServerOptions

WORKTREES = "worktrees"
_KERNEL = ("/proc", "/sys", "/dev")


class AllowedRoots(Struct, frozen=True):
    """The directories that may be accessed, as real paths."""

    roots: tuple[str, ...]
    hidden: tuple[str, ...] = ()
    """Directories that are never shown, wherever they are: they hold keys, logs and tokens."""
    visible: tuple[str, ...] = ()
    """Exceptions inside the hidden ones: worktrees made for sessions."""


def build_allowed_roots(config: ServerOptions, paths: Paths, added: Sequence[str] = ()) -> AllowedRoots:
    """The directories in which sessions of this server may work. `added` are those that people added in the page."""
    roots = (*(config.roots or (paths.home, os.getcwd())), *added)
    hidden = (paths.bobstay, config.state)
    trees = os.path.join(os.path.realpath(paths.bobstay), WORKTREES)
    return AllowedRoots(_real(roots), _real(hidden), (trees,))


def resolve_allowed(path: str, bounds: AllowedRoots) -> str:
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
        raise ApiError("invalid", "This is not the path of a directory.") from None
    if not is_allowed(real, bounds):
        # Checked before existence: nothing is revealed about directories outside the allowed roots.
        raise ApiError("forbidden", _outside_message(path, bounds), roots=list(bounds.roots))
    if not is_directory:
        raise ApiError("not_found", f"There is no directory {_display(path)}. Make it first, or choose another.")
    return real


def is_allowed(real: str, bounds: AllowedRoots) -> bool:
    """Whether a real path is inside the allowed roots and visible."""
    if any(_within(real, folder) for folder in bounds.visible):
        return True
    if is_hidden(real, bounds):
        return False
    return any(_within(real, root) for root in bounds.roots)


def is_hidden(real: str, bounds: AllowedRoots) -> bool:
    """Whether a real path is among the server's own files or those of the kernel, which are never shown."""
    return any(_within(real, folder) for folder in (*bounds.hidden, *_KERNEL))


class SessionDirectory:
    """A session's directory, opened for reading. Use it in a `with` statement, for one request."""

    def __init__(self, real: str, root: int, bounds: AllowedRoots) -> None:
        self.path = real
        self.root = root
        self.bounds = bounds

    @contextmanager
    def file(self, path: str) -> Generator[int, None, None]:
        """A descriptor to read a regular file.

        Raises:
            ApiError: it does not exist, or must not be shown.
        """
        parts = split_path(path)
        self._check(parts)
        with open_confined(self.root, parts) as handle:
            yield handle

    @contextmanager
    def directory(self, path: str) -> Generator[int, None, None]:
        parts = split_path(path)
        self._check(parts)
        with open_confined(self.root, parts, directory=True) as handle:
            yield handle

    def is_visible(self, parts: Sequence[bytes]) -> bool:
        """Whether the file at `parts` may be named. No links are followed, so this path is the real one."""
        return is_allowed(os.path.join(self.path, *map(os.fsdecode, parts)), self.bounds)

    def _check(self, parts: Sequence[bytes]) -> None:
        if not self.is_visible(parts):
            raise ApiError(
                "forbidden", f"{encode_path(b'/'.join(parts))} holds the server's own files and is not shown."
            )


@contextmanager
def open_session_directory(directory: str, bounds: AllowedRoots) -> Generator[SessionDirectory, None, None]:
    """Open a session's directory.

    Raises:
        ApiError: it is gone, or lies outside the allowed roots.
    """
    real = resolve_allowed(directory, bounds)
    root = open_directory(real)
    try:
        yield SessionDirectory(real, root, bounds)
    finally:
        os.close(root)


def _outside_message(path: str, bounds: AllowedRoots) -> str:
    roots = ", ".join(map(_display, bounds.roots))
    return (
        f"{_display(path)} is outside the directories of this server: {roots}. "
        "An administrator can add it in Settings, Directories."
    )


def _display(path: str) -> str:
    return encode_path(os.fsencode(path[:500]))


def _within(path: str, folder: str) -> bool:
    """By components: `/root-evil` is not inside `/root`."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _real(paths: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(os.path.realpath(path) for path in paths))
