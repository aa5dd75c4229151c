"""BashOutput: see what a background command printed since the last look."""

import asyncio
from io import FileIO
from typing import Annotated, Any

from msgspec import Meta

from bobstay.model.event import InputDropped
from bobstay.permissions.access import Access
from bobstay.system.capture import HeadAndTail
from bobstay.tools.base import Args, Claim, Context, Outcome, Tool, ToolError
from bobstay.tools.builtin.bash import shells_of
from bobstay.tools.ripgrep import run_ripgrep
from bobstay.tools.shell_job import ShellJob

_SHOWN = 29_000


class BashOutputArgs(Args, frozen=True):
    bash_id: Annotated[str, Meta(description="The id of the background command")]
    filter: Annotated[
        str,
        Meta(
            max_length=2_000,
            description="A regular expression; only lines it matches are given, the others are skipped for good",
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
        shells = shells_of(context)
        job = shells.find(args.bash_id)
        if args.wait:
            await asyncio.wait((job.finished,), timeout=min(args.wait, shells.longest_timeout))
        status, code = job.status, job.code
        fresh = await _filtered(job, args.filter, context) if args.filter else _fresh(job)
        text = fresh.text(_SHOWN, lambda: f"All output is in {job.output.path}.").strip("\n")
        parts = [f"<status>{status}</status>"]
        if code is not None:
            parts.append(f"<exit_code>{_shell_code(code)}</exit_code>")
        if code is not None and status == "running":
            parts.append("(The shell has ended; processes it started still run.)")
        if job.aside:
            from bobstay.tools.sandbox_hints import sandbox_note

            parts.append(sandbox_note(job))
        parts.append(f"<output>\n{text}\n</output>" if text else "(No new output)")
        display: dict[str, Any] = {
            "shellId": job.id,
            "command": job.command,
            "status": status,
            "exitCode": None if code is None else _shell_code(code),
            "stdout": text,
            "stderr": "",
        }
        return Outcome("\n".join(parts), display=display, events=_known(job, context))


def _known(job: ShellJob, context: Context) -> tuple[InputDropped, ...]:
    """Withdraws the notice of the command's end, if there is one: this reply tells it."""
    unread = context.parts.get("unread")
    return (InputDropped(job.id),) if job.finished.done() and unread is not None and unread(job.id) else ()


def _fresh(job: ShellJob) -> HeadAndTail:
    ends, job.read = job.output.since(job.read)
    return ends


async def _filtered(job: ShellJob, pattern: str, context: Context) -> HeadAndTail:
    """The new lines that `pattern` matches. ripgrep looks for them: no pattern makes it slow."""
    if not job.output.saved:
        return HeadAndTail(0, 0)
    with _opened(job) as file:
        search = ["--text", "--no-line-number", f"--regexp={pattern}", "-"]
        found = await run_ripgrep(search, context, cwd=str(context.root), stdin=file)
        if found.error:
            raise ToolError(f"The filter is not a regular expression ripgrep can use: {found.error}")
        job.read = file.tell() if found.complete else job.output.saved
    ends = HeadAndTail(65_536, 65_536)
    ends.add(found.output)
    return ends


def _opened(job: ShellJob) -> FileIO:
    """The output file, at the place where the last look ended."""
    file = FileIO(job.output.path)
    file.seek(min(job.read, job.output.saved))
    return file


def _shell_code(code: int) -> int:
    return code if code >= 0 else 128 - code
