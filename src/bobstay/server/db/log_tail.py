"""Reads the new entries of a log in pieces, even if the file changed in other ways meanwhile."""

import os
from typing import IO

import msgspec
from msgspec import Struct

from bobstay.model.event import Envelope
from bobstay.sessions.log_codec import BadLine, decode
from bobstay.sessions.log_reader import open_log, open_regular_file
from bobstay.sessions.log_scan import MAX_LINE_LENGTH

STEPS = (64 * 1024, 1024 * 1024, 16 * 1024 * 1024)
"""How many bytes from the end of a log are searched, one step after the other."""
MOST_ENTRIES = 500
MOST_BYTES = 4 * 1024 * 1024


class _Known(Struct):
    seq: int
    id: str


_known = msgspec.json.Decoder(_Known)


class Piece(Struct):
    """Some entries, the offset where the last of them ends, and whether no complete line follows."""

    entries: list[Envelope]
    end: int
    last: bool


class LogFile:
    """One log, plain or archived. Another process may append to it at the same time."""

    def __init__(self, path: str, offset: int = 0, after: int = 0) -> None:
        self._path = path
        self._offset = offset
        self._after = after
        self._file: IO[bytes] | None = None

    def read(self) -> Piece:
        """The next piece, in ascending order; an entry that is out of order is ignored.

        Raises:
            OSError: the file cannot be read.
        """
        if self._file is None:
            self._file = open_log(self._path)
            self._file.seek(self._offset)
        entries: list[Envelope] = []
        start = self._offset
        while len(entries) < MOST_ENTRIES and self._offset - start < MOST_BYTES:
            line = self._line()
            if line is None:
                return Piece(entries, self._offset, last=True)
            self._offset += len(line)
            try:
                envelope = decode(line)
            except BadLine:
                continue
            if envelope.seq > self._after:
                self._after = envelope.seq
                entries.append(envelope)
        return Piece(entries, self._offset, last=False)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _line(self) -> bytes | None:
        """The next line with its newline. An incomplete line is left for later."""
        assert self._file is not None
        line = self._file.readline(MAX_LINE_LENGTH)
        if line.endswith(b"\n"):
            return line
        self._file.seek(self._offset)
        return None


def offset_after(path: str, seq: int, entry: str) -> int | None:
    """The offset in the log where entry `seq` ends, searched from the end of the file.

    None if there is no such entry, or its id differs: then the file is not the one that was read before.
    """
    if seq == 0:
        return 0
    try:
        with open_regular_file(path) as file:
            return _search_backwards(file, seq, entry)
    except OSError:
        return None


def _search_backwards(file: IO[bytes], seq: int, entry: str) -> int | None:
    size = file.seek(0, os.SEEK_END)
    for step in STEPS:
        begin = max(0, size - step)
        file.seek(begin)
        lines = file.read(size - begin).split(b"\n")
        end = size - len(lines.pop())
        whole = lines if begin == 0 else lines[1:]
        for line in reversed(whole):
            found = _decode_line(line)
            if found is not None and found.seq <= seq:
                return end if (found.seq, found.id) == (seq, entry) else None
            end -= len(line) + 1
        if begin == 0:
            return None
    return _search_forwards(file, seq, entry)


def _search_forwards(file: IO[bytes], seq: int, entry: str) -> int | None:
    """Search from the beginning, for logs that have grown too much to hold their end in memory."""
    file.seek(0)
    end = 0
    for line in file:
        end += len(line)
        found = _decode_line(line)
        if found is not None and found.seq >= seq:
            return end if (found.seq, found.id) == (seq, entry) else None
    return None


def _decode_line(line: bytes) -> _Known | None:
    try:
        return _known.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
