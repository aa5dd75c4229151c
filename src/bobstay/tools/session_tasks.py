"""The task list of a session: creating and changing single tasks, and what the model reads of them.

The list is never changed in place: every change makes a new one, which is stored as a whole.
"""

from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from bobstay.model.event import Task, TasksReplaced
from bobstay.tools.base import Context
from bobstay.tools.tool_error import ToolError

TaskStatus: TypeAlias = Literal["pending", "in_progress", "completed"]
MOST_TASKS = 200
MOST_BYTES = 256 * 1024
"""Of the whole list, which every change stores again."""


class TaskEdit(Struct, frozen=True):
    """What to change of a task; None leaves a field as it is."""

    content: str | None = None
    description: str | None = None
    active_form: str | None = None
    status: TaskStatus | None = None
    owner: str | None = None
    metadata: dict[str, Any] | None = None
    """Merged into the task's own; a value of None removes its key."""
    add_blocks: tuple[str, ...] = ()
    add_blocked_by: tuple[str, ...] = ()


class SessionTasks:
    """The list as it is when a call begins."""

    def __init__(self, context: Context) -> None:
        services = context.services
        listed = services.tasks() if services.tasks is not None else ()
        last = services.last_task_id() if services.last_task_id is not None else 0
        # A list that was written as a whole has no ids yet; its tasks are numbered as they stand.
        used = [int(task.id) for task in listed if task.id.isascii() and task.id.isdigit()]
        self._last = max((last, *used))
        self.tasks: dict[str, Task] = {}
        for task in listed:
            numbered = task if task.id else replace(task, id=self._next_id())
            self.tasks[numbered.id] = numbered

    def create(self, task: Task) -> Task:
        """Add a task, with the next id.

        Raises:
            ToolError: the list is full.
        """
        if len(self.tasks) >= MOST_TASKS:
            raise ToolError(f"The list has {MOST_TASKS} tasks, which is the most. Delete those that are done.")
        created = replace(task, id=self._next_id())
        self.tasks[created.id] = created
        return created

    def find(self, id: str) -> Task:
        """Raises `ToolError` if there is no such task."""
        task = self.tasks.get(id.strip().removeprefix("#"))
        if task is None:
            known = ", ".join(f"#{each}" for each in self.tasks) or "none"
            raise ToolError(f"There is no task #{id[:40]}. The tasks are: {known}.")
        return task

    def change(self, id: str, change: TaskEdit) -> tuple[Task, list[str]]:
        """Change a task. Returns it, and the names of the fields that changed.

        Raises:
            ToolError: there is no such task, or tasks would wait for each other.
        """
        before = self.find(id)
        fields = {name: value for name in _PLAIN_FIELDS if (value := getattr(change, name)) is not None}
        if change.metadata is not None:
            merged = {**before.metadata, **change.metadata}
            fields["metadata"] = {key: value for key, value in merged.items() if value is not None}
        self.tasks[before.id] = replace(before, **fields)
        for other in change.add_blocks:
            self._link(before.id, self.find(other).id)
        for other in change.add_blocked_by:
            self._link(self.find(other).id, before.id)
        after = self.tasks[before.id]
        return after, [name for name in after.__struct_fields__ if getattr(after, name) != getattr(before, name)]

    def delete(self, id: str) -> Task:
        """Remove a task; nothing waits for it anymore."""
        task = self.find(id)
        del self.tasks[task.id]
        for other in self.tasks.values():
            if task.id in other.blocks or task.id in other.blocked_by:
                self.tasks[other.id] = replace(
                    other,
                    blocks=tuple(each for each in other.blocks if each != task.id),
                    blocked_by=tuple(each for each in other.blocked_by if each != task.id),
                )
        return task

    def event(self) -> TasksReplaced:
        """Return the event that stores the list.

        Raises:
            ToolError: it is too long to be stored with every change.
        """
        event = TasksReplaced(tuple(self.tasks.values()), self._last)
        if len(msgspec.json.encode(event)) > MOST_BYTES:
            raise ToolError(
                f"The task list would exceed {MOST_BYTES // 1024} KiB. Shorten descriptions, or delete what is done."
            )
        return event

    def open_blockers(self, task: Task) -> list[str]:
        """Return the ids of the tasks this one still waits for."""
        return [id for id in task.blocked_by if id in self.tasks and self.tasks[id].status != "completed"]

    def line(self, task: Task) -> str:
        """Return a task in one line, for the model."""
        owner = f" ({task.owner})" if task.owner else ""
        waiting = ", ".join(f"#{id}" for id in self.open_blockers(task))
        return f"#{task.id} [{task.status}] {task.content}{owner}" + (f" [blocked by {waiting}]" if waiting else "")

    def _link(self, blocker: str, waiting: str) -> None:
        if blocker == waiting or self._waits_for(blocker, waiting):
            raise ToolError(f"Task #{waiting} cannot wait for #{blocker}: both would wait for each other for ever.")
        first, second = self.tasks[blocker], self.tasks[waiting]
        if waiting not in first.blocks:
            self.tasks[blocker] = replace(first, blocks=(*first.blocks, waiting))
        if blocker not in second.blocked_by:
            self.tasks[waiting] = replace(second, blocked_by=(*second.blocked_by, blocker))

    def _waits_for(self, id: str, other: str) -> bool:
        """Whether one task waits for another, directly or through others."""
        reached: set[str] = set()
        following = [id]
        while following:
            here = following.pop()
            if here == other:
                return True
            if here not in reached and here in self.tasks:
                reached.add(here)
                following.extend(self.tasks[here].blocked_by)
        return False

    def _next_id(self) -> str:
        self._last += 1
        return str(self._last)


_PLAIN_FIELDS = ("content", "description", "active_form", "status", "owner")
