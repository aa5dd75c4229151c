"""BashOutput: read the new output of a background command."""

import asyncio
from io import FileIO
from typing import Annotated, Any

from msgspec import Meta

from bobstay.model.event import InputDropped
from bobstay.permissions.access import Access
from bobstay.system.capture import HeadAndTail
from bobstay.tools.base import Args, Claim, Context, Outcome, Tool, ToolError
from bobstay.tools.builtin.bash import require_shells
from bobstay.tools.ripgrep import run_ripgrep
from bobstay.tools.shell_job import ShellJob

_MAX_SHOWN = 29_000


class BashOutputArgs(Args, frozen=True):
    bash_id: Annotated[str, Meta(description="The id of the background command")]
    filter: Annotated[
        str,
        Meta(
            max_length=2_000,
            description="A regular expression; only matching lines are returned, the others are skipped for good",
        ),
    ] = ""
    wait: Annotated[
        float,
        Meta(ge=0, le=600, description="Seconds to wait for the end of the command before looking; 0 unless given"),
    ] = 0


class BashOutput(Tool[BashOutputArgs]):
    name = "BashOutput"
    hint = "background command, shell output, running process, logs"
    description = """\
Get what a background command printed since you last looked, its status, and its exit code once it ended. With wait it \
returns as soon as the command ends, or after that many seconds. Without it, when there is nothing new, do something \
else before you look again: you are told when the command ends."""
    args = BashOutputArgs

    def read_only(self, args: BashOutputArgs, context: Context) -> bool:
        return True

    def polls(self, args: BashOutputArgs) -> bool:
        return True

    def access(self, args: BashOutputArgs, context: Context) -> tuple[Access, ...]:
        return (Access("none"),)

    def claims(self, args: BashOutputArgs, context: Context) -> tuple[Claim, ...]:
        return (Claim(f"shell:{args.bash_id}"),)

    async def run(self, args: BashOutputArgs, context: Context) -> Outcome:
        shells = require_shells(context)
        job = shells.find(args.bash_id)
        if args.wait:
            await asyncio.wait((job.finished,), timeout=min(args.wait, shells.limits.max_timeout))
        status, code = job.status, job.code
        fresh = await _read_filtered(job, args.filter, context) if args.filter else _read_new(job)
        text = fresh.text(_MAX_SHOWN, lambda: f"All output is in {job.output.path}.").strip("\n")
        parts = [f"<status>{status}</status>"]
        if code is not None:
            parts.append(f"<exit_code>{_shell_code(code)}</exit_code>")
        if code is not None and status == "running":
            parts.append("(The shell has ended; processes it started still run.)")
        if job.quarantined:
            from bobstay.tools.sandbox_hints import describe_sandbox_effects

            parts.append(describe_sandbox_effects(job))
        parts.append(f"<output>\n{text}\n</output>" if text else "(No new output)")
        display: dict[str, Any] = {
            "shellId": job.id,
            "command": job.command,
            "status": status,
            "exitCode": None if code is None else _shell_code(code),
            "stdout": text,
            "stderr": "",
        }
        return Outcome("\n".join(parts), display=display, events=_withdraw_notice(job, context))


def _withdraw_notice(job: ShellJob, context: Context) -> tuple[InputDropped, ...]:
    """Withdraw the pending notice of the command's end, because this result reports it."""
    is_unread = context.services.is_unread
    return (InputDropped(job.id),) if job.finished.done() and is_unread is not None and is_unread(job.id) else ()


def _read_new(job: ShellJob) -> HeadAndTail:
    ends, job.read = job.output.since(job.read)
    return ends


async def _read_filtered(job: ShellJob, pattern: str, context: Context) -> HeadAndTail:
    """The new lines that match `pattern`. ripgrep searches in linear time for any pattern."""
    if not job.output.saved:
        return HeadAndTail(0, 0)
    with _open_output(job) as file:
        search = ["--text", "--no-line-number", f"--regexp={pattern}", "-"]
        result = await run_ripgrep(search, context, cwd=str(context.root), stdin=file)
        if result.error:
            raise ToolError(f"The filter is not a regular expression ripgrep can use: {result.error}")
        job.read = file.tell() if result.complete else job.output.saved
    ends = HeadAndTail(65_536, 65_536)
    ends.add(result.output)
    return ends


def _open_output(job: ShellJob) -> FileIO:
    """Open the output file at the position of the last read."""
    file = FileIO(job.output.path)
    file.seek(min(job.read, job.output.saved))
    return file


def _shell_code(code: int) -> int:
    return code if code >= 0 else 128 - code
