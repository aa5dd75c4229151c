"""Starts a process in a session of its own and reports its output and its end.

`subprocess.Popen` starts it: without a function to run before exec it uses vfork, which is the fastest way here (about
1.2 ms for a shell, whatever the flags). Its end is reported by a process descriptor on the event loop; a thread waits
where the system has none. The process counts as ended when it exits, not when its pipes are closed: background
processes it left may keep those open.
"""

import asyncio
import fcntl
import os
import signal
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from io import FileIO

from bobstay.system.process_marker import tag_children
from bobstay.system.process_tree import ProcessTree, become_reaper, reap

_PIECE = 1 << 18
_SET_PIPE_SIZE = 1031
"""F_SETPIPE_SZ, which Python 3.11 does not always name."""


class Child:
    """A running process, the pipes it writes to, and the tree of its descendants."""

    def __init__(  # noqa: PLR0913 - what to run, where, with what, and how its output is received
        self,
        command: Sequence[str],
        *,
        cwd: str,
        environment: dict[str, str],
        receive: Callable[[int, bytes], None],
        mark: str = "",
        stdin: int | FileIO = subprocess.DEVNULL,
        keep: tuple[int, ...] = (),
        piece: int = _PIECE,
    ) -> None:
        """Start `command`. Output is passed to `receive(1 or 2, bytes)`; descriptors in `keep` are inherited.

        At most `piece` bytes are received in one iteration of the event loop; a faster process has to wait.

        Raises:
            OSError: it could not be started.
        """
        become_reaper()  # before the start: orphans must become our children from the first moment
        self._loop = asyncio.get_running_loop()
        self._receive = receive
        self._piece = piece
        self._pipes: dict[int, int] = {}
        self.ended: asyncio.Future[int] = self._loop.create_future()
        """Its exit code, or the negative signal number, set after its output was received."""
        readers, writers = _two_pipes()
        try:
            with tag_children(mark):
                self._popen = subprocess.Popen(
                    command,
                    cwd=cwd,
                    env=environment,
                    stdin=stdin,
                    stdout=writers[0],
                    stderr=writers[1],
                    pass_fds=keep,
                    start_new_session=True,
                )
        except BaseException:
            for reader in readers:
                os.close(reader)
            raise
        finally:
            for writer in writers:
                os.close(writer)
        self.pid = self._popen.pid
        self.tree = ProcessTree(self.pid, mark, frozenset(_pipe_names(readers)))
        for number, reader in enumerate(readers, start=1):
            self._listen(number, reader)
        watch_exit(self.pid, self._exited, self._wait)

    async def end(self, grace: float = 0.5) -> None:
        """End the process and all its descendants: terminate, then kill. If cancelled, it kills at once."""
        try:
            self.tree.signal(signal.SIGTERM)
            await self._until_gone(grace)
        finally:
            self.tree.kill()
        await self._until_gone(2.0)

    def drain(self) -> None:
        """Receive what is already in the pipes, but nothing that arrives later."""
        for number, reader in list(self._pipes.items()):
            waiting = int.from_bytes(fcntl.ioctl(reader, termios.FIONREAD, b"\0" * 4), sys.byteorder)
            while waiting > 0 and number in self._pipes:
                waiting -= self._read(number, reader)

    def pause(self, number: int) -> None:
        """Receive nothing more of an output until `resume`: a process that writes more has to wait."""
        if number in self._pipes:
            self._loop.remove_reader(self._pipes[number])

    def resume(self, number: int) -> None:
        if number in self._pipes:
            reader = self._pipes[number]
            self._loop.add_reader(reader, self._read, number, reader)

    def close(self) -> None:
        """Stop listening."""
        for number in list(self._pipes):
            self._close(number)

    async def _until_gone(self, limit: float) -> None:
        deadline = self._loop.time() + limit
        pause = 0.002
        while self._loop.time() < deadline:
            if self.ended.done() and not self.tree.members():
                return
            await asyncio.sleep(pause)
            pause = min(pause * 2, 0.05)
            if limit > 1.0:
                self.tree.kill(1)

    def _listen(self, number: int, reader: int) -> None:
        os.set_blocking(reader, False)
        if sys.platform.startswith("linux"):
            with suppress(OSError):  # the user's limit of pipe memory may be reached; the default size works too
                fcntl.fcntl(reader, _SET_PIPE_SIZE, self._piece)
        self._pipes[number] = reader
        self._loop.add_reader(reader, self._read, number, reader)

    def _read(self, number: int, reader: int) -> int:
        try:
            data = os.read(reader, self._piece)
        except BlockingIOError:
            return 1
        except OSError:
            data = b""
        if data:
            self._receive(number, data)
        else:
            self._close(number)
        return len(data)

    def _close(self, number: int) -> None:
        reader = self._pipes.pop(number)
        self._loop.remove_reader(reader)
        os.close(reader)

    def _exited(self) -> None:
        code = self._popen.poll()
        self.drain()
        if not self.ended.done():
            self.ended.set_result(0 if code is None else code)

    def _wait(self) -> None:
        self._popen.wait()


def watch_exit(pid: int, call: Callable[[], None], wait: Callable[[], object] | None = None) -> None:
    """Call `call` on the running event loop when the child `pid` has ended. A thread uses `wait` if needed."""
    loop = asyncio.get_running_loop()
    if hasattr(os, "pidfd_open"):
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            loop.call_soon(call)
            return
        except OSError:
            pass
        else:
            loop.add_reader(handle, _on_readable, loop, handle, call)
            return

    def wait_in_thread() -> None:
        (wait or (lambda: os.waitpid(pid, 0)))()
        with suppress(RuntimeError):  # the loop may be closed by now
            loop.call_soon_threadsafe(call)

    threading.Thread(target=wait_in_thread, daemon=True).start()


def watch_orphan(pid: int, call: Callable[[], None]) -> None:
    """Like `watch_exit`, for an orphan that became our child: it is reaped before the call."""

    def ended() -> None:
        reap(pid)
        call()

    watch_exit(pid, ended)


def find_program(name: str, path: str) -> str:
    """Return the first executable called `name` in the absolute directories of `path`, or ""."""
    for directory in path.split(os.pathsep):
        candidate = os.path.join(directory, name)
        if directory.startswith("/") and os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            return candidate
    return ""


def _two_pipes() -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the reading and the writing ends of two new pipes."""
    first_reader, first_writer = os.pipe()
    try:
        second_reader, second_writer = os.pipe()
    except OSError:
        os.close(first_reader)
        os.close(first_writer)
        raise
    return (first_reader, second_reader), (first_writer, second_writer)


def _on_readable(loop: asyncio.AbstractEventLoop, handle: int, call: Callable[[], None]) -> None:
    loop.remove_reader(handle)
    os.close(handle)
    call()


def _pipe_names(readers: Sequence[int]) -> list[str]:
    if not sys.platform.startswith("linux"):
        return []
    return [f"pipe:[{os.fstat(reader).st_ino}]" for reader in readers]
