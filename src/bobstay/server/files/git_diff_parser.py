"""Parses the output of `git diff` into files, hunks and counts. Names and contents may be any bytes."""

import re
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from bobstay.server.files.path_names import encode_path

Change: TypeAlias = Literal[
    "added", "modified", "deleted", "renamed", "copied", "type_changed", "unmerged", "untracked"
]
DiffFileView: TypeAlias = Literal[
    "text", "binary", "mode_only", "renamed_only", "empty", "too_large", "link", "submodule", "unreadable"
]
MOST_FILE = 256 * 1024
"""Bytes of hunks shown of one file."""
MOST_LINE = 4_096
_STATUS: dict[str, Change] = {
    "A": "added",
    "M": "modified",
    "D": "deleted",
    "R": "renamed",
    "C": "copied",
    "T": "type_changed",
    "U": "unmerged",
}
_HUNK = re.compile(rb"@@ -(\d{1,10})(?:,(\d{1,10}))? \+(\d{1,10})(?:,(\d{1,10}))? @@ ?(.*)")
_SPECIAL: dict[str, DiffFileView] = {"120000": "link", "160000": "submodule"}
_OCTAL = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_LETTERS = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}


class Hunk(Struct, frozen=True):
    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    header: str
    """The function that contains the change, as git detects it."""
    text: str
    """Lines as in a unified diff, each with ` `, `+`, `-` or `\\` before it."""
    sha256: str
    """Hash of the raw lines; quote it to revert this hunk."""


class RawHunk(Struct, frozen=True):
    """A hunk as git wrote it, byte for byte."""

    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    header: bytes
    body: tuple[bytes, ...]

    @property
    def sha256(self) -> str:
        return sha256(b"\n".join(self.body)).hexdigest()

    @property
    def as_hunk(self) -> Hunk:
        numbers = (self.old_start, self.old_lines, self.new_start, self.new_lines)
        return Hunk(*numbers, _text([self.header[:200]]), _text(self.body), self.sha256)


class DiffFile(Struct, frozen=True):
    path: str
    status: Change
    old_path: str = ""
    """Its previous path, if it was renamed or copied."""
    added: int = 0
    removed: int = 0
    binary: bool = False
    old_mode: str = ""
    new_mode: str = ""
    truncated: bool = False
    """Hunks are missing here; request this path alone, or read the file."""
    view: DiffFileView = "text"
    """What can be shown: lines, or the reason why there are none."""
    size: int = 0
    """Current size of the file in bytes."""
    version: str = ""
    """Changes with the file; quote it to revert the whole file. Empty if there is no file now."""
    rejectable: bool = False
    """Whether the whole file can be reverted."""
    hunks: tuple[Hunk, ...] = ()


def parse_list(output: bytes) -> list[DiffFile]:
    """The files in the output of `git diff --raw --numstat -z`."""
    found: dict[bytes, DiffFile] = {}
    fields = iter(output.split(b"\0"))
    for field in fields:
        if field.startswith(b":"):
            _raw(field, fields, found)
        elif field.count(b"\t") >= 2:
            _numbers(field, fields, found)
    return list(found.values())


def parse_patch(output: bytes, *, most_file: int = MOST_FILE, cut: bool = False) -> dict[str, DiffFile]:
    """The hunks in the output of `git diff --patch`, by path. With `cut`, the output may end anywhere."""
    found: dict[str, DiffFile] = {}
    last = ""
    for header, lines in _sections(output):
        name = _name(header)
        if name is None:
            continue
        last = encode_path(name)
        binary = any(line.startswith((b"Binary files ", b"GIT binary patch")) for line in header)
        raw, truncated = _hunks(lines, most_file)
        hunks = tuple(hunk.as_hunk for hunk in raw)
        before = found.get(last)
        if before is not None:  # such as a file that became a link: git reports a removal and an addition
            hunks = (*before.hunks, *hunks)
        found[last] = DiffFile(last, "modified", binary=binary, truncated=truncated, hunks=hunks)
    if cut and last:
        found[last] = replace(found[last], truncated=True)
    return found


def parse_hunks(output: bytes, path: bytes) -> list[RawHunk]:
    """The hunks of one file in the output of `git diff --patch`, byte for byte."""
    found: list[RawHunk] = []
    for header, lines in _sections(output):
        if _name(header) == path:
            found += _hunks(lines, len(output))[0]
    return found


def unquote(name: bytes) -> bytes:
    """The name in a header of git, which quotes and escapes unusual names."""
    if not (name.startswith(b'"') and name.endswith(b'"') and len(name) >= 2):
        return name
    return _OCTAL.sub(_letter, name[1:-1])


def to_added_hunk(data: bytes, *, most: int = MOST_FILE) -> tuple[tuple[Hunk, ...], int, bool]:
    """A whole file as one hunk of added lines, the number of lines, and whether the hunk was truncated."""
    if not data:
        return (), 0, False
    lines = data.split(b"\n")
    ended = lines[-1] == b""
    if ended:
        lines.pop()
    shown_lines, size = list[bytes](), 0
    for line in lines:
        size += len(line) + 2
        if size > most:
            break
        shown_lines.append(b"+" + line)
    truncated = len(shown_lines) < len(lines)
    if not ended and not truncated:
        shown_lines.append(b"\\ No newline at end of file")
    hunk = RawHunk(0, 0, 1, len(lines), b"", tuple(shown_lines))
    return (hunk.as_hunk,), len(lines), truncated


def _raw(field: bytes, fields: Iterator[bytes], found: dict[bytes, DiffFile]) -> None:
    parts = field[1:].decode("ascii", "replace").split(" ")
    path = next(fields, b"")
    if len(parts) != 5 or not path:
        return
    old_mode, new_mode, status = parts[0], parts[1], _STATUS.get(parts[4][:1], "modified")
    old = b""
    if status in ("renamed", "copied"):
        old, path = path, next(fields, b"")
    modes = (old_mode, new_mode) if old_mode != new_mode else ("", "")
    if path in found and status != "unmerged" and found[path].status == "unmerged":
        return
    look: DiffFileView = _SPECIAL.get(new_mode if new_mode != "000000" else old_mode, "text")
    found[path] = DiffFile(encode_path(path), status, encode_path(old), old_mode=modes[0], new_mode=modes[1], view=look)


def _numbers(field: bytes, fields: Iterator[bytes], found: dict[bytes, DiffFile]) -> None:
    added, removed, path = field.split(b"\t", 2)
    if not path:  # a rename: both names follow
        next(fields, b"")
        path = next(fields, b"")
    file = found.get(path)
    if file is None:
        return
    if added == b"-":
        found[path] = replace(file, binary=True)
    elif added.isdigit() and removed.isdigit():
        found[path] = replace(file, added=int(added), removed=int(removed))


def _sections(output: bytes) -> Iterator[tuple[list[bytes], list[bytes]]]:
    """The lines of each file: its header, and its hunks.

    Inside a hunk every line begins with a sign, so no content can look like the header of another file.
    """
    header: list[bytes] = []
    lines: list[bytes] = []
    for line in output.split(b"\n"):
        if line.startswith(b"diff --git "):
            if header:
                yield header, lines
            header, lines = [line], []
        elif lines or line.startswith(b"@@ "):
            lines.append(line)
        elif header:
            header.append(line)
    if header:
        yield header, lines


def _name(header: list[bytes]) -> bytes | None:
    """The path of a section: the new one if it was renamed."""
    for line in header:
        if line.startswith((b"rename to ", b"copy to ")):
            return unquote(line.partition(b" to ")[2])
    for beginning, prefix in ((b"+++ ", b"b/"), (b"--- ", b"a/")):
        for line in header:
            if line.startswith(beginning):
                name = unquote(line.removeprefix(beginning).removesuffix(b"\t"))
                if name.startswith(prefix):
                    return name.removeprefix(prefix)
    # Neither renamed nor with text: both names are the same, so each is half of the line.
    names = header[0].removeprefix(b"diff --git ")
    half = (len(names) - 1) // 2
    first, second = unquote(names[:half]), unquote(names[half + 1 :])
    same = first.removeprefix(b"a/") == second.removeprefix(b"b/")
    return second.removeprefix(b"b/") if same else None


def _hunks(lines: list[bytes], most: int) -> tuple[list[RawHunk], bool]:
    """The hunks of a file, and whether they exceed `most` bytes."""
    hunks: list[RawHunk] = []
    size = 0
    match: re.Match[bytes] | None = None
    body: list[bytes] = []

    def close() -> None:
        if match is not None:
            numbers = int(match[1]), int(match[2] or 1), int(match[3]), int(match[4] or 1)
            hunks.append(RawHunk(*numbers, match[5], tuple(body)))

    for line in lines:
        begins = _HUNK.match(line)
        if begins:
            close()
            match, body = begins, []
        elif line:
            size += len(line) + 1
            if size > most:
                close()
                return hunks, True
            body.append(line)
    close()
    return hunks, False


def _text(lines: Sequence[bytes]) -> str:
    """Lines as text; very long lines, such as those of bundled scripts, are cut."""
    return "\n".join(
        (line if len(line) <= MOST_LINE else line[:MOST_LINE] + b" [...]").decode("utf-8", "replace") for line in lines
    )


def _letter(match: "re.Match[bytes]") -> bytes:
    found = match[1]
    return bytes([int(found, 8) & 0xFF]) if len(found) == 3 else _LETTERS.get(found, found)
