"""Reads a session's log from any `seq` on without reading it all: a sparse table of where entries begin."""

import os
import threading
from bisect import bisect_right
from collections.abc import Iterator

import msgspec
from msgspec import Struct

from bobstay.model.event import Envelope
from bobstay.sessions.codec import BadLine, decode

STRIDE = 128
"""Entries between two noted places."""
PIECE = 1024 * 1024


class _Numbered(Struct):
    seq: int


_number = msgspec.json.Decoder(_Numbered)


class LogReader:
    """One log file, read by anybody at any time, also while another process appends to it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._seqs: list[int] = [0]
        self._places: list[int] = [0]
        self._known = 0
        """How far the table reaches."""
        self._since = 0
        self._lock = threading.Lock()
        """Several threads may read at once; each place is noted once."""

    def lines(self, after: int = 0) -> Iterator[bytes]:
        """Whole lines with a `seq` above `after`. One that is still being written is not whole."""
        place = self._places[bisect_right(self._seqs, after) - 1]
        try:
            file = open(self.path, "rb", buffering=PIECE)  # noqa: SIM115 - closed below; a missing file is no lines
        except FileNotFoundError:
            return
        with file:
            file.seek(place)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                seq = _seq(line)
                if seq is not None:
                    self._note(place, seq, len(line))
                    if seq > after:
                        yield line
                place += len(line)

    def read(self, after: int = 0, limit: int | None = None) -> Iterator[Envelope]:
        count = 0
        for line in self.lines(after):
            try:
                yield decode(line)
            except BadLine:
                continue
            count += 1
            if count == limit:
                return

    @property
    def size(self) -> int:
        try:
            return os.stat(self.path).st_size
        except OSError:
            return 0

    def _note(self, place: int, seq: int, length: int) -> None:
        with self._lock:
            if place < self._known:
                return
            self._known = place + length
            self._since += 1
            if self._since >= STRIDE and seq > self._seqs[-1]:
                self._since = 0
                self._places.append(place)
                self._seqs.append(seq - 1)


def _seq(line: bytes) -> int | None:
    try:
        return _number.decode(line).seq
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
