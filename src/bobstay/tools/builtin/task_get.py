"""TaskGet: shows one task of the task list with all its fields."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from bobstay.permissions.access import Access
from bobstay.tools.base import Args, Claim, Context, Outcome, Tool
from bobstay.tools.session_tasks import SessionTasks


class TaskGetArgs(Args, frozen=True, rename="camel"):
    task_id: Annotated[str, Meta(min_length=1, max_length=100, description="The number of the task")]


class TaskGet(Tool[TaskGetArgs]):
    name = "TaskGet"
    hint = "todo list, show one task, details of a task"
    needs = "tasks"
    description = """\
Show one task whole: its description, what it blocks, what it waits for, and what was kept with it. Read it before you \
begin the task."""
    args = TaskGetArgs

    def read_only(self, args: TaskGetArgs, context: Context) -> bool:
        return True

    def access(self, args: TaskGetArgs, context: Context) -> tuple[Access, ...]:
        return (Access("none"),)

    def claims(self, args: TaskGetArgs, context: Context) -> tuple[Claim, ...]:
        return (Claim("tasks", shared=True),)

    async def run(self, args: TaskGetArgs, context: Context) -> Outcome:
        tasks = SessionTasks(context)
        task = tasks.find(args.task_id)
        fields: dict[str, Any] = {
            "id": task.id,
            "subject": task.content,
            "description": task.description,
            "status": task.status,
            "blocks": list(task.blocks),
            "blockedBy": list(task.blocked_by),
        }
        fields |= {"owner": task.owner} if task.owner else {}
        fields |= {"metadata": task.metadata} if task.metadata else {}
        lines = [tasks.line(task)]
        lines += [task.description] if task.description else []
        lines += [f"Blocks: {', '.join(f'#{id}' for id in task.blocks)}"] if task.blocks else []
        lines += [f"Kept with it: {msgspec.json.encode(task.metadata).decode()}"] if task.metadata else []
        return Outcome("\n".join(lines), display={"task": fields})
