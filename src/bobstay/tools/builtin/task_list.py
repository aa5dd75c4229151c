"""TaskList: shows the task list of the session."""

from bobstay.permissions.access import Access
from bobstay.tools.base import Args, Claim, Context, Outcome, Tool
from bobstay.tools.session_tasks import SessionTasks


class TaskListArgs(Args, frozen=True):
    pass


class ListTasks(Tool[TaskListArgs]):
    name = "TaskList"
    hint = "todo list, show tasks, what is left to do"
    needs = "tasks"
    description = """\
Show all tasks of this session: number, status, title, owner, and what each one waits for. Use it to choose the next \
task (prefer the lowest number that waits for nothing and has no owner), and before adding tasks. TaskGet shows one \
whole."""
    args = TaskListArgs

    def read_only(self, args: TaskListArgs, context: Context) -> bool:
        return True

    def access(self, args: TaskListArgs, context: Context) -> tuple[Access, ...]:
        return (Access("none"),)

    def claims(self, args: TaskListArgs, context: Context) -> tuple[Claim, ...]:
        return (Claim("tasks", shared=True),)

    async def run(self, args: TaskListArgs, context: Context) -> Outcome:
        tasks = SessionTasks(context)
        listed = [
            {
                "id": task.id,
                "subject": task.content,
                "status": task.status,
                **({"owner": task.owner} if task.owner else {}),
                "blockedBy": tasks.open_blockers(task),
            }
            for task in tasks.tasks.values()
        ]
        text = "\n".join(tasks.line(task) for task in tasks.tasks.values())
        return Outcome(text or "There are no tasks.", display={"tasks": listed})
