"""KillShell: end a background command."""

from typing import Annotated

from msgspec import Meta

from bobstay.permissions.access import Access
from bobstay.tools.base import Args, Claim, Context, Outcome, Tool, ToolError
from bobstay.tools.builtin.bash import require_shells


class KillShellArgs(Args, frozen=True):
    shell_id: Annotated[str, Meta(description="The id of the background command")] = ""
    task_id: Annotated[str, Meta(description="Another name for shell_id")] = ""


class KillShell(Tool[KillShellArgs]):
    name = "KillShell"
    aliases = ("KillBash",)
    hint = "stop background command, end process, terminate"
    description = "End a background command, by its id, with everything it started."
    args = KillShellArgs

    def access(self, args: KillShellArgs, context: Context) -> tuple[Access, ...]:
        return (Access("none"),)

    def claims(self, args: KillShellArgs, context: Context) -> tuple[Claim, ...]:
        return (Claim(f"shell:{args.shell_id or args.task_id}"),)

    async def check(self, args: KillShellArgs, context: Context) -> None:
        if not (args.shell_id or args.task_id):
            raise ToolError("Give the shell_id of the background command to end.")

    async def run(self, args: KillShellArgs, context: Context) -> Outcome:
        await self.check(args, context)
        shells = require_shells(context)
        job = shells.find(args.shell_id or args.task_id)
        if job.finished.done():
            text = f"Shell {job.id} had ended before ({job.status}); nothing was left to kill."
        else:
            await shells.stop(job)
            text = f"Successfully killed shell: {job.id} ({job.command[:200]})"
        return Outcome(text, display={"message": text, "shell_id": job.id})
