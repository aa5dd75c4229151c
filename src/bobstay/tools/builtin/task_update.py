"""TaskUpdate: changes or deletes one task of the task list."""

from typing import Annotated, Any, Literal

from msgspec import Meta, field

from bobstay.permissions.access import Access
from bobstay.tools.base import Args, Claim, Context, Outcome, Tool, ToolError
from bobstay.tools.session_tasks import SessionTasks, TaskEdit

WIRE_NAMES = {"content": "subject", "active_form": "activeForm", "blocked_by": "blockedBy"}
"""Names of fields as hosts know them, where they differ."""


class TaskUpdateArgs(Args, frozen=True, rename="camel"):
    task_id: Annotated[str, Meta(min_length=1, max_length=100, description="The number of the task")]
    subject: Annotated[str, Meta(min_length=1, max_length=500)] | None = None
    description: Annotated[str, Meta(max_length=10_000)] | None = None
    active_form: Annotated[str, Meta(max_length=500)] | None = None
    status: Literal["pending", "in_progress", "completed", "deleted"] | None = None
    owner: Annotated[str, Meta(max_length=200, description="The agent that works on it")] | None = None
    add_blocks: Annotated[
        list[str], Meta(max_length=200, description="Numbers of tasks that can only begin when this one is done")
    ] = field(default_factory=list)
    add_blocked_by: Annotated[
        list[str], Meta(max_length=200, description="Numbers of tasks that must be done before this one can begin")
    ] = field(default_factory=list)
    metadata: Annotated[dict[str, Any], Meta(description="Merged into the task's; null removes a key")] | None = None


class TaskUpdate(Tool[TaskUpdateArgs]):
    name = "TaskUpdate"
    hint = "todo list, tasks, mark a task done, track progress"
    needs = "tasks"
    description = """\
Change one task of the list: its status, its text, its owner, or which tasks wait for which.

- Mark a task in_progress before you begin it, and keep one in progress at a time.
- Mark it completed as soon as it is really done. If tests fail or something is missing it is not done: leave it in \
progress and add a task for what blocks it.
- Status deleted removes it for good, if it turned out needless.
- Do not begin a task that waits for others."""
    args = TaskUpdateArgs

    def read_only(self, args: TaskUpdateArgs, context: Context) -> bool:
        return True

    def access(self, args: TaskUpdateArgs, context: Context) -> tuple[Access, ...]:
        return (Access("none"),)

    def claims(self, args: TaskUpdateArgs, context: Context) -> tuple[Claim, ...]:
        return (Claim("tasks"),)

    async def run(self, args: TaskUpdateArgs, context: Context) -> Outcome:
        tasks = SessionTasks(context)
        before = tasks.find(args.task_id)
        if args.status == "deleted":
            tasks.delete(before.id)
            return _outcome(tasks, before.id, ["deleted"], {"from": before.status, "to": "deleted"})
        change = TaskEdit(
            args.subject,
            args.description,
            args.active_form,
            args.status,
            args.owner,
            args.metadata,
            tuple(args.add_blocks),
            tuple(args.add_blocked_by),
        )
        after, changed = tasks.change(before.id, change)
        judge = context.services.judge_task
        completed = after.status == "completed" != before.status
        if completed and judge is not None and (why := await judge("TaskCompleted", after)):
            raise ToolError(f"Task #{after.id} is not completed: {why}")
        status: dict[str, str] | None = None
        if after.status != before.status:
            status = {"from": before.status, "to": after.status}
        return _outcome(tasks, after.id, [WIRE_NAMES.get(name, name) for name in changed], status)


def _outcome(tasks: SessionTasks, id: str, changed: list[str], status: dict[str, str] | None) -> Outcome:
    display: dict[str, Any] = {"success": True, "taskId": id, "updatedFields": changed}
    if status is not None:
        display["statusChange"] = status
    text = f"Task #{id}: updated {', '.join(changed)}." if changed else f"Task #{id} was like that already."
    if changed == ["deleted"]:
        text = f"Task #{id} is deleted."
    elif status is not None and status["to"] == "completed":
        ready = [each for each in tasks.tasks.values() if each.status == "pending" and not tasks.open_blockers(each)]
        text += f" Next could be {tasks.line(ready[0])}" if ready else " Nothing is left that could begin."
    return Outcome(text, display=display, events=(tasks.event(),))
