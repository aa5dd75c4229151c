"""Selects lines of a text file for the model; large files are streamed in bounded memory."""

import codecs
import os
from collections.abc import Callable
from hashlib import sha256
from io import IncrementalNewlineDecoder

from msgspec import Struct

from bobstay.tools.files.file_content import Content, decode, digest, make_visible, with_plain_newlines
from bobstay.tools.files.file_reading import MAX_HASHED_SIZE, ends_fingerprint, read_chunks
from bobstay.tools.files.numbered_lines import MAX_LINE_LENGTH, cut_line, number_page


class View(Struct, frozen=True):
    """A range of lines of a file."""

    shown: str
    """Numbered lines and notes, for the model."""
    plain: str
    """The lines alone."""
    first: int
    count: int
    total: int
    """Number of lines in the file, or of those read if it is too large to read completely."""
    hash: str


def make_view(raw: bytes, first: int, most: int) -> View:
    """Show at most `most` lines from number `first` of a file with content `raw`."""
    content = decode(raw)
    text = with_plain_newlines(content.text)
    lines = text.split("\n")
    ended = lines[-1] == ""
    if ended:
        lines.pop()
    total = len(lines)
    selected = lines if first == 1 and total <= most else lines[first - 1 : first - 1 + most]
    return _view(selected, first, total, content, digest(raw), ended=ended, complete=True)


def stream_view(descriptor: int, status: os.stat_result, first: int, most: int, cancelled: Callable[[], bool]) -> View:
    """As `make_view`, for a file too large for memory. Above `MAX_HASHED_SIZE` it is read only as far as needed."""
    head = os.pread(descriptor, 4, 0)
    encoding_info = next((content for length in (4, 3, 2) if (content := decode(head[:length])).mark), Content(""))
    raw_decoder = codecs.getincrementaldecoder(encoding_info.encoding)(
        "surrogateescape" if "8" in encoding_info.encoding else "replace"
    )
    decoder = IncrementalNewlineDecoder(raw_decoder, translate=True)
    os.lseek(descriptor, len(encoding_info.mark), os.SEEK_SET)
    whole = status.st_size <= MAX_HASHED_SIZE
    hasher = sha256(encoding_info.mark)
    window = _Window(first, most)
    for chunk in read_chunks(descriptor, cancelled):
        if whole:
            hasher.update(chunk)
        window.feed(decoder.decode(chunk))
        if window.full and not whole:
            break
    else:
        window.feed(decoder.decode(b"", True))
        window.finish()
    complete = whole or not window.full
    known = hasher.hexdigest() if whole else ends_fingerprint(descriptor, status)
    lost = any("\ud800" <= letter <= "\udfff" for line in window.lines for letter in line)
    content = Content(
        "\udc80" if lost else "", encoding_info.encoding, "surrogateescape" if lost else "strict", encoding_info.mark
    )
    return _view(window.lines, first, window.total, content, known, ended=window.ended, complete=complete)


class _Window:
    """Selects lines from a stream of text, keeping only what will be shown."""

    def __init__(self, first: int, most: int) -> None:
        self.lines: list[str] = []
        self._first, self._most = first, most
        self._number = 1
        self._partial = ""
        self._length = 0

    @property
    def full(self) -> bool:
        return len(self.lines) >= self._most

    @property
    def ended(self) -> bool:
        return self._length == 0

    @property
    def total(self) -> int:
        return self._number - 1 if self.ended else self._number

    def feed(self, text: str) -> None:
        count = text.count("\n")
        if self.full or self._number + count < self._first:  # none of it is shown, not even the start of its last line
            self._number += count
            self._length = len(text) - text.rfind("\n") - 1 + (0 if count else self._length)
            return
        *ended, partial = text.split("\n")
        for part in ended:
            self._grow(part)
            self._end_line()
        self._grow(partial)

    def finish(self) -> None:
        if self._length and self._number >= self._first and not self.full:
            self.lines.append(self._line())

    def _grow(self, part: str) -> None:
        self._length += len(part)
        if len(self._partial) <= MAX_LINE_LENGTH:
            self._partial += part[: MAX_LINE_LENGTH + 1 - len(self._partial)]

    def _end_line(self) -> None:
        if self._number >= self._first and not self.full:
            self.lines.append(self._line())
        self._number += 1
        self._partial, self._length = "", 0

    def _line(self) -> str:
        return self._partial if self._length <= MAX_LINE_LENGTH else cut_line(self._partial, self._length)


def _view(
    lines: list[str], first: int, total: int, content: Content, known: str, *, ended: bool, complete: bool
) -> View:
    shown = number_page(lines, first)
    last = first + shown.count - 1
    notes = []
    if total == 0:
        notes.append("[The file exists but is empty.]")
    elif not shown.count:
        notes.append(f"[The file has {total:,} lines; offset {first:,} is past its end.]")
    elif last < total or not complete:
        of = f"{total:,}" if complete else "very many"
        notes.append(f"[Lines {first:,}-{last:,} of {of} shown. To read on, call Read with offset={last + 1}.]")
    if (encoding_note := _describe_encoding(content)) and total:
        notes.append(encoding_note)
    text = make_visible(shown.shown)
    plain = make_visible(shown.plain)
    if shown.count and (last < total or ended):
        plain += "\n"
    return View("\n\n".join([text, *notes] if text else notes), plain, first if total else 1, shown.count, total, known)


def _describe_encoding(content: Content) -> str:
    """A note on an encoding other than plain UTF-8, or ""."""
    if not content.intact:
        return (
            "[The file is not valid UTF-8: each undecodable byte is shown as \N{REPLACEMENT CHARACTER}. "
            "Edit keeps such bytes where they are outside the change.]"
        )
    if content.encoding != "utf-8":
        name = "Windows-1252 or Latin-1" if content.encoding == "cp1252" else content.encoding.upper()
        return f"[The file is encoded in {name}, not UTF-8; Edit and Write keep that.]"
    return ""
