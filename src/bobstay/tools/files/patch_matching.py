"""Applies the chunks of a patch to a text; every byte the patch does not name stays as it is."""

import re
from collections.abc import Callable, Sequence

from msgspec import Struct

from bobstay.tools.base import ToolError
from bobstay.tools.files.file_content import dominant_newline, make_visible
from bobstay.tools.files.lookalikes import fold_lookalikes
from bobstay.tools.files.nearest_match import describe_nearest
from bobstay.tools.files.patch_format import Chunk

_ENDS = re.compile(r"\r\n|\n|\r")
_MAX_COMPARED = 20_000_000
"""Lines compared for one patch; a hostile one could take minutes otherwise."""
_TOLERANCES: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("", lambda line: line),
    ("blanks at line ends", str.rstrip),
    ("indentation and blanks at line ends", str.strip),
    ("typographic characters", lambda line: fold_lookalikes(line).strip()),
)


class PatchedText(Struct, frozen=True):
    text: str
    notes: tuple[str, ...] = ()
    """What the model should know about places that were found by tolerance."""


def apply_chunks(text: str, chunks: Sequence[Chunk]) -> PatchedText:
    """Apply `chunks`, which stand in the order of the file.

    Raises:
        ToolError: a place was not found; says which, and where something similar stands.
    """
    patching = _Patching(text)
    for number, chunk in enumerate(chunks, 1):
        patching.apply(chunk, f"Change {number} of {len(chunks)}: " if len(chunks) > 1 else "")
    return PatchedText(patching.result(), tuple(patching.notes))


class _Patching:
    """The lines of a text and the replacements found so far."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._bodies, self._ends = _split(text)
        self._keys: dict[int, list[str]] = {}
        self._newline = dominant_newline(text)
        self._out: list[tuple[str, str]] = []
        self._done = 0
        """Lines of the old text that are in the new one, or removed from it."""
        self._position = 0
        """Where to look for the next place."""
        self._compared = 0
        self._added_last = False
        self.notes: list[str] = []

    def apply(self, chunk: Chunk, which: str) -> None:
        for context in chunk.contexts:
            found = self._seek([context], self._position, at_end=False)
            if found is None:
                raise ToolError(
                    f"{which}the line {_shown(context)} named behind @@ is not in the file{self._after()}. "
                    f"{self._nearest(context)}Nothing was written."
                )
            self._position = found[0] + 1
        old, lines = chunk.old, list(chunk.lines)
        if not old:
            self._insert(chunk)
            return
        found = self._seek(old, self._position, at_end=chunk.at_end)
        if found is None and old[-1] == "" and lines[-1] == (" ", ""):
            # Models end a change with an empty line that stands for the end of the file.
            old, lines = old[:-1], lines[:-1]
            found = self._seek(old, self._position, at_end=chunk.at_end) if old else None
        if found is None:
            where = " at the end of the file" if chunk.at_end else f"{self._after()}"
            raise ToolError(
                f"{which}the lines to change are not in the file{where}. {self._nearest(chr(10).join(old))}"
                "Nothing was written."
            )
        start, overlooked = found
        if overlooked:
            self.notes.append(
                f"{which}the lines do not match the file exactly; they were found at line {start + 1} by ignoring "
                f"differences in {overlooked}. Lines you kept were left as they are."
            )
        elif not chunk.contexts and not chunk.at_end and (other := self._seek(old, start + 1, at_end=False)):
            self.notes.append(
                f"{which}the lines occur more than once; those at line {start + 1} were changed, not those at line "
                f"{other[0] + 1}. Name the place with @@ if another was meant."
            )
        self._replace(start, lines)
        self._position = start + len(old)

    def result(self) -> str:
        self._keep(len(self._bodies))
        pieces: list[str] = []
        for at, (body, end) in enumerate(self._out):
            last = at + 1 == len(self._out)
            pieces += (body, end or ("" if last else self._newline))
        return "".join(pieces)

    def _insert(self, chunk: Chunk) -> None:
        """Put added lines behind the line that @@ names, or at the end of the file."""
        at = self._position if chunk.contexts and not chunk.at_end else len(self._bodies)
        self._replace(at, chunk.lines)
        self._position = at

    def _replace(self, start: int, lines: Sequence[tuple[str, str]]) -> None:
        self._keep(start)
        self._added_last = False
        removed: list[str] = []
        """Line ends of removed lines, which the lines in their place get."""
        for marker, body in lines:
            if marker == "+":
                self._add(body, removed.pop(0) if removed else None)
                continue
            if marker == " ":
                removed.clear()
                self._added_last = False
                self._out.append((self._bodies[self._done], self._ends[self._done]))
            else:
                removed.append(self._ends[self._done])
            self._done += 1
        if self._added_last and self._done == len(self._bodies) and self._ends and not self._ends[-1]:
            # The last line had no newline, and the one in its place has none either.
            self._out[-1] = (self._out[-1][0], "")

    def _add(self, body: str, end: str | None) -> None:
        if self._out and not self._out[-1][1]:
            self._out[-1] = (self._out[-1][0], self._newline)
        near = self._out[-1][1] if self._out else self._ends[self._done] if self._done < len(self._ends) else ""
        self._out.append((body, (near if end is None else end) or self._newline))
        self._added_last = True

    def _keep(self, until: int) -> None:
        self._out += zip(self._bodies[self._done : until], self._ends[self._done : until], strict=True)
        self._done = max(self._done, until)

    def _seek(self, wanted: list[str], start: int, *, at_end: bool) -> tuple[int, str] | None:
        """The first place of `wanted` from `start` on, by the strictest tolerance that finds one."""
        if len(wanted) > len(self._bodies):
            return None
        if at_end:
            start = max(start, len(self._bodies) - len(wanted))
        for level, (overlooked, key) in enumerate(_TOLERANCES):
            keys = [key(make_visible(line)) for line in wanted]
            lines = self._keys.get(level)
            if lines is None:
                lines = self._keys[level] = [key(make_visible(line)) for line in self._bodies]
            if (found := self._find(lines, keys, start)) is not None:
                return found, overlooked
        return None

    def _find(self, lines: list[str], keys: list[str], start: int) -> int | None:
        count = len(keys)
        at = start - 1
        while True:
            try:
                at = lines.index(keys[0], at + 1, len(lines) - count + 1)
            except ValueError:
                return None
            self._compared += count
            if self._compared > _MAX_COMPARED:
                raise ToolError("The lines to change occur too often in the file to be found. Name the place with @@.")
            if lines[at : at + count] == keys:
                return at

    def _after(self) -> str:
        return f" after line {self._position}, where the change before it ends" if self._position else ""

    def _nearest(self, old: str) -> str:
        close = describe_nearest(self._text, old)
        return f"The most similar place reads:\n{close}\n" if close else "Read the file to see what it contains. "


def _split(text: str) -> tuple[list[str], list[str]]:
    """The lines of `text` and how each ends; only the last may end with nothing."""
    bodies: list[str] = []
    ends: list[str] = []
    at = 0
    for match in _ENDS.finditer(text):
        bodies.append(text[at : match.start()])
        ends.append(match[0])
        at = match.end()
    if at < len(text):
        bodies.append(text[at:])
        ends.append("")
    return bodies, ends


def _shown(line: str) -> str:
    return repr(line if len(line) <= 120 else f"{line[:120]}...")
