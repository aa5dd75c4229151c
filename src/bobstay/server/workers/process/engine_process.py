"""One process of an external engine: what is written to it, what comes from it, and how it is made to end."""

import asyncio
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from msgspec import Struct

from bobstay.server.workers.worker import WorkerError
from bobstay.system.child_process import Child, find_program
from bobstay.system.watchdog import guard

SPAWN_ERRORS = (OSError, ValueError)
"""A program that does not start; a NUL byte or half a character among its arguments."""

PIECE = 16 * 1024
"""Bytes of its output that are worked off before everybody else has a turn: some tens of events."""


class ShutdownTimeouts(Struct, frozen=True):
    """Seconds a process is given after each step of being asked to end."""

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
        """Start it, in a session of its own, to end with us.

        Raises:
            WorkerError: it does not start; the text says why and what to do.
        """
        guard()
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
            raise WorkerError(why_not(error, command[0], cwd)) from error
        finally:
            if live:
                os.close(stdin)
        self.pid = self.child.pid
        self.ended = self.child.ended

    async def open_input(self) -> None:
        """Raises nothing: a process that is gone already has an input nobody reads."""
        if self._to is not None:
            file = os.fdopen(self._to, "wb", buffering=0)
            self._to = None
            loop = asyncio.get_running_loop()
            self._writer, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, file)

    def write(self, data: bytes) -> bool:
        """Hand over a line; false if the process takes no more (S003-17)."""
        if self._writer is None or self._writer.is_closing():
            return False
        self._writer.write(data)
        return True

    def close_input(self) -> None:
        if self._writer is not None:
            self._writer.close()

    def signal(self, number: int) -> None:
        """Send a signal: SIGINT to the process alone, as a terminal's user would mean it; others to all it started."""
        if number != signal.SIGINT:
            self.child.family.signal(number)
        elif not self.ended.done():
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    async def gone(self, patience: float) -> bool:
        await asyncio.wait([self.ended], timeout=patience)
        return self.ended.done()

    def kill(self) -> None:
        """Kill it and all that came from it, at once (FM-29)."""
        self.child.family.kill()

    async def clear(self) -> None:
        """It has ended: so does everything it left behind."""
        writer = self._writer
        if writer is not None and (not writer.is_closing() or writer.get_write_buffer_size()):
            writer.abort()
        if self._to is not None:
            os.close(self._to)
            self._to = None
        await self.child.end()
        self.child.close()


def program_of(command: Sequence[str], path: str) -> str:
    """Where the program of a command is.

    Raises:
        WorkerError: nowhere.
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
    WorkerError: nobody can work there.
    """
    if not os.path.isdir(cwd):
        raise WorkerError(f"The directory {cwd} does not exist any more. Make it again, or begin a session elsewhere.")
    if not os.access(cwd, os.X_OK):
        raise WorkerError(f"The directory {cwd} cannot be entered: its permissions forbid it.")


def why_not(error: Exception, program: str, cwd: str) -> str:
    if isinstance(error, OSError):
        if error.errno == 7:
            return "The prompt or the instructions are too long for a command line. Run the session live instead."
        return f"{program} could not be started in {cwd}: {error.strerror}."
    return f"{program} could not be started: its arguments hold what no program can be given ({error})."
