"""Scrollback of a terminal: its latest output by absolute offset, with subscribers that read at their own speed.

Memory is bounded and slow subscribers do not block: one that falls behind too far continues at the newest screenful
and is notified. A restarted terminal begins a new epoch, in which offsets start at 0 again.
"""

import asyncio
from typing import Literal, TypeAlias

from msgspec import Struct

MOST = 1024 * 1024
"""Bytes kept, and how far a subscriber may be behind."""
TAIL = 64 * 1024
"""Bytes sent to a subscriber that could not continue at its position."""
PIECE = 64 * 1024

Why: TypeAlias = Literal["restarted", "behind", "unknown_offset"]


class ScrollbackReset(Struct, frozen=True):
    """Discard all output so far: this is another terminal, or a part is missing."""

    epoch: int
    offset: int
    reason: Why


class TerminalOutput(Struct, frozen=True):
    offset: int
    data: bytes


class TerminalExited(Struct, frozen=True):
    epoch: int
    code: int | None
    signal: str = ""
    why: str = "exit"


Piece: TypeAlias = ScrollbackReset | TerminalOutput | TerminalExited


class Scrollback:
    def __init__(self, epoch: int = 1, most: int = MOST) -> None:
        self.epoch = epoch
        self.start = 0
        """Offset of the first byte kept."""
        self.exited: TerminalExited | None = None
        self.most = most
        self._kept = bytearray()
        self._subscribers: set[ScrollbackSubscriber] = set()

    @property
    def end(self) -> int:
        """Offset after the last byte."""
        return self.start + len(self._kept)

    def add(self, data: bytes) -> None:
        self._kept += data
        over = len(self._kept) - self.most
        if over > 0:
            del self._kept[:over]
            self.start += over
        self._wake()

    def renew(self, epoch: int) -> None:
        """Start over for another terminal."""
        self.epoch, self.start, self.exited = epoch, 0, None
        self._kept.clear()
        self._wake()

    def finish(self, exited: TerminalExited) -> None:
        self.exited = exited
        self._wake()

    def read(self, offset: int, most: int = PIECE) -> bytes:
        index = offset - self.start
        return bytes(self._kept[index : index + most]) if index >= 0 else b""

    def tail(self) -> int:
        """The offset to begin at for the newest output only."""
        return self._line(max(len(self._kept) - TAIL, 0))

    def beginning(self) -> int:
        """The offset to begin at for all output kept."""
        return self._line(0)

    def _line(self, index: int) -> int:
        """The offset of the first line that begins at `index` or after it; of `index` itself if none does."""
        if not index and not self.start:
            return 0
        line = self._kept.find(b"\n", index)
        return self.start + (line + 1 if line >= 0 else index)

    def has(self, epoch: int, offset: int) -> bool:
        return epoch == self.epoch and self.start <= offset <= self.end

    def subscribe(self, epoch: int | None = None, offset: int = 0) -> "ScrollbackSubscriber":
        """Subscribe from the position of a client; from the beginning of what is kept if it has none."""
        subscriber = ScrollbackSubscriber(self, epoch, offset)
        self._subscribers.add(subscriber)
        return subscriber

    def unsubscribe(self, subscriber: "ScrollbackSubscriber") -> None:
        self._subscribers.discard(subscriber)

    def _wake(self) -> None:
        for subscriber in self._subscribers:
            subscriber.changed.set()


class ScrollbackSubscriber:
    """The position of one client. `next_piece` waits for output and returns it."""

    def __init__(self, scrollback: Scrollback, epoch: int | None, offset: int) -> None:
        self.changed = asyncio.Event()
        self._scrollback = scrollback
        self._sent_end = False
        self._acked: int | None = None
        self._missed: Why | None = None
        self.epoch = scrollback.epoch
        if epoch is None:
            self.position = scrollback.beginning()
        elif scrollback.has(epoch, offset):
            self.position = offset
        else:
            self._missed = "restarted" if epoch != scrollback.epoch else "unknown_offset"
            self.position = scrollback.tail()

    def ack(self, epoch: int, offset: int) -> None:
        """Acknowledge output: a client that does so is not sent much more than it has acknowledged."""
        if epoch == self.epoch and (self._acked or 0) <= offset <= self.position:
            self._acked = offset
            self.changed.set()

    async def next_piece(self) -> Piece:
        while True:
            self.changed.clear()
            piece = self._next()
            if piece is not None:
                return piece
            await self.changed.wait()

    def close(self) -> None:
        self._scrollback.unsubscribe(self)

    def _next(self) -> Piece | None:
        scrollback = self._scrollback
        if self._missed is not None:
            why, self._missed = self._missed, None
            return ScrollbackReset(self.epoch, self.position, why)
        if scrollback.epoch != self.epoch:
            self.epoch, self._sent_end = scrollback.epoch, False
            return self._reset("restarted")
        if self.position < scrollback.start:
            return self._reset("behind")
        if self.position < scrollback.end and self._room():
            output = TerminalOutput(self.position, scrollback.read(self.position, min(PIECE, self._room())))
            self.position += len(output.data)
            return output
        if self.position == scrollback.end and scrollback.exited is not None and not self._sent_end:
            self._sent_end = True
            return scrollback.exited
        return None

    def _room(self) -> int:
        if self._acked is None:
            return PIECE
        return max(MOST - (self.position - self._acked), 0)

    def _reset(self, why: Why) -> ScrollbackReset:
        self.position = self._scrollback.tail()
        self._acked = None if self._acked is None else self.position
        return ScrollbackReset(self.epoch, self.position, why)
