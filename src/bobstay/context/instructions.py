"""Instruction files: AGENTS.md and CLAUDE.md of the user, of the project from its top down, and of nested folders."""

import os
import re

from msgspec import Struct

from bobstay.system.safe_read import read_regular

LONGEST = 32 * 1024
DEEPEST = 5
NAMES = ("AGENTS.md", "CLAUDE.md", "AGENTS.local.md", "CLAUDE.local.md")
_NESTED = (".bobstay/AGENTS.md", ".claude/CLAUDE.md")
_IMPORT = re.compile(r"(?<![\w`@])@((?:~/|\.{0,2}/)?[\w./\-]+)")


class Instruction(Struct, frozen=True):
    path: str
    text: str


class Imports(Struct, frozen=True):
    """Which files an instruction file may name."""

    allowed: tuple[str, ...]
    """Folders below which they must be."""
    home: str = ""
    """What `~` stands for."""
    outside: list[str] | None = None
    """Takes those that exist and may not be read."""


def of_user(*folders: str, home: str = "") -> list[Instruction]:
    """The instruction files of the person, from their own settings folders. They may import from all of `home`."""
    found: list[Instruction] = []
    for folder in folders:
        for name in NAMES[:2]:
            _take(os.path.join(folder, name), found, Imports((folder, *([home] if home else [])), home))
    return found


def of_project(
    cwd: str, top: str = "", *, imports: bool = True, home: str = "", outside: list[str] | None = None
) -> list[Instruction]:
    """The instruction files from the top of the file system down to `cwd`: what is nearer comes later.

    A file that is a link must lead to one in its own folder, or below `top`, the top of the project: a repository
    must not be able to show the model what lies elsewhere. Above the project only files of the user and of root
    count: anybody may write into a folder such as /tmp. Without `imports`, no file that another names is read. Files
    outside the folder that are named and exist are not read but added to `outside`; `home` is what `~` stands for.
    """
    folders: list[str] = []
    folder = cwd
    while True:
        folders.append(folder)
        parent = os.path.dirname(folder)
        if parent == folder:
            break
        folder = parent
    found: list[Instruction] = []
    for folder in reversed(folders):
        for name in (*NAMES[:2], *_NESTED, *NAMES[2:]):
            path = os.path.join(folder, name)
            if _stays(path, folder, top) and (_within(folder, top or cwd) or _is_ours(path)):
                _take(path, found, Imports((folder,), home, outside) if imports else None)
    return found


class NestedInstructions:
    """Gives the instruction files of a folder below the project's when a file in it is first read."""

    def __init__(self, root: str, *, silent: bool = False) -> None:
        """`silent` for a folder nobody trusts: its files are read where a person or the model asks for them."""
        self._root = root
        self._silent = silent
        self._entered: set[str] = set()

    def entering(self, path: str) -> str:
        """The text of instruction files between the project's folder and `path` not given before; or empty."""
        if self._silent:
            return ""
        folder = os.path.dirname(path)
        new: list[str] = []
        while folder != self._root and folder.startswith(self._root.rstrip("/") + "/"):
            if folder not in self._entered:
                self._entered.add(folder)
                new.append(folder)
            folder = os.path.dirname(folder)
        found: list[Instruction] = []
        for folder in reversed(new):
            for name in NAMES[:2]:
                path = os.path.join(folder, name)
                if _stays(path, folder, self._root):
                    _take(path, found, Imports((folder,)))
        return render(found)


def render(instructions: list[Instruction], what: str = "Instructions from") -> str:
    return "\n\n".join(f"{what} {each.path}:\n\n{each.text}" for each in instructions)


def _stays(path: str, *folders: str) -> bool:
    """Whether a path that may be a link leads to a place in one of the folders."""
    if not os.path.islink(path):
        return True
    target = os.path.realpath(path)
    return any(folder and target.startswith(os.path.realpath(folder).rstrip("/") + "/") for folder in folders)


def _within(folder: str, top: str) -> bool:
    return folder == top or folder.startswith(top.rstrip("/") + "/")


def _is_ours(path: str) -> bool:
    try:
        return os.stat(path).st_uid in (os.geteuid(), 0)
    except OSError:
        return False


def _take(path: str, found: list[Instruction], imports: Imports | None) -> None:
    text = _read(path)
    if text is None or any(text == other.text for other in found):
        return
    found.append(Instruction(path, text))
    if imports is not None:
        _follow_imports(path, text, found, imports, depth=1, seen={os.path.realpath(path)})


def _follow_imports(
    path: str, text: str, found: list[Instruction], imports: Imports, *, depth: int, seen: set[str]
) -> None:
    """Add the files that `@file` names, once each, as far as they may be read."""
    if depth > DEEPEST:
        return
    for name in _IMPORT.findall(_without_code(text)):
        if name.startswith("~") and not imports.home:
            continue
        spelled = imports.home + name[1:] if name.startswith("~") else name
        target = os.path.realpath(os.path.join(os.path.dirname(path), spelled))
        inside = any(target.startswith(os.path.realpath(folder).rstrip("/") + "/") for folder in imports.allowed)
        if target in seen:
            continue
        seen.add(target)
        if not inside:
            if imports.outside is not None and os.path.isfile(target):
                imports.outside.append(target)
            continue
        imported = _read(target)
        if imported is not None:
            found.append(Instruction(target, imported))
            _follow_imports(target, imported, found, imports, depth=depth + 1, seen=seen)


def _without_code(text: str) -> str:
    return re.sub(r"`[^`\n]*`", "", re.sub(r"```.*?(```|\Z)", "", text, flags=re.DOTALL))


def _read(path: str) -> str | None:
    raw = read_regular(path, LONGEST + 1)
    if raw is None:
        return None
    text = raw[:LONGEST].decode(errors="replace").strip()
    if not text:
        return None
    return text + (f"\n(cut at {LONGEST // 1024} KiB)" if len(raw) > LONGEST else "")
