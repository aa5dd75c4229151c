"""One streaming pass over a log file that survives whatever it finds there and reports it."""

from collections.abc import Iterator
from typing import BinaryIO

from bobstay.model.event import Envelope
from bobstay.sessions.log_codec import START, BadLine, decode

LONGEST_LINE = 256 * 1024 * 1024
MOST_WARNINGS = 20
BUFFER = 1024 * 1024


class Warnings:
    """What a person should know about a file; kept short however bad the file is."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._more = 0

    def add(self, text: str) -> None:
        if len(self._texts) < MOST_WARNINGS:
            self._texts.append(text)
        else:
            self._more += 1

    def texts(self) -> list[str]:
        more = [f"... and {self._more} more of this kind"] if self._more else []
        return [*self._texts, *more]


class LogScan:
    """Iterate to get the entries; the attributes are complete once the iteration is."""

    def __init__(self, file: BinaryIO, warnings: Warnings | None = None) -> None:
        self._file = file
        self.warnings = Warnings() if warnings is None else warnings
        self.end = 0
        """Where the last finished line ends."""
        self.tail = b""
        """What follows it: a line that was never finished."""
        self.highest = 0
        """The highest number met."""
        self.last_id = ""
        self.lines = 0

    def __iter__(self) -> Iterator[Envelope]:
        for line in self._whole_lines():
            try:
                envelope = decode(line)
            except BadLine as error:
                if not line.isspace():
                    self.warnings.add(f"line {self.lines} was skipped: {error}")
                continue
            self._note(envelope)
            yield envelope
        if self.tail:
            yield from self._last_line()

    def _whole_lines(self) -> Iterator[bytes]:
        readline = self._file.readline
        while line := readline(LONGEST_LINE):
            self.lines += 1
            if line.endswith(b"\n"):
                self.end += len(line)
                yield line
            elif len(line) < LONGEST_LINE:
                self.tail = line
                return
            else:
                self._skip_rest(len(line))

    def _skip_rest(self, length: int) -> None:
        while piece := self._file.readline(LONGEST_LINE):
            length += len(piece)
            if piece.endswith(b"\n"):
                break
        self.end += length
        self.warnings.add(f"line {self.lines} was skipped: it is {length} bytes long")

    def _last_line(self) -> Iterator[Envelope]:
        """A line without its newline is whole if it is an entry: half of one is never valid JSON."""
        try:
            envelope = decode(self.tail)
        except BadLine:
            return
        self._note(envelope)
        yield envelope

    def _note(self, envelope: Envelope) -> None:
        self.highest = max(self.highest, envelope.seq)
        self.last_id = envelope.id

    @property
    def tail_is_entry(self) -> bool:
        try:
            decode(self.tail)
        except BadLine:
            return False
        return True

    @property
    def tail_is_torn(self) -> bool:
        """The tail is the beginning of an entry, or the zeros a power cut leaves: nothing anybody could miss."""
        return self.tail.startswith(START) or START.startswith(self.tail) or not self.tail.strip(b"\0")
