"""Parses the patch format of `apply_patch`: sections that add, delete, update and move files."""

from collections.abc import Iterator
from typing import Literal, TypeAlias

from msgspec import Struct

MAX_PATCH_LINES = 200_000
BEGIN, END = "*** Begin Patch", "*** End Patch"
ADD, DELETE, UPDATE, MOVE = "*** Add File:", "*** Delete File:", "*** Update File:", "*** Move to:"
END_OF_FILE = "*** End of File"
_HEREDOCS = ("<<EOF", "<<'EOF'", '<<"EOF"')
_SECTIONS = (ADD, DELETE, UPDATE)

Marker: TypeAlias = Literal[" ", "-", "+"]


class PatchFormatError(ValueError):
    """The text is not a patch. The message names the line and says what was expected."""


class Chunk(Struct, frozen=True):
    """One place of a file: where to look, and its lines in order, each kept, removed or added."""

    contexts: tuple[str, ...]
    """Lines to find one after the other before the change, such as a class and its method."""
    lines: tuple[tuple[Marker, str], ...]
    at_end: bool = False
    """The change is at the end of the file."""

    @property
    def old(self) -> list[str]:
        """The lines that the file is expected to have."""
        return [text for marker, text in self.lines if marker != "+"]


class AddFile(Struct, frozen=True):
    path: str
    content: str


class DeleteFile(Struct, frozen=True):
    path: str


class UpdateFile(Struct, frozen=True):
    path: str
    chunks: tuple[Chunk, ...]
    move_to: str = ""


FileSection: TypeAlias = AddFile | DeleteFile | UpdateFile


def parse_patch(text: str) -> tuple[FileSection, ...]:
    """Parse a patch. Blanks around markers are ignored, and so is a shell's here-document around the whole.

    Raises:
        PatchFormatError: it is not a patch, or changes nothing.
    """
    reader = _Reader(_unwrap(text))
    sections: list[FileSection] = []
    while (line := reader.next_line()) is not None:
        marker = line.strip()
        if not marker:
            continue
        if marker.startswith(ADD):
            sections.append(_parse_addition(reader, _path(marker, ADD, reader)))
        elif marker.startswith(DELETE):
            sections.append(DeleteFile(_path(marker, DELETE, reader)))
        elif marker.startswith(UPDATE):
            sections.append(_parse_update(reader, _path(marker, UPDATE, reader)))
        else:
            wanted = " or ".join(f"'{each} path'" for each in _SECTIONS)
            raise reader.error(f"{_shown(line)} stands where a section must begin: {wanted}")
    if not sections:
        raise PatchFormatError("The patch has no section, so it changes nothing.")
    return tuple(sections)


def patch_paths(sections: tuple[FileSection, ...]) -> Iterator[str]:
    """Each path that the sections touch, as written; the targets of moves too."""
    for section in sections:
        yield section.path
        if isinstance(section, UpdateFile) and section.move_to:
            yield section.move_to


class _Reader:
    """The lines between the first and the last marker, with their numbers."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._at = 0

    def next_line(self) -> str | None:
        line = self.peek()
        self._at += line is not None
        return line

    def peek(self) -> str | None:
        return self._lines[self._at] if self._at < len(self._lines) else None

    def peek_body(self, prefixes: tuple[str, ...] = ("+", "-", " ")) -> str | None:
        """The next line if it belongs to the section that is being read, whose lines begin with `prefixes`."""
        line = self.peek()
        if line is None or (not line.startswith(prefixes) and line.strip().startswith(_SECTIONS)):
            return None
        return line

    def error(self, problem: str) -> PatchFormatError:
        return PatchFormatError(f"Line {self._at + 1} of the patch: {problem}.")


def _unwrap(text: str) -> list[str]:
    """The lines between the markers of the patch."""
    lines = text.strip().replace("\r\n", "\n").split("\n")
    if len(lines) > MAX_PATCH_LINES:
        raise PatchFormatError(f"The patch has more than {MAX_PATCH_LINES:,} lines. Send it in parts.")
    if lines[0].strip() in _HEREDOCS and len(lines) >= 4 and lines[-1].strip().endswith("EOF"):
        lines = lines[1:-1]
    if lines[0].strip() != BEGIN:
        raise PatchFormatError(f"The first line of the patch must be '{BEGIN}', not {_shown(lines[0])}.")
    if len(lines) < 2 or lines[-1].strip() != END:
        raise PatchFormatError(f"The last line of the patch must be '{END}', not {_shown(lines[-1])}.")
    return lines[1:-1]


def _path(marker: str, prefix: str, reader: _Reader) -> str:
    path = marker[len(prefix) :].strip()
    if not path:
        raise reader.error(f"'{prefix}' must be followed by a path")
    return path


def _parse_addition(reader: _Reader, path: str) -> AddFile:
    content: list[str] = []
    while (line := reader.peek_body(("+",))) is not None:
        reader.next_line()
        if line.startswith("+"):
            content.append(line[1:])
        elif line.strip():
            raise reader.error(f"each line of the new file {path} must begin with '+', unlike {_shown(line)}")
        elif reader.peek_body(("+",)) is not None:  # an empty line without its plus, in the middle of the file
            content.append("")
    return AddFile(path, "".join(f"{line}\n" for line in content))


def _parse_update(reader: _Reader, path: str) -> UpdateFile:
    move_to = ""
    following = reader.peek()
    if following is not None and following.strip().startswith(MOVE):
        reader.next_line()
        move_to = _path(following.strip(), MOVE, reader)
    chunks: list[Chunk] = []
    while reader.peek_body() is not None:
        chunk = _parse_chunk(reader, path)
        if chunk is not None:
            chunks.append(chunk)
    if not chunks and not move_to:
        raise reader.error(f"the update of {path} is empty")
    return UpdateFile(path, tuple(chunks), move_to)


def _parse_chunk(reader: _Reader, path: str) -> Chunk | None:
    """Parse up to the next `@@` after a line, the end-of-file marker, or the next section; None for blank lines."""
    contexts: list[str] = []
    lines: list[tuple[Marker, str]] = []
    marked = at_end = False
    while (line := reader.peek_body()) is not None and not at_end:
        if _is_context(line):
            if lines:
                break
            marked = True
            if text := line.rstrip()[3:] if line.startswith("@@ ") else "":
                contexts.append(text)
        elif line.strip() == END_OF_FILE:
            at_end = True
        elif not line.strip() and line[:1] not in (" ", "+", "-"):
            lines.append((" ", ""))
        elif line[0] in " +-":
            lines.append((_marker(line[0]), line[1:]))
        else:
            raise reader.error(
                f"in the update of {path}, {_shown(line)} begins with none of ' ' (keep), '-' (remove), '+' (add), '@@'"
            )
        reader.next_line()
    if not marked and not at_end and all(pair == (" ", "") for pair in lines):
        return None  # blank lines between sections
    while lines and lines[-1] == (" ", "") and reader.peek_body() is None and not at_end and len(lines) > 1:
        lines.pop()  # likewise
    if not lines:
        raise reader.error(f"a change of {path} has no lines")
    return Chunk(tuple(contexts), tuple(lines), at_end)


def _is_context(line: str) -> bool:
    return line.startswith("@@ ") or line.rstrip() == "@@"


def _marker(character: str) -> Marker:
    return "+" if character == "+" else "-" if character == "-" else " "


def _shown(line: str) -> str:
    return repr(line if len(line) <= 80 else f"{line[:80]}...")
