"""Tracks the task list of an engine through the tool calls that change it.

Two kinds of tools are recognised by their inputs and outputs, not by name: one that replaces the whole list with each
call (`todos`), and one that creates, changes and lists single tasks (`task`, `taskId`, `tasks`).
"""

from typing import Any, Literal, TypeAlias

from bobstay.model.event import Task
from bobstay.model.message import ToolCall
from bobstay.server.workers.process.untrusted_fields import text

State: TypeAlias = Literal["pending", "in_progress", "completed"]


class EngineTasks:
    def __init__(self) -> None:
        self._rows: dict[str, Task] = {}

    def after(self, call: ToolCall, display: Any) -> tuple[Task, ...] | None:
        """The tasks after a successful call; None if it did not concern tasks."""
        todos = call.input.get("todos")
        if isinstance(todos, list):
            self._rows = {str(number): row for number, entry in enumerate(todos) if (row := _todo(entry)) is not None}
        elif isinstance(display, dict) and isinstance(display.get("tasks"), list) and not call.input:
            self._listed(display["tasks"])
        elif isinstance(display, dict) and isinstance(display.get("task"), dict) and "subject" in call.input:
            self._made(call.input, display["task"])
        elif isinstance(call.input.get("taskId"), str) and isinstance(display, dict) and display.get("success") is True:
            self._changed(call.input["taskId"], call.input)
        else:
            return None
        return tuple(self._rows.values())

    def _listed(self, entries: list[Any]) -> None:
        before, self._rows = self._rows, {}
        for entry in entries:
            if isinstance(entry, dict) and (id := text(entry, "id")):
                known = before.get(id)
                subject = text(entry, "subject") or (known.content if known else "")
                self._rows[id] = Task(subject, _state(entry.get("status")), known.active_form if known else "")

    def _made(self, input: dict[str, Any], task: dict[str, Any]) -> None:
        if id := text(task, "id"):
            subject = text(task, "subject") or text(input, "subject")
            self._rows[id] = Task(subject, "pending", text(input, "activeForm"))

    def _changed(self, id: str, input: dict[str, Any]) -> None:
        known = self._rows.get(id, Task(f"Task {id}", "pending"))
        if input.get("status") == "deleted":
            self._rows.pop(id, None)
            return
        self._rows[id] = Task(
            text(input, "subject") or known.content,
            _state(input["status"]) if "status" in input else known.status,
            text(input, "activeForm") or known.active_form,
        )


def _todo(entry: Any) -> Task | None:
    if not isinstance(entry, dict):
        return None
    content = text(entry, "content") or text(entry, "subject")
    return Task(content, _state(entry.get("status")), text(entry, "activeForm") or text(entry, "active_form"))


def _state(value: Any) -> State:
    """The state of a task; an unknown one counts as pending."""
    if value == "in_progress":
        return "in_progress"
    return "completed" if value == "completed" else "pending"
