"""Bash: run a command in the session's shell."""

import asyncio
import os
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from bobstay.permissions.access import Access
from bobstay.tools.base import EVERYTHING, Args, Claim, Context, Outcome, Tool, ToolError
from bobstay.tools.shell_job import ShellJob
from bobstay.tools.shell_line import describe_exit, describe_withheld
from bobstay.tools.shell_session import ShellSession

_MAX_SHOWN = 30_000
_HARMLESS = frozenset(("pwd", "ls", "ls -a", "ls -l", "ls -la", "date", "whoami", "id", "uname", "uname -a", "true"))
"""Commands known to be read-only anywhere; the permission policy classifies all others."""


class BashArgs(Args, frozen=True):
    command: Annotated[str, Meta(min_length=1, description="The command to run, in the syntax of bash")]
    description: Annotated[str, Meta(description="What it does, in five to ten words, for the people who watch")] = ""
    timeout: Annotated[
        float,
        Meta(
            description="Milliseconds to wait for the command: 120000 unless given, at most 600000. "
            "After that it is not stopped but continues in the background"
        ),
    ] = 0
    run_in_background: Annotated[
        bool, Meta(description="Return at once and keep the command running; read its output with BashOutput")
    ] = False
    outside_sandbox: Annotated[
        bool,
        Meta(
            description="Where commands run in a sandbox and it refused this one: ask a person to run it outside. "
            "Only for a command that cannot do without"
        ),
    ] = False


class Bash(Tool[BashArgs]):
    name = "Bash"
    hint = "shell, terminal, run a command, execute, process"
    description = """\
Run a command with bash and get its output (stdout and stderr together) and exit code.

- The working directory persists between calls; variables, functions and options do not. Prefer absolute \
paths to changing the directory. Quote paths that contain spaces.
- Nobody can answer a prompt: there is no terminal and no standard input. Use flags such as --yes, and no editors or \
pagers.
- The call waits for the command up to its timeout (two minutes unless you say otherwise, at most ten). Give a longer \
timeout to builds and test suites that need it. A command that is still running then continues in the \
background, and you are told its id.
- With run_in_background a server, a watcher or a long build keeps running while you do other things. Do not \
append &. You are told when it ends. BashOutput shows what it printed since, and can wait for it; KillShell ends it.
- Long output is cut in the middle; you are told which file has all of it.
- For finding files, searching in them, reading and changing them there are tools that do it better: Glob, Grep, \
Read, Edit, Write. Use this one for git, builds, tests and programs.
- Join commands that depend on each other with &&; make several calls for those that do not."""
    args = BashArgs

    def read_only(self, args: BashArgs, context: Context) -> bool:
        """Whether the permission policy considers it read-only: repeating such a command is harmless."""
        return not args.run_in_background and _is_read_only(args.command, context)

    def destructive(self, args: BashArgs, context: Context) -> bool:
        from bobstay.permissions.shell.destructive import is_destructive

        return is_destructive(args.command, str(context.cwd), str(context.root))

    def polls(self, args: BashArgs) -> bool:
        return args.command.split(None, 1)[:1] == ["sleep"]

    def access(self, args: BashArgs, context: Context) -> tuple[Access, ...]:
        access = Access("exec", args.command)
        shells = context.services.shells
        if args.outside_sandbox and shells is not None and shells.sandbox is not None:
            return (access, Access("outside", args.command))
        return (access,)

    def claims(self, args: BashArgs, context: Context) -> tuple[Claim, ...]:
        """Read-only commands run in parallel, except those that change the working directory."""
        moves = "".join(args.command.split(None, 1)[:1]) in ("cd", "pushd", "popd")
        if moves or not self.read_only(args, context):
            return (EVERYTHING,)
        return (Claim("*", shared=True),)

    async def check(self, args: BashArgs, context: Context) -> None:
        if not args.command.strip():
            raise ToolError("The command is empty. Give a command to run.")
        if "\0" in args.command:
            raise ToolError("The command contains a NUL character, which no command can. Write it as \\0 where meant.")
        try:
            os.fsencode(args.command)
        except UnicodeEncodeError:
            raise ToolError(
                "The command contains half a character (a lone surrogate). Write the character whole."
            ) from None

    def content_of(self, display: Any) -> str:
        if not isinstance(display, dict):
            return super().content_of(display)
        texts = [str(display.get(stream) or "").strip("\n") for stream in ("stdout", "stderr")]
        return "\n".join(text for text in texts if text) or "(Bash completed with no output)"

    async def run(self, args: BashArgs, context: Context) -> Outcome:
        await self.check(args, context)
        shells = require_shells(context)
        if args.run_in_background:
            shells.require_job_slot()
        start, note = _choose_start_directory(shells, context)
        job = shells.start(
            args.command,
            cwd=start,
            environment=context.environment,
            spill=context.spill,
            description=args.description,
            call_id=context.call_id,
            report=None if args.run_in_background else context.report,
            directories=context.directories,
            outside=args.outside_sandbox,
        )
        if args.run_in_background:
            shells.to_background(job)
            return Outcome(note + _describe_background(job), display=_display(job), events=(job.started_event(),))
        seconds = foreground_seconds(args, shells)
        try:
            ends = (job.shell_ended, job.detached)
            await asyncio.wait(ends, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await shells.stop(job)
            raise
        return _outcome(job, shells, start, note, seconds)


def _is_read_only(command: str, context: Context) -> bool:
    if command.strip() in _HARMLESS:
        return True
    from bobstay.permissions.shell.command_queries import is_read_only

    home = context.environment.get("HOME", "/nonexistent")
    return is_read_only(command, str(context.cwd), tuple(map(str, context.directories)), home=home)


def require_shells(context: Context) -> ShellSession:
    """The session's shell session.

    Raises:
        ToolError: this session has none.
    """
    shells = context.services.shells
    if shells is None:
        raise ToolError("This session has no shell to run commands in.")
    return shells


def foreground_seconds(args: BashArgs, shells: ShellSession) -> float:
    """How long the call waits before its command moves to the background."""
    limits = shells.limits
    wanted = args.timeout / 1000 if args.timeout > 0 else limits.default_timeout
    return min(wanted, limits.max_timeout, limits.background_after or wanted)


def _choose_start_directory(shells: ShellSession, context: Context) -> tuple[Path, str]:
    """The directory to start in, and a note if it is not where the last command ended."""
    wanted = shells.cwd or context.cwd
    for directory in (wanted, context.root):
        if os.path.isdir(directory):
            note = f"(The working directory {wanted} is gone; this ran in {directory}.)\n"
            return directory, "" if directory == wanted else note
    raise ToolError(f"The working directory {wanted} is gone, and so is the session's own, {context.root}.")


def _outcome(job: ShellJob, shells: ShellSession, start: Path, note: str, waited: float) -> Outcome:
    moved = not job.shell_ended.done()
    timed_out = moved and not job.detached.done()
    left = not moved and not job.finished.done()
    if moved or left:
        shells.to_background(job)
    cwd = _update_cwd(job, shells, start, note)
    shown = min(shells.limits.output, _MAX_SHOWN) - 1_000
    text = job.output.text(shown, lambda: _describe_full_output(job)).strip("\n")
    if not job.background:
        job.output.close()
    error = job.status == "killed" or bool(job.code)
    parts = [note.rstrip("\n"), *_describe_exit_code(job), text]
    if moved:
        why = f"Not done after {_format_seconds(waited)}: moved" if timed_out else "The user moved the command"
        parts += [f"{why} to the background, where it continues. {_describe_background(job)}"]
        job.read = job.output.total
    elif left:
        parts += [_describe_left_behind(job)]
        job.read = job.output.total
    elif job.sandboxed:
        from bobstay.tools.sandbox_hints import describe_sandbox_effects

        parts += [describe_sandbox_effects(job)]
    parts += [describe_withheld(job.command, shells.withheld)]
    content = "\n".join(part for part in parts if part) or "(Bash completed with no output)"
    events = (job.started_event(),) if job.background else ()
    display = _display(job, timed_out_after=waited if timed_out else None)
    return Outcome(content, display=display, is_error=error, cwd=cwd, events=events)


def _update_cwd(job: ShellJob, shells: ShellSession, start: Path, note: str) -> str:
    """Remember the directory the shell ended in. Returns it if it changed."""
    if not job.cwd:
        shells.cwd = start if note else shells.cwd
        return str(start) if note else ""
    same = job.cwd == os.path.realpath(start)
    shells.cwd = start if same else Path(job.cwd)
    stored = os.fsencode(shells.cwd).decode("utf-8", "replace")  # an undecodable name cannot be stored
    return stored if note or not same else ""


def _describe_exit_code(job: ShellJob) -> list[str]:
    return [describe_exit(job.code)] if job.code else []


def _describe_full_output(job: ShellJob) -> str:
    path = job.output.save()
    if not path:
        return f"The whole could not be saved ({job.output.trouble}): ask for less at a time."
    more = f", but for its end: {job.output.trouble}" if job.output.trouble else ""
    return f"The whole output ({job.output.total:,} bytes{more}) is in {path}: read a part of it or search in it."


def _describe_background(job: ShellJob) -> str:
    path = job.output.save()
    where = f" Output is being written to: {path}." if path else ""
    how = "You will be told when it ends. Use BashOutput to see new output or to wait, KillShell to end it."
    return f"Command running in background with ID: {job.id}.{where} {how}"


def _describe_left_behind(job: ShellJob) -> str:
    return (
        f"(What the command started still runs in the background with ID: {job.id}. "
        "Use BashOutput to see what it prints, KillShell to end it.)"
    )


def _format_seconds(seconds: float) -> str:
    minutes, rest = divmod(seconds, 60)
    return f"{int(minutes)}m {rest:.0f}s" if minutes else f"{rest:.3g}s"


def _display(job: ShellJob, *, timed_out_after: float | None = None) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "stdout": job.streams[1].text(_MAX_SHOWN, colours=True),
        "stderr": job.streams[2].text(_MAX_SHOWN, colours=True),
        "interrupted": job.status == "killed",
        "isImage": False,
        "noOutputExpected": False,
    }
    if job.output.total > _MAX_SHOWN - 1_000:
        shown["outputLines"] = job.output.lines  # cannot be counted in a truncated text
    if job.background:
        shown["backgroundTaskId"] = job.id
    if timed_out_after is not None:
        shown["timedOutAfterMs"] = round(timed_out_after * 1000)  # the field name hosts know
    return shown
