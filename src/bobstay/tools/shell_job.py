"""One shell command, from its start until its last process has ended."""

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
from bobstay.tools.live_output import LiveOutput
from bobstay.tools.shell_line import build_shell_arguments, move_descriptor_up, parse_last_directory, remove_script
from bobstay.tools.tool_error import ToolError

if TYPE_CHECKING:
    from bobstay.permissions.sandbox.launch import SandboxedCommand, SandboxEntry
    from bobstay.permissions.sandbox.quarantine import QuarantinedPath

Status: TypeAlias = Literal["running", "completed", "failed", "killed"]
Tell: TypeAlias = Literal["wake", "next_turn", "no"]
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


class ShellJob:
    """A command that runs in the foreground, in the background, or first the one and then the other."""

    def __init__(
        self, command: str, description: str, spill: Path, redactor: Redactor | None = None, call_id: str = ""
    ) -> None:
        """`redactor` removes secrets from the output before it is stored or shown."""
        self.id = "b" + "".join(_DIGITS[byte % 36] for byte in os.urandom(8))
        self.command = command
        self.call_id = call_id
        self.description = description
        self.output = Capture(spill / f"{self.id}.output")
        """Both streams in order of arrival; stdout and stderr are kept separately only for display."""
        self.streams = {1: HeadAndTail(16_384, 16_384), 2: HeadAndTail(16_384, 16_384)}
        from bobstay.redaction.byte_redactor import RedactedByteStream  # loaded with the first command, not at start-up

        redactor = redactor or Redactor()
        self.redacted = {1: RedactedByteStream(redactor), 2: RedactedByteStream(redactor)}
        self.status: Status = "running"
        self.code: int | None = None
        """The shell's exit code, negative for a signal. Processes it left behind may still run."""
        self.cwd = ""
        """The directory the shell ended in, if it reported one."""
        self.background = False
        self.left_behind = False
        """The shell ended in the foreground while processes it started kept running."""
        self.sandboxed = False
        """Whether it runs, or ran, in the sandbox."""
        self.quarantined: tuple[QuarantinedPath, ...] = ()
        """Files it created in the sandbox that were renamed because programs outside would obey them."""
        self.read = 0
        """How many bytes of output the model has seen."""
        self.tell: Tell = "wake"
        """Whether and when the model is notified of the end: see `BackgroundEnded.tell`."""
        self.started_at = time.monotonic()
        self.last_output = self.started_at
        loop = asyncio.get_running_loop()
        self.shell_ended: asyncio.Future[None] = loop.create_future()
        self.finished: asyncio.Future[None] = loop.create_future()
        """Done when the shell and every process it started have ended."""
        self.detached: asyncio.Future[None] = loop.create_future()
        """Done when a person moved it to the background."""

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started_at

    @property
    def seconds_silent(self) -> float:
        """Seconds since the last output."""
        return time.monotonic() - self.last_output

    @property
    def title(self) -> str:
        return self.description or " ".join(self.command.split())[:120]

    def started_event(self) -> BackgroundStarted:
        return BackgroundStarted(self.id, self.call_id, self.title, str(self.output.path), not self.left_behind)

    def ended_event(self) -> BackgroundEnded:
        """The event to store once the job has finished."""
        status: BackgroundStatus = "killed" if self.status == "running" else self.status
        code = self.code if self.code is None or self.code >= 0 else 128 - self.code
        return BackgroundEnded(self.id, self.call_id, self.title, status, code, str(self.output.path), self.tell)


class JobProcess:
    """The process of a job, and the pipe on which the shell reports its working directory."""

    def __init__(
        self,
        job: ShellJob,
        live: LiveOutput | None,
        grace: float,
        on_finished: Callable[[ShellJob], None],
        *,
        linger: float = 0.02,
    ) -> None:
        self._job = job
        self._live = live
        self._grace = grace
        self._linger = linger
        self._on_finished = on_finished
        self._loop = asyncio.get_running_loop()
        self._stopping: asyncio.Task[None] | None = None
        self._watched: set[int] = set()
        self._cwd_report = b""
        self._entry: SandboxedCommand | None = None

    def start(
        self,
        cwd: Path,
        environment: dict[str, str],
        mark: str,
        entering: "SandboxEntry | None" = None,
    ) -> None:
        """Start the shell, in the sandbox if `entering` is given."""
        try:
            self._reader, writer = os.pipe()
        except OSError as error:
            raise ToolError(f"The command could not be started: {error}") from None
        high = move_descriptor_up(writer)
        try:
            command = build_shell_arguments(
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
            self._leave_sandbox()
            raise ToolError(f"The command could not be started: {error}") from None
        finally:
            os.close(high)
            if self._entry is not None:
                self._entry.release_descriptors()
        os.set_blocking(self._reader, False)
        self._loop.add_reader(self._reader, self._read_cwd_report)
        self.child.ended.add_done_callback(self._shell_ended)

    def stop_live_output(self) -> None:
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
            self.child.tree.kill()
            raise

    async def _end(self, status: Status) -> None:
        self._job.status = status
        if self._entry is not None and self._entry.contained:
            await self._terminate_inside()
        await self.child.end(self._grace)
        self._finish()

    async def _terminate_inside(self) -> None:
        """Ask the processes in the sandbox to terminate; the outermost is spared, because all would die with it."""
        _, *others = self.child.tree.members() or [0]
        for pid in others[1:]:  # the first is init of the PID namespace, which ignores SIGTERM
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGTERM)
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(self.child.ended), self._grace)

    def _receive(self, number: int, data: bytes) -> None:
        if data := self._job.redacted[number].feed(data):
            self._store_output(number, data)

    def _store_output(self, number: int, data: bytes) -> None:
        self._job.last_output = time.monotonic()
        self._job.output.add(data)
        self._job.streams[number].add(data)
        if self._live is not None:
            self._live.add(data)

    def _read_cwd_report(self) -> None:
        with suppress(BlockingIOError):
            data = os.read(self._reader, 65_536)
            if data:
                self._cwd_report = (self._cwd_report + data)[-16_384:]
            else:
                self._loop.remove_reader(self._reader)

    def _shell_ended(self, ended: asyncio.Future[int]) -> None:
        job = self._job
        job.code = ended.result()
        self._read_cwd_report()
        self._loop.remove_reader(self._reader)
        os.close(self._reader)
        job.cwd = parse_last_directory(self._cwd_report)
        if self._stopping is not None:
            return
        contained = self._entry is not None and self._entry.contained  # its remaining processes are being killed
        if self._check_orphans() and not job.background and not contained:
            self._loop.call_later(
                self._linger, self._mark_left_behind
            )  # many are about to end, such as `tee` behind `>( )`

    def _mark_left_behind(self) -> None:
        if not self._job.shell_ended.done():
            self.child.drain()
            self._job.shell_ended.set_result(None)

    def _check_orphans(self) -> bool:
        """Whether processes of the job outlived its shell. Watches them, or finishes the job if there are none."""
        if self._job.finished.done() or self._stopping is not None:
            return False
        orphans = self.child.tree.orphans()
        if not orphans:
            self._finish()
            return False
        if self.child.pid in orphans:  # only the process group is known: poll
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
        for number, stream in job.redacted.items():
            if rest := stream.flush():
                self._store_output(number, rest)
        self.stop_live_output()
        if job.background:
            job.output.close()
        remove_script(job.command, job.output.path)
        if job.status == "running":
            job.status = "failed" if job.code else "completed"
        self._leave_sandbox()
        for future in (job.shell_ended, job.finished):
            if not future.done():
                future.set_result(None)
        self._on_finished(job)

    def _leave_sandbox(self) -> None:
        """Remove what the sandbox put on the disk, and note what it quarantined."""
        if self._entry is not None:
            self._entry.finish(background=self._job.background)
            self._job.quarantined = self._entry.quarantined
            self._entry = None
