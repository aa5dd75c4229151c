"""TodoWrite: replaces the task list of the session."""

from typing import Annotated, Any, Literal

from msgspec import Meta, field

from bobstay.model.event import Task, TasksReplaced
from bobstay.permissions.access import Access
from bobstay.tools.base import Args, Claim, Context, Outcome, Tool


class Todo(Args, frozen=True):
    content: Annotated[str, Meta(min_length=1, description="What is to be done, as an instruction: Fix the parser")]
    status: Literal["pending", "in_progress", "completed"]
    active_form: Annotated[str, Meta(description="The same in the present continuous: Fixing the parser")] = field(
        name="activeForm", default=""
    )


class TodoWriteArgs(Args, frozen=True):
    todos: Annotated[list[Todo], Meta(max_length=200, description="The whole list; it replaces the one before")]


class TodoWrite(Tool[TodoWriteArgs]):
    name = "TodoWrite"
    hint = "todo list, tasks, plan the work, track progress"
    needs = "todos"
    description = """\
Keep a list of the steps of the task at hand. The user watches it to see where you are.

Use it for work of three or more steps, or when the user names several things to do. Do not use it for a single simple \
step or a plain question.

- Send the whole list each time: it replaces the one before. An empty list clears it.
- Mark a step in_progress before you begin it, and keep exactly one in progress at a time.
- Mark a step completed as soon as it is really done. If tests fail or something is missing it is not done: leave it \
in progress and add a step for what blocks it.
- Add steps you discover, drop steps that turned out needless."""
    args = TodoWriteArgs

    def read_only(self, args: TodoWriteArgs, context: Context) -> bool:
        return True

    def access(self, args: TodoWriteArgs, context: Context) -> tuple[Access, ...]:
        return (Access("none"),)

    def claims(self, args: TodoWriteArgs, context: Context) -> tuple[Claim, ...]:
        return (Claim("tasks"),)

    async def run(self, args: TodoWriteArgs, context: Context) -> Outcome:
        tasks = context.services.tasks
        old: tuple[Task, ...] = tasks() if tasks is not None else ()
        new = tuple(Task(todo.content, todo.status, todo.active_form) for todo in args.todos)
        return Outcome(
            _answer(new),
            display={"oldTodos": [_shown(task) for task in old], "newTodos": [_shown(task) for task in new]},
            events=(TasksReplaced(new),),
        )


def _answer(tasks: tuple[Task, ...]) -> str:
    if not tasks:
        return "The list is empty now."
    done = sum(task.status == "completed" for task in tasks)
    running = sum(task.status == "in_progress" for task in tasks)
    answer = f"The list is saved: {done} of {len(tasks)} done."
    if done == len(tasks):
        return answer + " Nothing is left on it."
    if running == 0:
        return answer + " No step is in progress: mark the one you work on next."
    if running > 1:
        return answer + f" {running} steps are in progress: keep it to one at a time."
    return answer + " Continue with the step in progress, and keep the list up to date."


def _shown(task: Task) -> dict[str, Any]:
    return {"content": task.content, "status": task.status, "activeForm": task.active_form or task.content}
