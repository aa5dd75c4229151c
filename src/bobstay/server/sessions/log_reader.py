"""Reads a session's log from any `seq` on without reading it all: a sparse table of where entries begin."""

import errno
import gzip
import os
import stat
import threading
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import IO, BinaryIO, Protocol, cast

import msgspec
from msgspec import Struct

from bobstay.model.event import Envelope, InteractionOpened
from bobstay.sessions.log_codec import BadLine, decode

STRIDE = 128
"""Entries between two noted places."""
PIECE = 1024 * 1024


class RequestedRange(Protocol):
    @property
    def id(self) -> str: ...


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
            file = opened_log(self.path)
        except FileNotFoundError:  # it has no lines
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


def questions(reader: LogReader, wanted: Iterable[RequestedRange]) -> list[InteractionOpened]:
    """What was asked under these ids, with all that must be known to answer."""
    ids = {entry.id for entry in wanted}
    if not ids:
        return []
    events = (envelope.event for envelope in reader.read())
    return [event for event in events if isinstance(event, InteractionOpened) and event.id in ids]


def opened_log(path: str) -> IO[bytes]:
    """A log for the reader to close, plain or packed.

    Raises:
        OSError
    """
    return cast("IO[bytes]", gzip.open(path, "rb")) if path.endswith(".gz") else opened_file(path, PIECE)


def opened_file(path: str, buffer: int = -1) -> BinaryIO:
    """A file for the reader to close. What is no file is refused at once: opening a pipe would wait for ever.

    Raises:
        OSError
    """
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "it is not a file", path)
    return os.fdopen(fd, "rb", buffer)


def _seq(line: bytes) -> int | None:
    try:
        return _number.decode(line).seq
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
