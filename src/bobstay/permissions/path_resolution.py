"""Path resolution: every spelling of a path, with symbolic links followed, and whether it lies in given directories."""

import os
import sys
from collections.abc import Callable, Iterable

from msgspec import Struct

PROTECTED_DIRECTORIES = frozenset(
    {
        ".bobstay",
        ".cargo",
        ".claude",
        ".devcontainer",
        ".git",
        ".husky",
        ".idea",
        ".mvn",
        ".vscode",
        ".yarn",
    }
)
PROTECTED_FILES = frozenset(
    {
        ".bash_aliases",
        ".bash_login",
        ".bash_logout",
        ".bash_profile",
        ".bashrc",
        ".devcontainer.json",
        ".envrc",
        ".gitconfig",
        ".gitmodules",
        ".mcp.json",
        ".npmrc",
        ".pnp.cjs",
        ".pre-commit-config.yaml",
        ".profile",
        ".ripgreprc",
        ".yarnrc",
        ".yarnrc.yml",
        ".zprofile",
        ".zshenv",
        ".zshrc",
        "lefthook.yml",
    }
)
DEVICES = ("/dev", "/proc", "/sys")
LONGEST = 4096
MOST_LINKS = 40


def read_link(path: str) -> str | None:
    """The target of a symbolic link; None for anything else. This is the module's only disk access."""
    try:
        return os.readlink(path)
    except (OSError, ValueError):
        return None


class FileSystemView:
    """The file system as the policy sees it: working directories, home and links. Tests pass one without a disk."""

    def __init__(
        self,
        root: str,
        home: str,
        directories: Iterable[str] = (),
        *,
        readlink: Callable[[str], str | None] = read_link,
        fold_case: bool = sys.platform == "darwin",
    ) -> None:
        self.root = normalise(root)
        """The session's directory: relative paths and relative rules start here."""
        self.home = normalise(home)
        self.readlink = readlink
        self.fold_case = fold_case
        self.roots = self._spellings_of(self.root)
        self.homes = self._spellings_of(self.home)
        added = (locate(directory, self.root, self).spellings for directory in directories)
        self.added = tuple(dict.fromkeys(spelling for spellings in added for spelling in spellings))
        """Working directories besides the root, in every spelling."""

    def _spellings_of(self, path: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys((path, resolve(path, self.readlink) or path)))

    def contains(self, located: "Located") -> bool:
        """Whether every spelling of the path lies in a working directory, and none is a device."""
        if not located.spellings or located.trouble or is_device(located):
            return False
        return all(
            any(within(spelling, directory, fold_case=self.fold_case) for directory in (*self.roots, *self.added))
            for spelling in located.spellings
        )

    def holds_work(self, path: str) -> bool:
        """Whether `path` is, or is a parent of, a working directory or the home."""
        directories = (*self.roots, *self.added, *self.homes)
        return any(within(directory, path, fold_case=self.fold_case) for directory in directories)


class Located(Struct, frozen=True):
    """A path as written and as resolved, or why it cannot be judged."""

    spellings: tuple[str, ...] = ()
    """Absolute and normalised: the lexical form first, then those with symbolic links followed."""
    trouble: str = ""
    """Why no rule or default may approve it; empty for an ordinary path."""
    forbidden: bool = False
    """It can only be an attack: denied, not asked about."""

    @property
    def path(self) -> str:
        return self.spellings[0] if self.spellings else ""


def locate(path: str, start: str, view: FileSystemView) -> Located:
    """Resolve `path`, relative to `start`, in all the ways a program or the kernel may read it."""
    if "\0" in path:
        return Located(trouble="the path contains a NUL byte", forbidden=True)
    if trouble := _path_problem(path):
        return Located(trouble=trouble)
    if path == "~" or path.startswith("~/"):
        path = view.home + path[1:]
    elif path.startswith("~"):
        return Located(trouble="the path begins with another user's home")
    whole = path if path.startswith("/") else f"{start}/{path}"
    lexical = normalise(whole)
    readings = (lexical, resolve(lexical, view.readlink), resolve(whole, view.readlink))
    spellings = tuple(dict.fromkeys(reading for reading in readings if reading is not None))
    trouble = "the path runs through a loop of symbolic links" if None in readings else ""
    return Located(spellings, trouble)


def _path_problem(path: str) -> str:
    if not path:
        return "the path is empty"
    if len(path) > LONGEST:
        return "the path is too long"
    if path.startswith("\\\\"):
        return "the path names a network share"
    if not path.isprintable() and any(character < " " or "\x7f" <= character < "\xa0" for character in path):
        return "the path contains control characters"
    scheme, colon, _ = path.partition("://")
    if colon and scheme.isascii() and scheme.replace("+", "").replace("-", "").replace(".", "").isalnum():
        return "the path is a URL"
    return ""


def normalise(path: str) -> str:
    """An absolute path without `.`, `..`, doubled or trailing slashes; the disk is not read."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            if parts:
                parts.pop()
        elif part and part != ".":
            parts.append(part)
    return "/" + "/".join(parts)


def resolve(path: str, readlink: Callable[[str], str | None], done: str = "") -> str | None:
    """Follow each symbolic link of a path as the kernel would, from the real path `done` on; None for a loop."""
    waiting = path.split("/")[::-1]
    links = 0
    while waiting:
        part = waiting.pop()
        if part in ("", "."):
            continue
        if part == "..":
            done = done.rpartition("/")[0]
            continue
        target = readlink(f"{done}/{part}")
        if target is None:
            done = f"{done}/{part}"
            continue
        links += 1
        if links > MOST_LINKS:
            return None
        if target.startswith("/"):
            done = ""
        waiting.extend(target.split("/")[::-1])
    return done or "/"


def within(path: str, directory: str, *, fold_case: bool = False) -> bool:
    """Whether a normalised path is `directory` or below it, by whole components."""
    if fold_case:
        path, directory = folded(path), folded(directory)
    return directory in ("/", path) or path.startswith(directory + "/")


def folded(path: str) -> str:
    """One spelling for all names that a case-folding, Unicode-normalising file system treats as the same."""
    return composed(path).casefold()


def composed(path: str) -> str:
    """Unicode's composed form (NFC), so that two encodings of one letter compare equal."""
    if path.isascii():
        return path
    import unicodedata

    return unicodedata.normalize("NFC", path)


def is_device(located: Located) -> bool:
    return any(within(path, device) for path in located.spellings for device in DEVICES)


def protected_part(located: Located) -> str:
    """The protected component because of which a path is never written without asking; "" if there is none."""
    for spelling in located.spellings:
        parts = folded(spelling).split("/")
        for part in parts:
            if part in PROTECTED_DIRECTORIES:
                return part
        if parts[-1] in PROTECTED_FILES:
            return parts[-1]
    return ""
