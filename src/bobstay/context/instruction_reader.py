"""Reads instruction files and what they import, each once, within bounds that no repository can widen."""

import os
from collections.abc import Callable, Iterator
from typing import Literal, TypeAlias

from msgspec import Struct

from bobstay.system.safe_read import read_regular

LONGEST = 32 * 1024
DEEPEST = 5
"""How many files may lead from an instruction file to one that is imported."""
MOST_FILES = 500
_MOST_RULES = 500
_DEEPEST_RULE = 8

InstructionKind: TypeAlias = Literal["user", "project", "local"]


class Instruction(Struct, frozen=True):
    path: str
    text: str
    kind: InstructionKind = "project"
    imported_by: str = ""


class FileReach(Struct, frozen=True):
    """How far the instruction files of one folder may reach."""

    links: tuple[str, ...] = ()
    """Folders that symbolic links may lead into; () for any place."""
    imports: tuple[str, ...] = ()
    """Folders that may be imported from; () for none."""
    owned: bool = False
    """Only files of the user and of root count."""


class RuleForPaths(Struct, frozen=True):
    """A rule for the files that one of its globs matches."""

    instruction: Instruction
    base: str
    """The folder that the globs are relative to."""
    globs: tuple[str, ...]
    reach: FileReach


class InstructionReader:
    """Reads the instruction files of one session. What was read once is not read again."""

    def __init__(
        self,
        *,
        home: str = "",
        excludes: tuple[str, ...] = (),
        denies: Callable[[str], bool] | None = None,
        approved: Callable[[], bool] | None = None,
    ) -> None:
        """`denies` says which files no rule lets be read; `approved`, whether imports may come from anywhere."""
        self.outside: list[str] = []
        """Imported files that exist but lie outside, which nobody approved."""
        self.left_out = 0
        """Files beyond the greatest number."""
        self._home = home
        self._excludes = excludes
        self._denies = denies
        self._approved = approved
        self._seen: set[str] = set()
        self._texts: set[str] = set()

    def is_there(self, path: str, reach: FileReach) -> bool:
        """Whether a file that counts has this path."""
        return os.path.isfile(path) and is_within_reach(path, reach)

    def read(self, path: str, kind: InstructionKind, reach: FileReach) -> list[Instruction]:
        """Return a file and its imports; nothing if there is no such file, or it was read before."""
        text = self._take(path, reach)
        return [] if text is None else self.with_imports(Instruction(path, text, kind), reach)

    def rules(
        self, folder: str, kind: InstructionKind, reach: FileReach, base: str
    ) -> tuple[list[Instruction], list[RuleForPaths]]:
        """Return the rules in a folder: those that always count, with their imports, and those for some paths."""
        always: list[Instruction] = []
        for_paths: list[RuleForPaths] = []
        for path in _rule_files(folder, reach):
            text = self._take(path, reach)
            if text is None:
                continue
            globs: tuple[str, ...] = ()
            if text.startswith("---"):
                from bobstay.markdown.field_values import as_list
                from bobstay.markdown.front_matter import decode_body, split_front_matter

                data = text.encode()
                matter = split_front_matter(data)
                text, globs = decode_body(data, matter).strip(), as_list(matter.fields.get("paths"))
            if globs:
                for_paths.append(RuleForPaths(Instruction(path, text, kind), base, globs, reach))
            elif text:
                always += self.with_imports(Instruction(path, text, kind), reach)
        return always, for_paths

    def with_imports(self, instruction: Instruction, reach: FileReach) -> list[Instruction]:
        """Return a file that was read, followed by what it imports."""
        found = [instruction]
        if reach.imports:
            self._follow(instruction, reach, found, depth=1)
        return found

    def _follow(self, importing: Instruction, reach: FileReach, found: list[Instruction], *, depth: int) -> None:
        if depth > DEEPEST or "@" not in importing.text:
            return
        from bobstay.context.instruction_text import imports_of

        for name in imports_of(importing.text):
            target = self._resolve(name, os.path.dirname(importing.path))
            if target is None or target in self._seen:
                continue
            if not is_inside(target, reach.imports) and not (self._approved and self._approved()):
                self.outside.append(target)
                continue
            # Links are resolved in `target`, so that they cannot lead further than was just checked.
            text = self._take(target, FileReach())
            if text is not None:
                found.append(Instruction(target, text, importing.kind, importing.path))
                self._follow(found[-1], reach, found, depth=depth + 1)

    def _resolve(self, name: str, folder: str) -> str | None:
        """Return the real path of an imported file, without punctuation that belongs to the sentence."""
        if name.startswith("~"):
            if not self._home or not name.startswith("~/"):
                return None
            name = self._home + name[1:]
        from bobstay.context.instruction_text import PUNCTUATION

        for candidate in dict.fromkeys((name, name.rstrip(PUNCTUATION))):
            try:
                target = os.path.realpath(os.path.join(folder, candidate))
                if os.path.isfile(target):
                    return target
            except (OSError, ValueError):
                continue
        return None

    def _take(self, path: str, reach: FileReach) -> str | None:
        """Return the text of a file that may be read and was not; it counts as read from now on."""
        if not os.path.isfile(path) or not is_within_reach(path, reach):
            return None
        real = os.path.realpath(path)
        if real in self._seen or self._is_excluded(path, real):
            return None
        text = read_instruction(path)
        if text is None:
            return None
        if len(self._seen) >= MOST_FILES:
            self.left_out += 1
            return None
        self._seen.add(real)
        if text in self._texts:
            return None
        self._texts.add(text)
        return text

    def _is_excluded(self, path: str, real: str) -> bool:
        if self._denies is not None and self._denies(real):
            return True
        if not self._excludes:
            return False
        from bobstay.context.path_globs import matches_glob

        globs = [glob if glob.startswith(("/", "**")) else f"**/{glob}" for glob in self._excludes]
        return any(matches_glob(name, glob) for glob in globs for name in (path, real))


def read_instruction(path: str) -> str | None:
    """Return the text of a file without its comments, cut if it is long; None if it has none."""
    raw = read_regular(path, LONGEST + 1)
    if raw is None or b"\0" in raw:
        return None
    text = raw[:LONGEST].decode(errors="replace").removeprefix("\ufeff").strip()
    if "<!--" in text:
        from bobstay.context.instruction_text import drop_comments

        text = drop_comments(text).strip()
    if not text:
        return None
    return text + (f"\n(cut at {LONGEST // 1024} KiB)" if len(raw) > LONGEST else "")


def is_inside(path: str, folders: tuple[str, ...]) -> bool:
    """Whether a real path lies below one of the folders."""
    return any(folder and path.startswith(os.path.realpath(folder).rstrip("/") + "/") for folder in folders)


def is_within_reach(path: str, reach: FileReach) -> bool:
    """Whether a path leads to a place, and belongs to somebody, that counts."""
    if reach.links and (real := os.path.realpath(path)) != path and not is_inside(real, reach.links):
        return False
    return not reach.owned or _is_ours(path)


def _is_ours(path: str) -> bool:
    try:
        return os.stat(path).st_uid in (os.geteuid(), 0)
    except OSError:
        return False


def _rule_files(folder: str, reach: FileReach) -> list[str]:
    """Return the Markdown files in a folder and those below it, by name."""
    found: list[str] = []
    if not os.path.isdir(folder):
        return found
    for path in _walk(folder, reach, 0, set()):
        found.append(path)
        if len(found) == _MOST_RULES:
            break
    return found


def _walk(folder: str, reach: FileReach, depth: int, entered: set[str]) -> Iterator[str]:
    real = os.path.realpath(folder)
    if depth > _DEEPEST_RULE or real in entered or not is_within_reach(folder, reach):
        return
    entered.add(real)
    try:
        with os.scandir(folder) as entries:
            names = sorted((entry.name, entry.is_dir()) for entry in entries)
    except OSError:
        return
    for name, is_folder in names:
        path = os.path.join(folder, name)
        if is_folder:
            yield from _walk(path, reach, depth + 1, entered)
        elif name.endswith(".md"):
            yield path
