"""A command from its start until the last process it left is gone."""

import asyncio
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from bobstay.model.background_events import BackgroundEnded, BackgroundStarted, BackgroundStatus
from bobstay.redaction.redactor import Redactor
from bobstay.system.capture import Capture, HeadAndTail
from bobstay.system.child_process import Child, watch_orphan
from bobstay.tools.base import ToolError
from bobstay.tools.live_output import LiveOutput
from bobstay.tools.shell_line import last_directory, out_of_the_way, remove_script, shell_arguments

if TYPE_CHECKING:
    from bobstay.permissions.sandbox.launch import SandboxedCommand, SandboxEntry
    from bobstay.permissions.sandbox.quarantine import Moved

Status: TypeAlias = Literal["running", "completed", "failed", "killed"]
Tell: TypeAlias = Literal["wake", "next_turn", "no"]
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


class ShellJob:
    """One command: run in the foreground, in the background, or first the one and then the other."""

    def __init__(
        self, command: str, description: str, spill: Path, mask: Redactor | None = None, call_id: str = ""
    ) -> None:
        """`mask`: takes out of the output what nobody is to see, before it goes anywhere."""
        self.id = "b" + "".join(_DIGITS[byte % 36] for byte in os.urandom(8))
        self.command = command
        self.call_id = call_id
        self.description = description
        self.output = Capture(spill / f"{self.id}.output")
        """Both streams in the order they came; stdout and stderr alone are kept only for display."""
        self.streams = {1: HeadAndTail(16_384, 16_384), 2: HeadAndTail(16_384, 16_384)}
        from bobstay.redaction.byte_redactor import ByteStream  # not before the first command

        mask = mask or Redactor()
        self.masked = {1: ByteStream(mask), 2: ByteStream(mask)}
        self.status: Status = "running"
        self.code: int | None = None
        """The shell's exit code, or minus a signal. A job may run on after its shell: what it left behind does."""
        self.cwd = ""
        """Where the shell stood when it ended, if it told."""
        self.background = False
        self.left_behind = False
        """Its shell had ended in the foreground, and other processes of it went on."""
        self.sandboxed = False
        """It runs, or ran, in the sandbox."""
        self.aside: tuple[Moved, ...] = ()
        """What it made there and programs outside would have obeyed."""
        self.read = 0
        """How many bytes of output were handed out already."""
        self.tell: Tell = "wake"
        """Whether the model is to be told of its end: see `BackgroundEnded.tell`."""
        self.began = time.monotonic()
        self.last_output = self.began
        loop = asyncio.get_running_loop()
        self.shell_ended: asyncio.Future[None] = loop.create_future()
        self.finished: asyncio.Future[None] = loop.create_future()
        """The shell and all that came from it are gone."""
        self.detached: asyncio.Future[None] = loop.create_future()
        """A person wants it in the background."""

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    @property
    def quiet(self) -> float:
        """Seconds since it last printed something."""
        return time.monotonic() - self.last_output

    @property
    def title(self) -> str:
        return self.description or " ".join(self.command.split())[:120]

    def started_event(self) -> BackgroundStarted:
        return BackgroundStarted(self.id, self.call_id, self.title, str(self.output.path), not self.left_behind)

    def ended_event(self) -> BackgroundEnded:
        """To be asked for when it is over."""
        status: BackgroundStatus = "killed" if self.status == "running" else self.status
        code = self.code if self.code is None or self.code >= 0 else 128 - self.code
        return BackgroundEnded(self.id, self.call_id, self.title, status, code, str(self.output.path), self.tell)


class JobProcess:
    """What keeps a job going: its process and the pipe by which the shell tells where it stands."""

    def __init__(
        self,
        job: ShellJob,
        live: LiveOutput | None,
        grace: float,
        gone: Callable[[ShellJob], None],
        *,
        linger: float = 0.02,
    ) -> None:
        self._job = job
        self._live = live
        self._grace = grace
        self._linger = linger
        self._gone = gone
        self._loop = asyncio.get_running_loop()
        self._stopping: asyncio.Task[None] | None = None
        self._watched: set[int] = set()
        self._told = b""
        self._entry: SandboxedCommand | None = None

    def start(
        self,
        cwd: Path,
        environment: dict[str, str],
        mark: str,
        entering: "SandboxEntry | None" = None,
    ) -> None:
        """Start the shell, wrapped by `entering` if it is to run in a sandbox."""
        try:
            self._reader, writer = os.pipe()
        except OSError as error:
            raise ToolError(f"The command could not be started: {error}") from None
        high = out_of_the_way(writer)
        try:
            command = shell_arguments(
                self._job.command,
                environment.get("PATH", ""),
                high,
                self._job.output.path,
                contained=entering is not None and entering.contained,
            )
            keep: tuple[int, ...] = (high,)
            if entering is not None:
                self._entry = entering.enter(command, str(cwd), environment)
                self._job.sandboxed = True
                command, environment = self._entry.command, self._entry.environment
                keep = (high, *self._entry.keep)
            self.child = Child(
                command, cwd=str(cwd), environment=environment, receive=self._receive, mark=mark, keep=keep
            )
        except (OSError, ValueError, ToolError) as error:
            os.close(self._reader)
            self._leave()
            raise ToolError(f"The command could not be started: {error}") from None
        finally:
            os.close(high)
            if self._entry is not None:
                self._entry.started()
        os.set_blocking(self._reader, False)
        self._loop.add_reader(self._reader, self._listen)
        self.child.ended.add_done_callback(self._shell_ended)

    def quiet(self) -> None:
        """No more live output."""
        if self._live is not None:
            self._live.close()
            self._live = None

    async def stop(self, status: Status) -> None:
        if self._job.finished.done():
            return
        if self._stopping is None:
            self._stopping = self._loop.create_task(self._end(status))
        try:
            await asyncio.shield(self._stopping)
        except asyncio.CancelledError:
            self.child.family.kill()
            raise

    async def _end(self, status: Status) -> None:
        self._job.status = status
        if self._entry is not None and self._entry.contained:
            await self._ask_inside()
        await self.child.end(self._grace)
        self._finish()

    async def _ask_inside(self) -> None:
        """Let what runs in the sandbox end by itself. Its outermost process is not asked: all would die with it."""
        _, *others = self.child.family.members() or [0]
        for pid in others[1:]:  # the first of them is that of the process namespace, which no signal but one reaches
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGTERM)
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(self.child.ended), self._grace)

    def _receive(self, number: int, data: bytes) -> None:
        if data := self._job.masked[number].feed(data):
            self._keep(number, data)

    def _keep(self, number: int, data: bytes) -> None:
        self._job.last_output = time.monotonic()
        self._job.output.add(data)
        self._job.streams[number].add(data)
        if self._live is not None:
            self._live.add(data)

    def _listen(self) -> None:
        with suppress(BlockingIOError):
            data = os.read(self._reader, 65_536)
            if data:
                self._told = (self._told + data)[-16_384:]
            else:
                self._loop.remove_reader(self._reader)

    def _shell_ended(self, ended: asyncio.Future[int]) -> None:
        job = self._job
        job.code = ended.result()
        self._listen()
        self._loop.remove_reader(self._reader)
        os.close(self._reader)
        job.cwd = last_directory(self._told)
        if self._stopping is not None:
            return
        contained = self._entry is not None and self._entry.contained  # then what still lives is being killed
        if self._check_orphans() and not job.background and not contained:
            self._loop.call_later(self._linger, self._leave_behind)  # many are about to end: `tee` behind `>( )`, say

    def _leave_behind(self) -> None:
        if not self._job.shell_ended.done():
            self.child.drain()
            self._job.shell_ended.set_result(None)

    def _check_orphans(self) -> bool:
        """Tell whether processes of the job outlived its shell; watch those, and finish when there are none."""
        if self._job.finished.done() or self._stopping is not None:
            return False
        orphans = self.child.family.orphans()
        if not orphans:
            self._finish()
            return False
        if self.child.pid in orphans:  # only the group is known: look again by and by
            self._loop.call_later(0.2, self._check_orphans)
            return True
        for pid in orphans:
            if pid not in self._watched:
                self._watched.add(pid)
                watch_orphan(pid, self._orphan_ended)
        return True

    def _orphan_ended(self) -> None:
        self._check_orphans()

    def _finish(self) -> None:
        job = self._job
        if job.finished.done():
            return
        self.child.drain()
        self.child.close()
        for number, masked in job.masked.items():
            if rest := masked.flush():
                self._keep(number, rest)
        self.quiet()
        if job.background:
            job.output.close()
        remove_script(job.command, job.output.path)
        if job.status == "running":
            job.status = "failed" if job.code else "completed"
        self._leave()
        for future in (job.shell_ended, job.finished):
            if not future.done():
                future.set_result(None)
        self._gone(job)

    def _leave(self) -> None:
        """Take back what the sandbox put on the disk."""
        if self._entry is not None:
            self._entry.ended(lasting=self._job.background)
            self._job.aside = self._entry.aside
            self._entry = None
