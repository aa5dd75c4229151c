"""Reads a log from where an index stopped, in pieces: only what is new, whatever happened to the file meanwhile."""

import os
from typing import IO

import msgspec
from msgspec import Struct

from bobstay.model.event import Envelope
from bobstay.server.sessions.log_reader import opened_file, opened_log
from bobstay.sessions.log_codec import BadLine, decode
from bobstay.sessions.log_scan import LONGEST_LINE

STEPS = (64 * 1024, 1024 * 1024, 16 * 1024 * 1024)
"""How far back from the end of a log is looked, one after the other."""
MOST_ENTRIES = 500
MOST_BYTES = 4 * 1024 * 1024


class _Known(Struct):
    seq: int
    id: str


_known = msgspec.json.Decoder(_Known)


class Piece(Struct):
    """Some entries, where in the file the last of them ends, and whether nothing whole follows."""

    entries: list[Envelope]
    end: int
    last: bool


class LogFile:
    """One log, plain or as the archive keeps it. Another process may append to it at the same time."""

    def __init__(self, path: str, place: int = 0, after: int = 0) -> None:
        self._path = path
        self._place = place
        self._after = after
        self._file: IO[bytes] | None = None

    def read(self) -> Piece:
        """The next piece: entries in rising order; one that does not rise is no entry of ours.

        Raises:
            OSError: the file cannot be read.
        """
        if self._file is None:
            self._file = opened_log(self._path)
            self._file.seek(self._place)
        entries: list[Envelope] = []
        start = self._place
        while len(entries) < MOST_ENTRIES and self._place - start < MOST_BYTES:
            line = self._line()
            if line is None:
                return Piece(entries, self._place, last=True)
            self._place += len(line)
            try:
                envelope = decode(line)
            except BadLine:
                continue
            if envelope.seq > self._after:
                self._after = envelope.seq
                entries.append(envelope)
        return Piece(entries, self._place, last=False)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _line(self) -> bytes | None:
        """The next line with its newline. One that is not finished yet is left for later."""
        assert self._file is not None
        line = self._file.readline(LONGEST_LINE)
        if line.endswith(b"\n"):
            return line
        self._file.seek(self._place)
        return None


def place_after(path: str, seq: int, entry: str) -> int | None:
    """Where in the log the entry numbered `seq` ends, looked for from the end of the file.

    None if that entry is not there, or is another one: then the file is not the one that was read before.
    """
    if seq == 0:
        return 0
    try:
        with opened_file(path) as file:
            return _look_back(file, seq, entry)
    except OSError:
        return None


def _look_back(file: IO[bytes], seq: int, entry: str) -> int | None:
    size = file.seek(0, os.SEEK_END)
    for step in STEPS:
        begin = max(0, size - step)
        file.seek(begin)
        lines = file.read(size - begin).split(b"\n")
        end = size - len(lines.pop())
        whole = lines if begin == 0 else lines[1:]
        for line in reversed(whole):
            found = _decoded(line)
            if found is not None and found.seq <= seq:
                return end if (found.seq, found.id) == (seq, entry) else None
            end -= len(line) + 1
        if begin == 0:
            return None
    return _look_through(file, seq, entry)


def _look_through(file: IO[bytes], seq: int, entry: str) -> int | None:
    """From the beginning: for logs that have grown by more than is good to hold at once."""
    file.seek(0)
    end = 0
    for line in file:
        end += len(line)
        found = _decoded(line)
        if found is not None and found.seq >= seq:
            return end if (found.seq, found.id) == (seq, entry) else None
    return None


def _decoded(line: bytes) -> _Known | None:
    try:
        return _known.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
