"""Finds protected files and folders below a directory, fast enough to run before every command.

The content of a folder is cached by its change time (ctime), which cannot be set back. A folder that changed a moment
ago is read again, because a second change within the same clock tick would be missed.
"""

import os
import time

from bobstay.permissions.path_resolution import PROTECTED_DIRECTORIES, PROTECTED_FILES, folded

PASSED_OVER = frozenset(
    (
        *("node_modules", "bower_components", "vendor", "__pycache__", "site-packages"),
        *(".venv", "venv", ".tox", ".nox", ".mypy_cache", ".ruff_cache", ".pytest_cache"),
        *("target", "build", "dist", ".next", ".nuxt", ".gradle", ".terraform"),
    )
)
"""Folders of downloaded and generated files, in which people do not usually run programs."""
_DEEPEST = 6
_MOST_FOLDERS = 3_000
MOST_HELD = 200
"""The number of paths protected by mounts; repositories come first."""
_FRESH = 50_000_000


_BARE = frozenset(("HEAD", "objects", "refs"))


class NestedPaths:
    """The protected paths below one directory, except those directly in it. `HEAD` stands for a bare repository."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._known: dict[str, tuple[int, tuple[str, ...], tuple[str, ...]]] = {}
        self.complete = True
        """Whether every search so far ended before its limits."""

    def find(self) -> list[str]:
        found: list[str] = []
        known: dict[str, tuple[int, tuple[str, ...], tuple[str, ...]]] = {}
        queue = [(self._root, 0)]
        for folder, depth in queue:
            entry = self._read(folder)
            if entry is None:
                continue
            known[folder] = entry
            _, folders, protected = entry
            if depth:
                found += protected
            if depth < _DEEPEST and len(queue) + len(folders) <= _MOST_FOLDERS:
                queue += [(one, depth + 1) for one in folders]
            elif folders:
                self.complete = False
        self._known = known
        return sorted(found, key=lambda path: os.path.basename(path) not in (".git", "HEAD"))

    def _read(self, folder: str) -> tuple[int, tuple[str, ...], tuple[str, ...]] | None:
        try:
            changed = os.stat(folder, follow_symlinks=False).st_ctime_ns
            before = self._known.get(folder)
            if before is not None and before[0] == changed and time.time_ns() - changed > _FRESH:
                return before
            folders, protected, bare = [], [], 0
            with os.scandir(folder) as entries:
                for entry in entries:
                    name = folded(entry.name)
                    bare += entry.name in _BARE
                    if name in PROTECTED_DIRECTORIES or name in PROTECTED_FILES:
                        protected.append(entry.path)
                    elif name not in PASSED_OVER and entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
        except OSError:
            return None
        if bare == len(_BARE):
            protected.append(f"{folder}/HEAD")
        return changed, tuple(folders), tuple(protected)
