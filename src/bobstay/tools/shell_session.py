"""Shell state of a session: current directory, running commands and background jobs."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from bobstay.redaction.redactor import Redactor
from bobstay.system.process_tree import MARK, kill_marked
from bobstay.system.watchdog import mark_of_this_process, start_watchdog
from bobstay.tools.live_output import LiveOutput
from bobstay.tools.shell_job import JobProcess, ShellJob, Status, Tell
from bobstay.tools.shell_line import NON_INTERACTIVE, STARTUP_VARIABLES
from bobstay.tools.tool_error import ToolError

if TYPE_CHECKING:
    from bobstay.permissions.sandbox.launch import Sandbox


class ShellLimits(Struct, frozen=True):
    """Limits of the commands of a session."""

    default_timeout: float = 120.0
    """Seconds a call waits for its command before the command moves to the background."""
    max_timeout: float = 600.0
    background_after: float | None = None
    """Seconds after which a command moves to the background even if its call would wait longer."""
    output: int = 30_000
    """Characters of a command's output the model sees."""


DEFAULT_LIMITS = ShellLimits()


class ShellSession:
    """State that the shell tools of one session share."""

    def __init__(
        self,
        session_id: str = "",
        *,
        limits: ShellLimits = DEFAULT_LIMITS,
        redactor: Redactor | None = None,
        withheld: frozenset[str] = frozenset(),
        sandbox: "Sandbox | None" = None,
    ) -> None:
        self.session_id = session_id or os.urandom(8).hex()
        self.cwd: Path | None = None
        """Where the last command ended; None before the first."""
        self.jobs: dict[str, ShellJob] = {}
        """Background jobs by id, including recently finished ones."""
        self.limits = limits
        self.linger = 0.02
        """Seconds that processes get to end after their shell before they count as left behind."""
        self.grace = 0.5
        """Seconds a process gets to terminate before it is killed."""
        self.max_jobs = 50
        self.redactor = redactor or Redactor()
        """Removes secrets from output before it is shown or saved."""
        self.withheld = withheld
        """Names of variables that are not passed to commands because they may hold secrets."""
        self.sandbox = sandbox
        """Sandbox in which commands run unless a person approved running outside; None if there is none."""
        self.listeners: list[Callable[[ShellJob], None]] = []
        """Called when a background job ends, until the session is closed."""
        self._owns_sandbox = True
        self._running: dict[ShellJob, JobProcess] = {}
        self._started = 0

    def for_agent(self, id: str) -> "ShellSession":
        """A shell session for a sub-agent with this id: its own commands, the same limits and sandbox."""
        other = ShellSession(
            id, limits=self.limits, redactor=self.redactor, withheld=self.withheld, sandbox=self.sandbox
        )
        other._owns_sandbox = False
        return other

    def start(  # noqa: PLR0913 - all settings of a command in one call
        self,
        command: str,
        *,
        cwd: Path,
        environment: dict[str, str],
        spill: Path,
        description: str = "",
        call_id: str = "",
        report: Callable[[str], None] | None = None,
        directories: tuple[Path, ...] = (),
        outside: bool = False,
    ) -> ShellJob:
        """Start `command` in the foreground, in the sandbox if there is one and `outside` is false.

        Raises:
            ToolError: no shell is installed, it does not start, or its sandbox cannot be set up.
        """
        job = ShellJob(command, description, spill, self.redactor, call_id)
        self._started += 1
        inherited = environment.get(MARK, "")
        mark = f"{mark_of_this_process()}:{self.session_id}:{self._started}"
        child_environment = {
            name: value for name, value in environment.items() if name not in STARTUP_VARIABLES
        } | NON_INTERACTIVE
        child_environment[MARK] = f"{inherited}/{mark}" if inherited else mark
        run = JobProcess(job, LiveOutput(report) if report else None, self.grace, self._forget, linger=self.linger)
        start_watchdog(inherited)  # before the start: the command itself may kill this process
        entering = None if outside or self.sandbox is None else self.sandbox.entry_for(tuple(map(str, directories)))
        run.start(cwd, child_environment, mark, entering)
        self._running[job] = run
        return job

    def to_background(self, job: ShellJob) -> None:
        """Move `job` to the background; all its output goes to a file."""
        job.background = True
        job.left_behind = job.shell_ended.done()
        job.tell = "no" if job.left_behind else "wake"
        job.output.save()
        self._running[job].stop_live_output()
        finished = [known for known in self.jobs.values() if known.finished.done()]
        for old in finished[: max(0, len(self.jobs) - self.max_jobs + 1)]:
            del self.jobs[old.id]
        self.jobs[job.id] = job

    def require_job_slot(self) -> None:
        """Require that one more background job may start.

        Raises:
            ToolError: too many are running; says what to do.
        """
        running = [job.id for job in self.in_background]
        if len(running) >= self.max_jobs:
            raise ToolError(
                f"{len(running)} commands run in the background already, which is the most there may be. "
                f"Stop some with KillShell first: {', '.join(running[:10])} ..."
            )

    def find(self, job_id: str) -> ShellJob:
        """The background job with this id.

        Raises:
            ToolError: there is none; lists the known ones.
        """
        if job_id in self.jobs:
            return self.jobs[job_id]
        known = ", ".join(f"{job.id} ({job.status})" for job in self.jobs.values())
        raise ToolError(
            f"No background shell has the id {job_id[:40]!r}. "
            + (f"There are: {known}." if known else "None was started in this session.")
        )

    def detach(self, call_id: str = "") -> tuple[str, ...]:
        """Move the foreground command of one call, or all of them, to the background. Returns their ids."""
        foreground = [job for job in self._running if not job.background and (not call_id or job.call_id == call_id)]
        for job in foreground:
            if not job.detached.done():
                job.detached.set_result(None)
        return tuple(job.id for job in foreground)

    @property
    def in_background(self) -> list[ShellJob]:
        """Background jobs that are still running."""
        return [job for job in self.jobs.values() if not job.finished.done()]

    def processes(self, job: ShellJob) -> list[int]:
        """Process ids of the living processes of `job`."""
        run = self._running.get(job)
        return run.child.tree.members() if run is not None else []

    async def stop(self, job: ShellJob, status: Status = "killed", tell: Tell = "no") -> None:
        """End `job` and every process it started. If cancelled, they are killed at once.

        `tell`: whether and when the model is notified that a background job ended.
        """
        run = self._running.get(job)
        if run is not None:
            job.tell = tell
            await run.stop(status)

    async def close(self) -> None:
        """End every command. The session cannot be used afterwards."""
        self.listeners.clear()
        await asyncio.gather(*(self.stop(job) for job in list(self._running)))
        for _ in range(100 if self._started else 0):
            if not kill_marked(f":{self.session_id}:"):
                break
            await asyncio.sleep(0.02)
        if self.sandbox is not None and self._owns_sandbox:
            self.sandbox.close()

    def _forget(self, job: ShellJob) -> None:
        self._running.pop(job, None)
        for listener in self.listeners if job.background else ():
            listener(job)
