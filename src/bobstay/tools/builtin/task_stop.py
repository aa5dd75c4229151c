"""TaskStop: stop a sub-agent or a background command."""

from typing import Annotated

from msgspec import Meta

from bobstay.permissions.access import Access
from bobstay.tools.base import Args, Claim, Context, Outcome, Tool, ToolError
from bobstay.tools.builtin.agent_tool import require_agents
from bobstay.tools.builtin.bash import require_shells


class TaskStopArgs(Args, frozen=True):
    task_id: Annotated[str, Meta(description="The id of the agent or background command")]


class TaskStop(Tool[TaskStopArgs]):
    name = "TaskStop"
    hint = "stop agent, cancel background task, end worker"
    description = "Stop an agent that works in the background, or a background command, by its id."
    args = TaskStopArgs
    needs = "agents"

    def access(self, args: TaskStopArgs, context: Context) -> tuple[Access, ...]:
        return (Access("none"),)

    def claims(self, args: TaskStopArgs, context: Context) -> tuple[Claim, ...]:
        return (Claim(f"agent:{args.task_id}"),)

    async def run(self, args: TaskStopArgs, context: Context) -> Outcome:
        stopped = await require_agents(context).stop(args.task_id)
        if stopped is not None:
            kind, what = "local_agent", stopped.description
        else:
            kind, what = "local_bash", await _stop_command(args.task_id, context)
        text = f"Stopped {args.task_id} ({what})."
        return Outcome(text, display={"message": text, "task_id": args.task_id, "task_type": kind, "command": what})


async def _stop_command(id_: str, context: Context) -> str:
    shells = require_shells(context)
    job = shells.jobs.get(id_)
    if job is None or job.finished.done():
        raise ToolError(f"Nothing with the id {id_} is running.")
    await shells.stop(job)
    return job.command[:200]
