"""Reads and writes the frames of the wire as lines of standard input and output."""

import asyncio
import os
import select
import threading
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from bobstay.wire.line_limit import encode_line
from bobstay.wire.wire_frames import Frame

_PIECE = 1 << 20


class HostGoneError(Exception):
    """The host has closed its end of our output."""


class BadLineError(Exception):
    """A line is not a JSON object. The text says what is wrong with it."""


class FrameWriter:
    """Writes each frame as one complete line, at once."""

    def __init__(self, descriptor: int = 1) -> None:
        self._descriptor = descriptor

    def send(self, frame: Frame) -> None:
        """Raises HostGoneError if the other end is closed."""
        self.write(encode_line(frame) + b"\n")

    def write(self, data: bytes) -> None:
        """Write all of `data`, waiting while the other end is not ready."""
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self._descriptor, view) :]
            except BlockingIOError:
                # Another process made the shared file description non-blocking: wait as if it were not.
                select.select([], [self._descriptor], [])
            except (BrokenPipeError, ConnectionResetError) as error:
                raise HostGoneError from error


class LineReader:
    """Reads the lines of a descriptor in a thread of its own.

    A thread works for pipes, files, terminals and sockets alike, leaves the descriptor's flags alone, and continues to
    read while this side is blocked writing, so a host that writes before it reads causes no deadlock.
    """

    def __init__(self, descriptor: int = 0) -> None:
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        threading.Thread(target=self._read, name="stdin", daemon=True).start()

    async def lines(self) -> AsyncIterator[bytes]:
        """Yield every line that is not blank, until the end of input."""
        while (line := await self._lines.get()) is not None:
            yield line

    def _read(self) -> None:
        pieces: list[bytes] = []
        while piece := self._piece():
            *whole, rest = piece.split(b"\n")
            for line in whole:
                pieces.append(line)
                self._hand_over(b"".join(pieces))
                pieces = []
            if rest:
                pieces.append(rest)
        self._hand_over(b"".join(pieces))
        self._call(None)

    def _piece(self) -> bytes:
        try:
            return os.read(self._descriptor, _PIECE)
        except OSError:
            # A closed or unreadable input counts as an empty one.
            return b""

    def _hand_over(self, line: bytes) -> None:
        if line := line.strip():
            self._call(line)

    def _call(self, line: bytes | None) -> None:
        try:
            self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
        except RuntimeError:
            # The loop is closed: the session is over.
            return


def parse_line(line: bytes) -> dict[str, Any]:
    """Return the JSON object in a line.

    Raises:
        BadLineError: the line is not a JSON object.
    """
    try:
        frame = msgspec.json.decode(line)
    except RecursionError as error:
        raise BadLineError(f"Error parsing streaming input line ({len(line)} bytes): nested too deeply") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        frame = _lenient(line)
        if frame is None:
            raise BadLineError(f"Error parsing streaming input line ({len(line)} bytes): {error}") from error
    if not isinstance(frame, dict):
        raise BadLineError(f"Error parsing streaming input line ({len(line)} bytes): expected a JSON object")
    return frame


def _lenient(line: bytes) -> Any:
    """Parse a line that escapes a lone surrogate, as writers in other languages do; None if it is still invalid."""
    import json

    try:
        return msgspec.json.decode(json.dumps(json.loads(line), ensure_ascii=False).encode(errors="replace"))
    except (ValueError, RecursionError):
        return None
