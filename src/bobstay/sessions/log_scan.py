"""Scans a log file in one streaming pass, tolerating and reporting damaged lines."""

from collections.abc import Iterator
from typing import BinaryIO

from bobstay.model.event import Envelope
from bobstay.sessions.log_codec import LINE_START, BadLine, decode

MAX_LINE_LENGTH = 256 * 1024 * 1024
MAX_WARNINGS = 20
BUFFER_SIZE = 1024 * 1024


class ScanWarnings:
    """Warnings about a file, limited in number however damaged the file is."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._more = 0

    def add(self, text: str) -> None:
        if len(self._texts) < MAX_WARNINGS:
            self._texts.append(text)
        else:
            self._more += 1

    def texts(self) -> list[str]:
        more = [f"... and {self._more} more of this kind"] if self._more else []
        return [*self._texts, *more]


class LogScan:
    """Iterate to get the entries; the attributes are complete after the iteration."""

    def __init__(self, file: BinaryIO, warnings: ScanWarnings | None = None) -> None:
        self._file = file
        self.warnings = ScanWarnings() if warnings is None else warnings
        self.end = 0
        """Offset where the last complete line ends."""
        self.tail = b""
        """The incomplete line after it."""
        self.highest = 0
        """The highest sequence number found."""
        self.lines = 0

    def __iter__(self) -> Iterator[Envelope]:
        for line in self._whole_lines():
            try:
                envelope = decode(line)
            except BadLine as error:
                if not line.isspace():
                    self.warnings.add(f"line {self.lines} was skipped: {error}")
                continue
            self._track(envelope)
            yield envelope
        if self.tail:
            yield from self._last_line()

    def _whole_lines(self) -> Iterator[bytes]:
        readline = self._file.readline
        while line := readline(MAX_LINE_LENGTH):
            self.lines += 1
            if line.endswith(b"\n"):
                self.end += len(line)
                yield line
            elif len(line) < MAX_LINE_LENGTH:
                self.tail = line
                return
            else:
                self._skip_rest(len(line))

    def _skip_rest(self, length: int) -> None:
        while piece := self._file.readline(MAX_LINE_LENGTH):
            length += len(piece)
            if piece.endswith(b"\n"):
                break
        self.end += length
        self.warnings.add(f"line {self.lines} was skipped: it is {length} bytes long")

    def _last_line(self) -> Iterator[Envelope]:
        """Yield the last line if it only lacks its newline: half an entry is never valid JSON."""
        try:
            envelope = decode(self.tail)
        except BadLine:
            return
        self._track(envelope)
        yield envelope

    def _track(self, envelope: Envelope) -> None:
        self.highest = max(self.highest, envelope.seq)

    @property
    def tail_is_entry(self) -> bool:
        try:
            decode(self.tail)
        except BadLine:
            return False
        return True

    @property
    def tail_is_torn(self) -> bool:
        """Whether the tail is an incomplete entry, or the zeros that a power failure leaves: it can be discarded."""
        return self.tail.startswith(LINE_START) or LINE_START.startswith(self.tail) or not self.tail.strip(b"\0")
