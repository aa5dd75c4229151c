"""TodoWrite: the task list."""

from pathlib import Path
from typing import Any

import pytest

from bobstay.model.event import Task, TasksReplaced
from bobstay.permissions.access import Access
from bobstay.tools.base import Outcome
from bobstay.tools.builtin.todo_write import TodoWrite, TodoWriteArgs
from bobstay.tools.input_validation import InvalidInputError, parse_input
from bobstay.tools.schema import build_schema
from tests.kit.tool_context import make_context

FIRST = {"content": "First", "status": "in_progress", "activeForm": "Doing first"}
SECOND = {"content": "Second", "status": "pending", "activeForm": "Doing second"}


async def write(folder: Path, *todos: dict[str, Any], old: tuple[Task, ...] = ()) -> Outcome:
    args = parse_input(TodoWriteArgs, {"todos": list(todos)}, build_schema(TodoWriteArgs))
    return await TodoWrite().run(args, make_context(folder, tasks=lambda: old))


async def test_the_list_is_replaced_and_hosts_see_the_old_and_the_new(tmp_path: Path) -> None:
    """H1-4"""
    outcome = await write(tmp_path, FIRST, SECOND, old=(Task("Zeroth", "completed"),))
    assert outcome.events == (
        TasksReplaced((Task("First", "in_progress", "Doing first"), Task("Second", "pending", "Doing second"))),
    )
    assert outcome.display == {
        "oldTodos": [{"content": "Zeroth", "status": "completed", "activeForm": "Zeroth"}],
        "newTodos": [FIRST, SECOND],
    }


@pytest.mark.parametrize(
    ("statuses", "phrase"),
    [
        (["in_progress", "pending"], "0 of 2 done. Continue"),
        (["pending"], "No step is in progress"),
        (["in_progress", "in_progress", "completed"], "2 steps are in progress: keep it to one"),
        (["completed", "completed"], "2 of 2 done. Nothing is left"),
        ([], "empty"),
    ],
)
async def test_the_model_is_told_how_its_list_stands(tmp_path: Path, statuses: list[str], phrase: str) -> None:
    todos = [{"content": f"step {number}", "status": status} for number, status in enumerate(statuses)]
    assert phrase in str((await write(tmp_path, *todos)).content)


async def test_it_works_in_a_session_without_a_list_so_far(tmp_path: Path) -> None:
    args = parse_input(TodoWriteArgs, {"todos": [FIRST]}, build_schema(TodoWriteArgs))
    outcome = await TodoWrite().run(args, make_context(tmp_path))
    assert outcome.display["oldTodos"] == []


def test_it_touches_nothing(tmp_path: Path) -> None:
    tool, args = TodoWrite(), TodoWriteArgs([])
    assert tool.access(args, make_context(tmp_path)) == (Access("none"),)
    assert tool.read_only(args, make_context(tmp_path))


def test_a_wrong_status_is_explained() -> None:
    """H2-2"""
    with pytest.raises(
        InvalidInputError, match=r'todos\[0\].status must be one of "completed", "in_progress", "pending"'
    ):
        parse_input(TodoWriteArgs, {"todos": [{"content": "x", "status": "done"}]}, build_schema(TodoWriteArgs))
