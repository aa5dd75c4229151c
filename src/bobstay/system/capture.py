"""Captures a stream of bytes: keeps its beginning and end in bounded memory, and all of it in a file."""

import os
import re
from collections.abc import Callable
from pathlib import Path

_ESCAPES = (
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]"  # control sequences: colours, cursor
    r"|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?"  # strings: window titles, links
    r"|[ -/]*[0-~])"
)
_COLOUR = r"\x1b\[[0-9;:]*m"
_STRAY_ESCAPE = r"\x1b(?!\[[0-9;:]*m)"
_CONTROLS = {code: None for code in range(32) if chr(code) not in "\t\n\r"} | {0: "␀", 127: None}

_WITH_ESCAPE = {code: replacement for code, replacement in _CONTROLS.items() if code != 27}


class HeadAndTail:
    """The first `head` and the last `tail` bytes of all that was added."""

    def __init__(self, head: int, tail: int) -> None:
        self.head = bytearray()
        self.tail = bytearray()
        self.total = 0
        self._breaks = 0
        self._head_room = head
        self._tail_room = tail

    @property
    def lost(self) -> int:
        """Number of bytes between head and tail that are no longer in memory."""
        return self.total - len(self.head) - len(self.tail)

    @property
    def lines(self) -> int:
        """Number of lines in total, including an unfinished last one."""
        last = self.tail or self.head
        return self._breaks + (1 if last and not last.endswith(b"\n") else 0)

    def add(self, data: bytes) -> None:
        self.total += len(data)
        self._breaks += data.count(b"\n")
        room = self._head_room - len(self.head)
        if room > 0:
            self.head += data[:room]
            if len(data) <= room:
                return
            data = data[room:]
        if len(data) >= self._tail_room:
            self.tail[:] = data[-self._tail_room :]
            return
        self.tail += data
        if len(self.tail) > 2 * self._tail_room:
            del self.tail[: -self._tail_room]

    def text(self, limit: int, where: Callable[[], str] = str, *, colours: bool = False) -> str:
        """Return readable text of at most `limit` characters. If it is cut, `where` tells where the whole is."""
        if not self.lost:
            first = last = text = readable(bytes(self.head + self.tail), colours=colours)
            if len(text) <= limit:
                return text
            gone = f"{len(text) - limit:,} characters"
        else:
            first, last = (readable(bytes(end), colours=colours) for end in (self.head, self.tail))
            gone = f"about {self.total - limit:,} bytes"
        joined = join_ends(first, last, limit, gone, where())
        return (
            re.sub(_STRAY_ESCAPE, "", joined) if colours else joined
        )  # the cut may have gone through the middle of a colour


class Capture(HeadAndTail):
    """Keeps both ends in memory, and writes everything to a file once there is more."""

    def __init__(self, path: Path, *, head: int = 65_536, tail: int = 65_536, most: int = 1 << 28) -> None:
        super().__init__(head, tail)
        self.path = path
        self.trouble = ""
        """Why the file is missing or incomplete, if it is."""
        self.saved = 0
        """Bytes in the file."""
        self._kept = head + tail
        self._most = most
        self._opened = False
        self._file = -1

    def add(self, data: bytes) -> None:
        if not self._opened and self.total + len(data) > self._kept:
            self.save()
        super().add(data)
        if self._file >= 0:
            self._write(data)

    def save(self) -> str:
        """Write the output so far, and all further output, to the file. Returns the path, or "" on failure."""
        if not self._opened:
            self._opened = True
            try:
                os.makedirs(self.path.parent, mode=0o700, exist_ok=True)
                self._file = os.open(
                    self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
                )
            except OSError as error:
                self.trouble = error.strerror or str(error)
            else:
                self._write(bytes(self.head + self.tail))
        return "" if self.trouble and not self.saved else str(self.path)

    def since(self, start: int, limit: int = 65_536) -> tuple[HeadAndTail, int]:
        """Return the output after the first `start` bytes, at most `limit` bytes of each end, and its end offset."""
        ends = HeadAndTail(limit, limit)
        if not self.saved:
            lost = self.lost
            data = bytes(self.head + self.tail) if not lost else bytes(self.tail)
            ends.add(data[max(0, start - (lost + len(self.head) if lost else 0)) :])
            return ends, self.total
        with open(self.path, "rb") as file:
            file.seek(start)
            ends.add(file.read(limit))
            skipped = max(0, self.saved - start - 2 * limit)
            file.seek(skipped, os.SEEK_CUR)
            ends.total += skipped
            ends.add(file.read(max(0, self.saved - file.tell())))
        return ends, self.total

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _write(self, data: bytes) -> None:
        view = memoryview(data)[: max(0, self._most - self.saved)]
        if len(view) < len(data) and not self.trouble:
            self.trouble = f"the output was longer than {self._most:,} bytes"
        try:
            while view:
                written = os.write(self._file, view)
                self.saved += written
                view = view[written:]
        except OSError as error:
            self.trouble = error.strerror or str(error)
        if self.trouble:
            self.close()


def readable(data: bytes, *, colours: bool = False) -> str:
    """Return text for display without a terminal: without invalid bytes, escape sequences and control characters.

    With `colours`, sequences that set a colour are kept, for displays that support these and no others.
    """
    start = 0
    while start < min(3, len(data)) and 0x80 <= data[start] < 0xC0:
        start += 1  # the rest of a character that was cut in two
    text = data[start:].decode("utf-8", "replace").replace("\r\n", "\n")
    if "\x1b" in text:
        text = re.sub(_ESCAPES, _if_colour if colours else "", text)
        text = re.sub(_STRAY_ESCAPE, "", text) if colours else text
    return text.translate(_WITH_ESCAPE if colours else _CONTROLS) if not text.isprintable() else text


def _if_colour(match: re.Match[str]) -> str:
    return match[0] if re.fullmatch(_COLOUR, match[0]) else ""


def join_ends(first: str, last: str, limit: int, gone: str, where: str) -> str:
    """Join the beginning of one text and the end of another, with a note of what is missing in between."""
    note = f"\n\n[... {gone} left out here{'. ' + where if where else ''} ...]\n\n"
    room = max(limit - len(note), 2)
    head, tail = first[: room // 2], last[-(room - room // 2) :]
    head_line, tail_line = head.rfind("\n", len(head) * 4 // 5), tail.find("\n", 0, len(tail) // 5)
    if head_line > 0:
        head = head[:head_line]
    if tail_line >= 0:
        tail = tail[tail_line + 1 :]
    return f"{head}{note}{tail}"
