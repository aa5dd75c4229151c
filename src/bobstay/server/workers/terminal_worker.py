"""Terminal worker: a shell, or a command chosen by the server, in a pseudo-terminal of its own.

Its output is kept in bounded memory and never stored; only its start and end are in the session's log.
"""

import asyncio
import fcntl
import logging
import os
import pty
import signal
import struct
import subprocess
import termios
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Literal

from bobstay.config.secret_variables import remove_secrets
from bobstay.model.event import Durable
from bobstay.model.session_events import WorkerExited, WorkerStarted
from bobstay.server.errors import ApiError
from bobstay.server.sessions.orphan_sweep import start_moment
from bobstay.server.workers.scrollback import Scrollback, ScrollbackSubscriber, TerminalExited
from bobstay.server.workers.terminal_command import resolve_command
from bobstay.server.workers.terminal_escapes import EscapeFilter
from bobstay.server.workers.worker import Kind, WorkerError
from bobstay.sessions.log import LogError
from bobstay.system.child_process import watch_exit
from bobstay.system.process_marker import tag_children
from bobstay.system.process_tree import MARK, ProcessTree, become_reaper
from bobstay.system.watchdog import mark_of_this_process, start_watchdog

log = logging.getLogger(__name__)
COLUMNS, ROWS = 80, 24
MOST_SIDE = 1_000
MOST_INPUT = 1024 * 1024
"""Bytes of input that the program has not read yet."""
BURST = 128 * 1024
"""Bytes read from the terminal at a time; then other tasks get their turn, and the program waits."""
PAUSE = 0.01
GRACE = 0.5
_ATTACH = 'exec "$@" 0<>"$0" 1>&0 2>&0'
"""A session leader that opens a terminal gets it as its controlling terminal, without code between fork and exec."""
_INTERRUPT = b"\x03"

Record = Callable[[Durable], object]
"""Stores an event in the session's log."""


class TerminalWorker:
    kind: Kind = "terminal"

    def __init__(  # noqa: PLR0913 - what runs where, for whom, and where that is noted
        self,
        id: str,
        epoch: int,
        session_id: str,
        record: Record,
        *,
        cwd: str,
        environment: Mapping[str, str],
        command: Sequence[str] = (),
        engine_session: str = "",
        granted: Mapping[str, str] | None = None,
    ) -> None:
        """`environment` is passed on without its secrets, `granted` unchanged. Without a `command` it is a shell.

        `engine_session` is the conversation that the command resumes, if any.
        """
        self.id = id
        self.epoch = epoch
        self.session_id = session_id
        self.engine_session = engine_session
        self.scrollback = Scrollback(epoch)
        self.pid = 0
        self.size = (COLUMNS, ROWS)
        self._record = record
        self._cwd = cwd
        self._command = tuple(command)
        self._inherited = environment.get(MARK, "")
        self._environment = remove_secrets(environment) | (dict(granted) if granted else {})
        self._master = self._slave = -1
        self._pending = bytearray()
        self._filter = EscapeFilter()
        self._tree: ProcessTree | None = None
        self._popen: subprocess.Popen[bytes] | None = None
        self._ended: asyncio.Future[int] | None = None
        self._ending: asyncio.Task[None] | None = None
        self._why: Literal["exit", "stopped", "asleep", "killed"] = "exit"
        self._timer: asyncio.TimerHandle | None = None
        self._started = False

    # ------------------------------------------------------------ as a worker

    async def start(self) -> None:
        """Start the terminal; a restart is another terminal with the next epoch.

        Raises:
            WorkerError: it cannot be started.
        """
        if self.alive():
            raise WorkerError("This terminal is already open.")
        if self._started:
            self.epoch += 1
        self._started = True
        self.scrollback.renew(self.epoch)
        try:
            command = resolve_command(self._command, self._cwd, self._environment)
            self._spawn(command)
        except (OSError, WorkerError) as error:
            self._close()
            text = f"The terminal could not be started: {error.strerror}." if isinstance(error, OSError) else str(error)
            self._note(WorkerExited(self.id, "terminal", self.epoch, why="not_started", error=text))
            raise WorkerError(text) from None
        moment, conversation = start_moment(self.pid), self.engine_session
        self._note(WorkerStarted(self.id, "terminal", self.epoch, self.pid, moment, conversation, command))

    async def stop(self, why: Literal["stopped", "asleep", "killed"] = "stopped") -> None:
        if self._ended is None:
            return
        if not self._ended.done():
            self._why = why
            await self._end_tree()
        if self._ending is not None:
            await asyncio.shield(self._ending)

    def alive(self) -> bool:
        return self._ended is not None and not self._ended.done()

    # ------------------------------------------------------------ as a terminal

    def subscribe(self, epoch: int | None = None, offset: int = 0) -> ScrollbackSubscriber:
        return self.scrollback.subscribe(epoch, offset)

    def write(self, data: bytes) -> None:
        """Write input. Unread input is queued; an interrupt discards it, as a terminal does.

        Raises:
            ApiError: wrong_state if it has ended, too_many if too much is queued.
        """
        if not self.alive():
            raise ApiError("wrong_state", "The terminal has ended. Start it again to continue.")
        if self._pending and data == _INTERRUPT and self._interrupt():
            return
        if len(self._pending) + len(data) > MOST_INPUT:
            raise ApiError("too_many", "The program does not read its input; nothing more is accepted for now.")
        self._pending += data
        self._send()

    def _interrupt(self) -> bool:
        """Drop unread input, behind which an interrupt would never arrive, and signal the program directly."""
        self._pending.clear()
        with suppress(OSError, termios.error):
            termios.tcflush(self._slave, termios.TCIFLUSH)
            if termios.tcgetattr(self._slave)[3] & termios.ISIG:
                os.killpg(os.tcgetpgrp(self._master), signal.SIGINT)
                return True
        return False

    def resize(self, columns: int, rows: int) -> None:
        """Raises:
        ApiError: invalid.
        """
        if not (1 <= columns <= MOST_SIDE and 1 <= rows <= MOST_SIDE):
            raise ApiError("invalid", f"A terminal has 1 to {MOST_SIDE} columns and rows.")
        self.size = (columns, rows)
        if self._master >= 0:
            _set_size(self._master, columns, rows)

    def redraw(self) -> None:
        """Make a full-screen program redraw, for a client that missed output."""
        if self._master >= 0:
            with suppress(OSError):
                os.killpg(os.tcgetpgrp(self._master), signal.SIGWINCH)

    # ------------------------------------------------------------ inside

    def _spawn(self, command: tuple[str, ...]) -> None:
        loop = asyncio.get_running_loop()
        become_reaper()
        start_watchdog(self._inherited)
        self._master, self._slave = pty.openpty()
        os.set_blocking(self._master, False)
        _set_size(self._master, *self.size)
        name = os.ttyname(self._slave)
        mark = f"{mark_of_this_process()}:{self.session_id}:{self.id}"
        environment = self._environment | {
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            MARK: f"{self._inherited}/{mark}" if self._inherited else mark,
        }
        for misleading in ("COLUMNS", "LINES", "TERMCAP", "TMUX", "STY"):
            environment.pop(misleading, None)
        with tag_children(mark):
            self._popen = subprocess.Popen(
                ["/bin/sh", "-c", _ATTACH, name, *command],
                cwd=self._cwd,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        self.pid = self._popen.pid
        self._tree = ProcessTree(self.pid, mark, frozenset({name}))
        self._filter, self._why = EscapeFilter(), "exit"
        self._pending.clear()
        self._ended, self._ending = loop.create_future(), None
        loop.add_reader(self._master, self._read)
        watch_exit(self.pid, self._exited, self._popen.wait)

    def _read(self) -> None:
        """Read available output, but not more than a burst: a program that floods has to wait."""
        taken = 0
        pieces: list[bytes] = []
        while taken < BURST:
            try:
                data = os.read(self._master, BURST)
            except OSError:  # no more output for now, or the terminal is closed
                break
            if not data:
                break
            pieces.append(data)
            taken += len(data)
        if pieces:
            self._show(b"".join(pieces))
        if taken >= BURST:
            loop = asyncio.get_running_loop()
            loop.remove_reader(self._master)
            self._timer = loop.call_later(PAUSE, self._resume)

    def _resume(self) -> None:
        self._timer = None
        if self._master >= 0:
            asyncio.get_running_loop().add_reader(self._master, self._read)

    def _show(self, data: bytes) -> None:
        shown = self._filter.feed(data)
        if shown:
            self.scrollback.add(shown)

    def _send(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while self._pending:
                written = os.write(self._master, self._pending[:4096])
                del self._pending[:written]
        except BlockingIOError:
            loop.add_writer(self._master, self._send)
            return
        except OSError:
            self._pending.clear()
        loop.remove_writer(self._master)

    async def _end_tree(self) -> None:
        """Hang up on the whole process tree, then kill what remains."""
        assert self._tree is not None
        tree, loop = self._tree, asyncio.get_running_loop()
        try:
            if self._why != "killed":
                tree.signal(signal.SIGHUP)
                tree.signal(signal.SIGCONT)
                await self._until_gone(tree, loop.time() + GRACE)
        finally:
            tree.kill()
        await self._until_gone(tree, loop.time() + 2.0, kill=True)

    async def _until_gone(self, tree: ProcessTree, deadline: float, *, kill: bool = False) -> None:
        loop = asyncio.get_running_loop()
        pause = 0.002
        while loop.time() < deadline:
            if (self._ended is None or self._ended.done()) and not tree.members():
                return
            await asyncio.sleep(pause)
            pause = min(pause * 2, 0.05)
            if kill:
                tree.kill(1)

    def _exited(self) -> None:
        """The shell has ended: end its remaining processes, because the terminal closes."""
        assert self._popen is not None
        assert self._ended is not None
        code = self._popen.poll()
        if not self._ended.done():
            self._ended.set_result(0 if code is None else code)
        self._ending = asyncio.get_running_loop().create_task(self._finish(0 if code is None else code))

    async def _finish(self, code: int) -> None:
        assert self._tree is not None
        self._tree.kill()
        await self._until_gone(self._tree, asyncio.get_running_loop().time() + 2.0, kill=True)
        self._drain()
        self._close()
        name = signal.Signals(-code).name if code < 0 else ""
        number = code if code >= 0 else None
        self.scrollback.finish(TerminalExited(self.epoch, number, name, self._why))
        self._note(WorkerExited(self.id, "terminal", self.epoch, number, name, why=self._why))

    def _drain(self) -> None:
        """Read the last output from the terminal's buffer."""
        while True:
            try:
                data = os.read(self._master, BURST)
            except OSError:
                return
            if not data:
                return
            self._show(data)

    def _close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._master >= 0:
            loop = asyncio.get_running_loop()
            loop.remove_reader(self._master)
            loop.remove_writer(self._master)
            if self._tree is not None:
                self._tree.close_pipes()  # the next terminal may get the same name
            os.close(self._master)
            os.close(self._slave)
            self._master = self._slave = -1

    def _note(self, event: WorkerStarted | WorkerExited) -> None:
        try:
            self._record(event)
        except LogError as error:  # a terminal must work and end even if nothing can be stored
            log.warning("terminal %s of session %s: %s", self.id, self.session_id, error)


def _set_size(master: int, columns: int, rows: int) -> None:
    with suppress(OSError):
        fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
