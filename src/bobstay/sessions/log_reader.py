"""Reads a session's log from any `seq` on, with a sparse index of the offsets of its entries."""

import gzip
import os
import threading
import zlib
from bisect import bisect_right
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import IO, BinaryIO, Protocol, cast

import msgspec
from msgspec import Struct

from bobstay.model.event import Envelope, InteractionOpened
from bobstay.sessions.log import LogError
from bobstay.sessions.log_codec import BadLine, decode
from bobstay.sessions.session_logs import EntryReader
from bobstay.system.safe_read import open_regular

STRIDE = 128
"""Entries between two indexed offsets."""
PIECE = 1024 * 1024


class Identified(Protocol):
    @property
    def id(self) -> str: ...


class _Numbered(Struct):
    seq: int


_number = msgspec.json.Decoder(_Numbered)


class LogReader:
    """Reader of one log file, safe while another process appends to it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._seqs: list[int] = [0]
        self._offsets: list[int] = [0]
        self._known = 0
        """The offset up to which entries are indexed."""
        self._since = 0
        self._lock = threading.Lock()
        """Several threads may read at once; each offset is indexed once."""

    def lines(self, after: int = 0) -> Iterator[bytes]:
        """Complete lines with a `seq` above `after`. A line that is still being written is not complete."""
        offset = self._offsets[bisect_right(self._seqs, after) - 1]
        try:
            file = open_log(self.path)
        except FileNotFoundError:  # no log, no lines
            return
        with file:
            file.seek(offset)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                seq = _seq(line)
                if seq is not None:
                    self._note_offset(offset, seq, len(line))
                    if seq > after:
                        yield line
                offset += len(line)

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

    def copy(self) -> "LogReader":
        return LogReader(self.path)

    @property
    def size(self) -> int:
        try:
            return os.stat(self.path).st_size
        except OSError:
            return 0

    def _note_offset(self, offset: int, seq: int, length: int) -> None:
        with self._lock:
            if offset < self._known:
                return
            self._known = offset + length
            self._since += 1
            if self._since >= STRIDE and seq > self._seqs[-1]:
                self._since = 0
                self._offsets.append(offset)
                self._seqs.append(seq - 1)


def read_interactions(reader: EntryReader, wanted: Iterable[Identified]) -> list[InteractionOpened]:
    """The interactions with these ids, with all that is needed to answer them."""
    ids = {entry.id for entry in wanted}
    if not ids:
        return []
    events = (envelope.event for envelope in reader.read())
    return [event for event in events if isinstance(event, InteractionOpened) and event.id in ids]


def open_log(path: str) -> IO[bytes]:
    """Open a log, plain or compressed; the caller closes it.

    Raises:
        OSError
    """
    return cast("IO[bytes]", _ArchivedLog(path)) if path.endswith(".gz") else open_regular_file(path, PIECE)


class _ArchivedLog(gzip.GzipFile):
    """A compressed log. If it is damaged, that is an error of the log, and not one of the compression."""

    def readline(self, size: int | None = -1) -> bytes:
        with self._damage():
            return super().readline(size)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        with self._damage():
            return super().seek(offset, whence)

    @contextmanager
    def _damage(self) -> Generator[None, None, None]:
        try:
            yield
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise LogError(f"the archived log {self.name} is damaged: {error}") from None


def open_regular_file(path: str, buffer: int = -1) -> BinaryIO:
    """Open a regular file; the caller closes it. Anything else is refused: opening a pipe would block.

    Raises:
        OSError
    """
    return os.fdopen(open_regular(path), "rb", buffer)


def _seq(line: bytes) -> int | None:
    try:
        return _number.decode(line).seq
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
