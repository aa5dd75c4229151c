"""TaskCreate: adds one task to the task list of the session."""

from typing import Annotated, Any

from msgspec import Meta, field

from bobstay.model.event import Task
from bobstay.permissions.access import Access
from bobstay.tools.base import Args, Claim, Context, Outcome, Tool, ToolError
from bobstay.tools.session_tasks import SessionTasks


class TaskCreateArgs(Args, frozen=True):
    subject: Annotated[
        str, Meta(min_length=1, max_length=500, description="A short title, as an instruction: Fix the parser")
    ]
    description: Annotated[str, Meta(max_length=10_000, description="What is to be done, and when it is done")]
    active_form: Annotated[
        str, Meta(max_length=500, description="The title in the present continuous: Fixing the parser")
    ] = field(name="activeForm", default="")
    metadata: Annotated[dict[str, Any], Meta(description="Anything you want to keep with it")] = {}


class TaskCreate(Tool[TaskCreateArgs]):
    name = "TaskCreate"
    hint = "todo list, tasks, plan the work, add a task"
    needs = "tasks"
    description = """\
Add a task to the list of this session. The user watches the list to see where you are, and other agents may take \
tasks from it.

Use it for work of three or more steps, or when the user names several things to do; not for a single simple step or a \
plain question. A new task is pending and has no owner. TaskUpdate says which tasks wait for others; TaskList shows \
what there is, so that nothing is added twice."""
    args = TaskCreateArgs

    def read_only(self, args: TaskCreateArgs, context: Context) -> bool:
        return True

    def access(self, args: TaskCreateArgs, context: Context) -> tuple[Access, ...]:
        return (Access("none"),)

    def claims(self, args: TaskCreateArgs, context: Context) -> tuple[Claim, ...]:
        return (Claim("tasks"),)

    async def run(self, args: TaskCreateArgs, context: Context) -> Outcome:
        tasks = SessionTasks(context)
        wanted = Task(args.subject, "pending", args.active_form, description=args.description, metadata=args.metadata)
        created = tasks.create(wanted)
        event = tasks.event()
        judge = context.services.judge_task
        if judge is not None and (why := await judge("TaskCreated", created)):
            raise ToolError(f"The task was not created: {why}")
        return Outcome(
            f"Task #{created.id} created: {created.content}",
            display={"task": {"id": created.id, "subject": created.content}},
            events=(event,),
        )
