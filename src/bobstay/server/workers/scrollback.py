"""The last of what a terminal said, by absolute offset, and those who follow it each at their own speed.

Nobody is waited for and nothing grows: a follower that falls behind further than is kept goes on at the newest
screenful, and is told so. A restarted terminal begins a new epoch, in which offsets begin at nothing again (FM-6).
"""

import asyncio
from typing import Literal, TypeAlias

from msgspec import Struct

MOST = 1024 * 1024
"""Bytes kept, and how far a follower may be behind."""
TAIL = 64 * 1024
"""What a follower gets that could not go on where it was."""
PIECE = 64 * 1024

Why: TypeAlias = Literal["restarted", "behind", "unknown_offset"]


class ScrollbackReset(Struct, frozen=True):
    """What came so far is to be forgotten: this is another terminal, or a part is missing."""

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
        """Offset of the first byte that is kept."""
        self.exited: TerminalExited | None = None
        self.most = most
        self._kept = bytearray()
        self._followers: set[ScrollbackFollower] = set()

    @property
    def end(self) -> int:
        """Offset behind the last byte."""
        return self.start + len(self._kept)

    def add(self, data: bytes) -> None:
        self._kept += data
        over = len(self._kept) - self.most
        if over > 0:
            del self._kept[:over]
            self.start += over
        self._wake()

    def renew(self, epoch: int) -> None:
        """Another terminal from here on."""
        self.epoch, self.start, self.exited = epoch, 0, None
        self._kept.clear()
        self._wake()

    def finish(self, exited: TerminalExited) -> None:
        self.exited = exited
        self._wake()

    def read(self, offset: int, most: int = PIECE) -> bytes:
        place = offset - self.start
        return bytes(self._kept[place : place + most]) if place >= 0 else b""

    def tail(self) -> int:
        """Where to begin if only the newest is wanted."""
        return self._line(max(len(self._kept) - TAIL, 0))

    def beginning(self) -> int:
        """Where to begin if all is wanted that is kept."""
        return self._line(0)

    def _line(self, place: int) -> int:
        """The offset of the first line that begins at `place` or after it; of `place` itself if none does."""
        if not place and not self.start:
            return 0
        line = self._kept.find(b"\n", place)
        return self.start + (line + 1 if line >= 0 else place)

    def has(self, epoch: int, offset: int) -> bool:
        return epoch == self.epoch and self.start <= offset <= self.end

    def follow(self, epoch: int | None = None, offset: int = 0) -> "ScrollbackFollower":
        """Follow from where a client says it is; from the beginning of what is kept if it says nothing."""
        follower = ScrollbackFollower(self, epoch, offset)
        self._followers.add(follower)
        return follower

    def leave(self, follower: "ScrollbackFollower") -> None:
        self._followers.discard(follower)

    def _wake(self) -> None:
        for follower in self._followers:
            follower.changed.set()


class ScrollbackFollower:
    """One client's place. `take` gives what comes next and waits where there is nothing."""

    def __init__(self, scrollback: Scrollback, epoch: int | None, offset: int) -> None:
        self.changed = asyncio.Event()
        self._scrollback = scrollback
        self._told_end = False
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
        """A client that tells what it has shown is not sent more than it can hold beyond that."""
        if epoch == self.epoch and (self._acked or 0) <= offset <= self.position:
            self._acked = offset
            self.changed.set()

    async def take(self) -> Piece:
        while True:
            self.changed.clear()
            piece = self._next()
            if piece is not None:
                return piece
            await self.changed.wait()

    def close(self) -> None:
        self._scrollback.leave(self)

    def _next(self) -> Piece | None:
        scrollback = self._scrollback
        if self._missed is not None:
            why, self._missed = self._missed, None
            return ScrollbackReset(self.epoch, self.position, why)
        if scrollback.epoch != self.epoch:
            self.epoch, self._told_end = scrollback.epoch, False
            return self._reset("restarted")
        if self.position < scrollback.start:
            return self._reset("behind")
        if self.position < scrollback.end and self._room():
            output = TerminalOutput(self.position, scrollback.read(self.position, min(PIECE, self._room())))
            self.position += len(output.data)
            return output
        if self.position == scrollback.end and scrollback.exited is not None and not self._told_end:
            self._told_end = True
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
