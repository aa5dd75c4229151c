"""Channel to an MCP server that runs as a child process and speaks lines of JSON on its pipes."""

import asyncio
import os
from collections import deque
from collections.abc import Mapping

from bobstay.mcp.channel_transport import ChannelClosedError
from bobstay.system.child_process import Child
from bobstay.system.process_tree import MARK
from bobstay.system.watchdog import mark_of_this_process, start_watchdog

MAX_MESSAGE = 64 << 20
"""Bytes of one message. A server that sends a longer line is ended."""
_MAX_WAITING = 8 << 20
"""Bytes of messages that wait to be read; more than that, and the server has to wait."""
_MAX_STDERR = 8_000
_GRACE = 0.5
"""Seconds that a server gets to end by itself after its input is closed, and again after it is asked to."""
_NEWLINE = 10


class StdioChannel:
    """A server process. It ends with all its descendants when the channel is closed."""

    def __init__(
        self, command: list[str], *, cwd: str, environment: Mapping[str, str], session_id: str, number: int
    ) -> None:
        """Start the server. Must be called on an event loop; its first message may be sent after `open`.

        Raises:
            OSError: it could not be started.
            ValueError: the command holds a character that no command can.
        """
        process = mark_of_this_process()
        inherited = environment.get(MARK, "")
        # The first says whose it is. The second is its own: the tag of a mark has only three digits for the call, and
        # a command of the session with the same digits would take a server that lives long for its own.
        mark = f"{process}:{session_id}.mcp:{number}"
        marks = [*([inherited] if inherited else []), f"{process}:{session_id}:mcp{number}", mark]
        start_watchdog(inherited)
        self._lines: deque[bytes] = deque()
        self._waiting = 0
        self._part = bytearray()
        self._searched = 0
        self._stderr = bytearray()
        self._is_paused = False
        self._output_arrived = asyncio.Event()
        self._is_closed = False
        self._is_ended_by_us = False
        self._writer: asyncio.StreamWriter | None = None
        self.problem = ""
        """Why the channel was closed by this side."""
        reader, self._input = os.pipe()
        try:
            self.child = Child(
                command,
                cwd=cwd,
                environment={**environment, MARK: "/".join(marks)},
                receive=self._receive,
                mark=mark,
                stdin=reader,
                piece=1 << 16,
            )
        except BaseException:
            os.close(self._input)
            raise
        finally:
            os.close(reader)
        self.child.ended.add_done_callback(lambda _: self._output_arrived.set())

    @property
    def has_ended(self) -> bool:
        return self.child.ended.done()

    @property
    def stderr(self) -> str:
        """The last lines the server wrote to standard error, for people."""
        text = bytes(self._stderr).decode(errors="replace")
        return "".join(letter for letter in text if letter.isprintable() or letter == "\n").strip()

    def describe_end(self) -> str:
        """Say how the server ended by itself, with what it wrote to standard error; "" if it did not."""
        if self.problem:
            return self.problem
        if not self.has_ended or self._is_ended_by_us:
            return ""
        code = self.child.ended.result()
        how = f"it ended with exit code {code}" if code >= 0 else f"it was ended by signal {-code}"
        return f"{how}: {self.stderr[-1000:]}" if self.stderr else how

    async def receive(self) -> bytes | None:
        while True:
            if self._lines:
                line = self._lines.popleft()
                self._waiting -= len(line)
                if self._is_paused and self._waiting < _MAX_WAITING // 2:
                    self._is_paused = False
                    self.child.resume(1)
                return line
            if self.problem or self._is_closed or self.has_ended:
                return None
            self._output_arrived.clear()
            await self._output_arrived.wait()

    async def send(self, message: bytes) -> None:
        if self._is_closed or self.has_ended:
            raise ChannelClosedError("the server has ended")
        try:
            if self._writer is None:
                self._writer = await self._open_input()
            self._writer.write(message + b"\n")
            await self._writer.drain()
        except (OSError, RuntimeError) as error:
            raise ChannelClosedError("the server does not read any more") from error

    async def close(self) -> None:
        """End the server with all its descendants: close its input, ask it to end, then kill."""
        if self._is_closed:
            return
        self._is_closed = True
        self._is_ended_by_us = not self.has_ended
        self._output_arrived.set()
        try:
            self._close_input()
            await asyncio.wait([self.child.ended], timeout=_GRACE)
            if not self.has_ended or self.child.tree.orphans():
                await self.child.end(_GRACE)
        finally:
            self.child.tree.kill()
            self.child.close()

    def _close_input(self) -> None:
        """Close its input, after what was written to it: a server may wait for the last message.

        What it never reads is dropped when it ends, because that breaks the pipe.
        """
        if self._writer is not None:
            self._writer.close()
        elif self._input >= 0:
            os.close(self._input)
        self._input = -1

    async def _open_input(self) -> asyncio.StreamWriter:
        loop = asyncio.get_running_loop()
        pipe = open(self._input, "wb", buffering=0)  # noqa: SIM115, ASYNC230 - the transport closes it; nothing blocks
        transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, pipe)
        return asyncio.StreamWriter(transport, protocol, None, loop)

    def _receive(self, number: int, data: bytes) -> None:
        if number == 2:
            self._stderr += data
            del self._stderr[:-_MAX_STDERR]
            return
        if self.problem or self._is_closed:
            return
        self._part += data
        while (end := self._part.find(_NEWLINE, self._searched)) >= 0:
            line = bytes(self._part[:end]).strip()
            del self._part[: end + 1]
            self._searched = 0
            if line:
                self._lines.append(line)
                self._waiting += len(line)
        self._searched = len(self._part)
        if len(self._part) > MAX_MESSAGE:
            self._part.clear()
            self.problem = f"it sent a message of more than {MAX_MESSAGE >> 20} MiB"
        elif self._waiting > _MAX_WAITING and not self._is_paused:
            self._is_paused = True
            self.child.pause(1)
        self._output_arrived.set()
