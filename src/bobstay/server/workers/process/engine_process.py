"""One process of an external engine: its input, its output and its termination."""

import asyncio
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from msgspec import Struct

from bobstay.server.workers.worker import WorkerError
from bobstay.system.child_process import Child, find_program
from bobstay.system.watchdog import start_watchdog

SPAWN_ERRORS = (OSError, ValueError)
"""The program does not start, or an argument has a NUL byte or a lone surrogate."""

PIECE = 16 * 1024
"""Bytes of output that are processed before other tasks get their turn: some tens of events."""


class ShutdownTimeouts(Struct, frozen=True):
    """Seconds to wait after each step of ending a process."""

    word: float = 3.0
    """A request in its own protocol, or the end of its input."""
    sigint: float = 5.0
    sigterm: float = 5.0


class EngineProcess:
    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: str,
        environment: Mapping[str, str],
        mark: str,
        receive: Callable[[int, bytes], None],
        live: bool,
    ) -> None:
        """Start the process in a session of its own; it ends with the server.

        Raises:
            WorkerError: it does not start; the message says why and what to do.
        """
        start_watchdog()
        self._writer: asyncio.WriteTransport | None = None
        self._to: int | None = None
        stdin: int = subprocess.DEVNULL
        if live:
            stdin, self._to = os.pipe()
        try:
            self.child = Child(
                command,
                cwd=cwd,
                environment=dict(environment),
                receive=receive,
                mark=mark,
                stdin=stdin,
                piece=PIECE,
            )
        except SPAWN_ERRORS as error:
            if self._to is not None:
                os.close(self._to)
            raise WorkerError(spawn_error_message(error, command[0], cwd)) from error
        finally:
            if live:
                os.close(stdin)
        self.pid = self.child.pid
        self.ended = self.child.ended

    async def open_input(self) -> None:
        """Raises nothing: if the process has ended already, its input is ignored."""
        if self._to is not None:
            file = os.fdopen(self._to, "wb", buffering=0)
            self._to = None
            loop = asyncio.get_running_loop()
            self._writer, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, file)

    def write(self, data: bytes) -> bool:
        """Write a line; returns false if the input is closed."""
        if self._writer is None or self._writer.is_closing():
            return False
        self._writer.write(data)
        return True

    def close_input(self) -> None:
        if self._writer is not None:
            self._writer.close()

    def signal(self, number: int) -> None:
        """Send a signal: SIGINT to the process alone, others to its whole process tree."""
        if number != signal.SIGINT:
            self.child.tree.signal(number)
        elif not self.ended.done():
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    async def wait_ended(self, seconds: float) -> bool:
        await asyncio.wait([self.ended], timeout=seconds)
        return self.ended.done()

    def kill(self) -> None:
        """Kill the whole process tree at once."""
        self.child.tree.kill()

    async def clear(self) -> None:
        """Clean up after its end, and end the processes it left behind."""
        writer = self._writer
        if writer is not None and (not writer.is_closing() or writer.get_write_buffer_size()):
            writer.abort()
        if self._to is not None:
            os.close(self._to)
            self._to = None
        await self.child.end()
        self.child.close()


def find_engine_program(command: Sequence[str], path: str) -> str:
    """The path of the program of a command.

    Raises:
        WorkerError: it is not installed.
    """
    name = command[0]
    if os.path.isabs(name):
        if os.path.isfile(name) and os.access(name, os.X_OK):
            return name
        raise WorkerError(f"There is no program at {name}. Install it, or name another one when starting the server.")
    found = find_program(name, path)
    if not found:
        text = f"The program {name} is not installed, or not on the server's PATH. Install it, or give its full path."
        raise WorkerError(text)
    return found


def check_directory(cwd: str) -> None:
    """Raises:
    WorkerError: it does not exist, or cannot be entered.
    """
    if not os.path.isdir(cwd):
        raise WorkerError(f"The directory {cwd} no longer exists. Create it again, or start a session elsewhere.")
    if not os.access(cwd, os.X_OK):
        raise WorkerError(f"The directory {cwd} cannot be entered: its permissions forbid it.")


def spawn_error_message(error: Exception, program: str, cwd: str) -> str:
    if isinstance(error, OSError):
        if error.errno == 7:
            return "The prompt or the instructions are too long for a command line. Run the session live instead."
        return f"{program} could not be started in {cwd}: {error.strerror}."
    return f"{program} could not be started: its arguments contain invalid characters ({error})."
