"""The shell of a session: where it stands, what it runs, and what of that goes on in the background."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from bobstay.redaction.redactor import Redactor
from bobstay.system.process_tree import MARK, sweep
from bobstay.system.watchdog import guard, mark_of_this_process
from bobstay.tools.base import ToolError
from bobstay.tools.live_output import LiveOutput
from bobstay.tools.shell_job import JobProcess, ShellJob, Status, Tell
from bobstay.tools.shell_line import PREPARED, SETTINGS

if TYPE_CHECKING:
    from bobstay.permissions.sandbox.launch import Sandbox


class ShellSession:
    """The session-long part of the shell tools."""

    def __init__(self, session_id: str = "") -> None:
        self.session_id = session_id or os.urandom(8).hex()
        self.cwd: Path | None = None
        """Where the last command ended; None before the first."""
        self.jobs: dict[str, ShellJob] = {}
        """Those in the background, the finished ones of late included."""
        self.default_timeout = 120.0
        """Seconds a call waits for its command; then the command goes on in the background."""
        self.longest_timeout = 600.0
        self.background_after: float | None = None
        """Seconds after which a command moves to the background though its call would wait longer."""
        self.shown = 30_000
        """Characters of a command's output the model sees; it can be set lower."""
        self.linger = 0.02
        """Seconds for what outlives its shell to end by itself before it is called left behind."""
        self.grace = 0.5
        """Seconds a process gets to end by itself before it is killed."""
        self.most_jobs = 50
        self.mask = Redactor()
        """Knows what must not stand in output, nor in the files it is kept in."""
        self.withheld: frozenset[str] = frozenset()
        """Names of variables that commands are not given because they hold secrets."""
        self.sandbox: Sandbox | None = None
        """Where commands run, unless a person let one out; None if they run as they are."""
        self.on_finished: Callable[[ShellJob], None] | None = None
        """Told of each background job that ends, until the session is closed; `Job.tell` says who cares."""
        self._running: dict[ShellJob, JobProcess] = {}
        self._started = 0

    def start(  # noqa: PLR0913 - all there is to say about a command, in one place
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
        """Start `command` in the foreground, in the sandbox if there is one and it is not to run `outside`.

        Raises:
            ToolError: there is no shell, or it does not start, or it would have to start without its sandbox.
        """
        job = ShellJob(command, description, spill, self.mask, call_id)
        self._started += 1
        inherited = environment.get(MARK, "")
        mark = f"{mark_of_this_process()}:{self.session_id}:{self._started}"
        settled = {name: value for name, value in environment.items() if name not in PREPARED} | SETTINGS
        settled[MARK] = f"{inherited}/{mark}" if inherited else mark
        run = JobProcess(job, LiveOutput(report) if report else None, self.grace, self._forget, linger=self.linger)
        guard(inherited)  # before the command: we may be killed at any moment after its start, even by itself
        entering = None if outside or self.sandbox is None else self.sandbox.entering(tuple(map(str, directories)))
        run.start(cwd, settled, mark, entering)
        self._running[job] = run
        return job

    def to_background(self, job: ShellJob) -> None:
        """Let `job` run on while the session does other things; all its output goes to a file."""
        job.background = True
        job.left_behind = job.shell_ended.done()
        job.tell = "no" if job.left_behind else "wake"
        job.output.save()
        self._running[job].quiet()
        finished = [known for known in self.jobs.values() if known.finished.done()]
        for old in finished[: max(0, len(self.jobs) - self.most_jobs + 1)]:
            del self.jobs[old.id]
        self.jobs[job.id] = job

    def check_room(self) -> None:
        """Refuse one more background job when there are too many.

        Raises:
            ToolError: naming what to do.
        """
        running = [job.id for job in self.in_background]
        if len(running) >= self.most_jobs:
            raise ToolError(
                f"{len(running)} commands run in the background already, which is the most there may be. "
                f"Stop some with KillShell first: {', '.join(running[:10])} ..."
            )

    def find(self, job_id: str) -> ShellJob:
        """The background job called `job_id`.

        Raises:
            ToolError: there is none; the known ones are named.
        """
        if job_id in self.jobs:
            return self.jobs[job_id]
        known = ", ".join(f"{job.id} ({job.status})" for job in self.jobs.values())
        raise ToolError(
            f"No background shell has the id {job_id[:40]!r}. "
            + (f"There are: {known}." if known else "None was started in this session.")
        )

    def detach(self, call_id: str = "") -> tuple[str, ...]:
        """Move the commands that calls wait for to the background: that of one call, or all. Returns their ids."""
        waited_for = [job for job in self._running if not job.background and (not call_id or job.call_id == call_id)]
        for job in waited_for:
            if not job.detached.done():
                job.detached.set_result(None)
        return tuple(job.id for job in waited_for)

    @property
    def in_background(self) -> list[ShellJob]:
        """The background jobs that have not ended."""
        return [job for job in self.jobs.values() if not job.finished.done()]

    def processes(self, job: ShellJob) -> list[int]:
        """The processes of `job` that live."""
        run = self._running.get(job)
        return run.child.family.members() if run is not None else []

    async def stop(self, job: ShellJob, status: Status = "killed", tell: Tell = "no") -> None:
        """End `job` and everything that came from it. Safe to cancel: then it is killed without further ado.

        `tell`: whether the model is to be told, where it is a background job.
        """
        run = self._running.get(job)
        if run is not None:
            job.tell = tell
            await run.stop(status)

    async def close(self) -> None:
        """End everything that was started here. The session is over."""
        self.on_finished = None
        await asyncio.gather(*(self.stop(job) for job in list(self._running)))
        for _ in range(100 if self._started else 0):
            if not sweep(f":{self.session_id}:"):
                break
            await asyncio.sleep(0.02)
        if self.sandbox is not None:
            self.sandbox.close()

    def _forget(self, job: ShellJob) -> None:
        self._running.pop(job, None)
        if job.background and self.on_finished is not None:
            self.on_finished(job)
