"""Finds and reads instruction files: AGENTS.md and CLAUDE.md of the user, the project and its nested folders."""

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
    """Which files an instruction file may import."""

    allowed: tuple[str, ...]
    """Folders that must contain them."""
    home: str = ""
    """The directory for `~`."""
    outside: list[str] | None = None
    """Collects the imported files that exist but may not be read."""


def user_instructions(*folders: str, home: str = "") -> list[Instruction]:
    """Return the user's instruction files, from their own settings folders. They may import from all of `home`."""
    found: list[Instruction] = []
    for folder in folders:
        for name in NAMES[:2]:
            _add_file(os.path.join(folder, name), found, Imports((folder, *([home] if home else [])), home))
    return found


def project_instructions(
    cwd: str, top: str = "", *, imports: bool = True, home: str = "", outside: list[str] | None = None
) -> list[Instruction]:
    """Return the instruction files from the root of the file system down to `cwd`, the nearest last.

    A symbolic link must lead to a file in its own folder, or below `top`, the top of the project: a repository must not
    be able to show the model other files. Above the project only files of the user and of root count, because anybody
    may write into a folder such as /tmp. Without `imports`, imported files are not read. Imported files outside the
    folder are not read but added to `outside`; `home` is the directory for `~`.
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
            if _stays_inside(path, folder, top) and (_within(folder, top or cwd) or _is_ours(path)):
                _add_file(path, found, Imports((folder,), home, outside) if imports else None)
    return found


class NestedInstructions:
    """Returns the instruction files of nested folders when a file in them is first read."""

    def __init__(self, root: str, *, silent: bool = False) -> None:
        """`silent` for an untrusted folder: its instruction files are read only when somebody asks for them."""
        self._root = root
        self._silent = silent
        self._entered: set[str] = set()

    def enter(self, path: str) -> str:
        """Return the instruction files between the project's folder and `path` that were not returned before."""
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
                if _stays_inside(path, folder, self._root):
                    _add_file(path, found, Imports((folder,)))
        return render(found)


def render(instructions: list[Instruction], what: str = "Instructions from") -> str:
    return "\n\n".join(f"{what} {each.path}:\n\n{each.text}" for each in instructions)


def _stays_inside(path: str, *folders: str) -> bool:
    """Whether a path, which may be a symbolic link, leads into one of the folders."""
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


def _add_file(path: str, found: list[Instruction], imports: Imports | None) -> None:
    text = _read(path)
    if text is None or any(text == other.text for other in found):
        return
    found.append(Instruction(path, text))
    if imports is not None:
        _follow_imports(path, text, found, imports, depth=1, seen={os.path.realpath(path)})


def _follow_imports(
    path: str, text: str, found: list[Instruction], imports: Imports, *, depth: int, seen: set[str]
) -> None:
    """Add the files imported by `@file`, each once, as far as they may be read."""
    if depth > DEEPEST:
        return
    for name in _IMPORT.findall(_without_code(text)):
        if name.startswith("~") and not imports.home:
            continue
        expanded = imports.home + name[1:] if name.startswith("~") else name
        target = os.path.realpath(os.path.join(os.path.dirname(path), expanded))
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
