"""TaskCreate, TaskUpdate, TaskList, TaskGet: single tasks, stored as a whole list with each change (H1-4)."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobstay.model.event import Durable, Task, TasksReplaced
from bobstay.tools.base import Context, Outcome, Tool, ToolError
from bobstay.tools.builtin.task_create import TaskCreate
from bobstay.tools.builtin.task_get import TaskGet
from bobstay.tools.builtin.task_list import ListTasks
from bobstay.tools.builtin.task_update import TaskUpdate
from bobstay.tools.input_validation import parse_input
from bobstay.tools.schema import build_schema
from bobstay.tools.session_tasks import SessionTasks, TaskEdit
from tests.kit.tool_context import make_context


class Tasks:
    """The tools with the list that their events leave behind, as the log folds it."""

    def __init__(self, folder: Path, **services: Any) -> None:
        self.last = TasksReplaced(())
        self.context = make_context(
            folder, tasks=lambda: self.last.tasks, last_task_id=lambda: self.last.last_id, **services
        )

    async def call(self, tool: Tool[Any], **input: Any) -> Outcome:
        outcome = await tool.run(parse_input(tool.args, input, build_schema(tool.args)), self.context)
        for event in outcome.events:
            assert isinstance(event, TasksReplaced)
            stored = msgspec.json.decode(msgspec.json.encode(event), type=TasksReplaced)
            assert stored == event
            self.last = stored
        return outcome

    async def create(self, *subjects: str) -> None:
        for subject in subjects:
            await self.call(TaskCreate(), subject=subject, description=f"do {subject}")

    def rows(self) -> list[tuple[str, str, str]]:
        return [(task.id, task.content, task.status) for task in self.last.tasks]


async def test_a_created_task_is_pending_and_has_the_next_number(tmp_path: Path) -> None:
    tasks = Tasks(tmp_path)
    outcome = await tasks.call(
        TaskCreate(), subject="Fix it", description="Until it is fixed", activeForm="Fixing it", metadata={"file": "a"}
    )
    assert outcome.display == {"task": {"id": "1", "subject": "Fix it"}}
    assert "#1" in str(outcome.content)
    expected = Task("Fix it", "pending", "Fixing it", "1", "Until it is fixed", metadata={"file": "a"})
    assert tasks.last == TasksReplaced((expected,), 1)
    await tasks.create("Then this")
    assert tasks.rows() == [("1", "Fix it", "pending"), ("2", "Then this", "pending")]


async def test_a_number_is_never_given_twice(tmp_path: Path) -> None:
    tasks = Tasks(tmp_path)
    await tasks.create("a", "b")
    await tasks.call(TaskUpdate(), taskId="2", status="deleted")
    await tasks.create("c")
    assert tasks.rows() == [("1", "a", "pending"), ("3", "c", "pending")]


async def test_an_update_names_what_it_changed(tmp_path: Path) -> None:
    tasks = Tasks(tmp_path)
    await tasks.create("a")
    outcome = await tasks.call(
        TaskUpdate(), taskId="#1", subject="b", activeForm="b-ing", status="in_progress", owner="me", metadata={"k": 1}
    )
    assert outcome.display == {
        "success": True,
        "taskId": "1",
        "updatedFields": ["subject", "status", "activeForm", "owner", "metadata"],
        "statusChange": {"from": "pending", "to": "in_progress"},
    }
    again = await tasks.call(TaskUpdate(), taskId="1", owner="me", metadata={"k": None})
    assert again.display == {"success": True, "taskId": "1", "updatedFields": ["metadata"]}
    assert tasks.last.tasks[0].metadata == {}
    assert "like that already" in str((await tasks.call(TaskUpdate(), taskId="1", owner="me")).content)


async def test_tasks_wait_for_each_other_until_they_are_done_or_gone(tmp_path: Path) -> None:
    tasks = Tasks(tmp_path)
    await tasks.create("a", "b", "c")
    await tasks.call(TaskUpdate(), taskId="3", addBlockedBy=["1"])
    await tasks.call(TaskUpdate(), taskId="2", addBlocks=["3"])
    listed = await tasks.call(ListTasks())
    assert listed.content == "#1 [pending] a\n#2 [pending] b\n#3 [pending] c [blocked by #1, #2]"
    assert listed.display["tasks"][2] == {"id": "3", "subject": "c", "status": "pending", "blockedBy": ["1", "2"]}
    done = await tasks.call(TaskUpdate(), taskId="1", status="completed")
    assert "Next could be #2" in str(done.content)
    assert (await tasks.call(ListTasks())).display["tasks"][2]["blockedBy"] == ["2"]
    await tasks.call(TaskUpdate(), taskId="2", status="deleted")
    assert (await tasks.call(ListTasks())).display["tasks"][1]["blockedBy"] == []
    assert (await tasks.call(TaskGet(), taskId="3")).display["task"]["blockedBy"] == ["1"]


@pytest.mark.parametrize(
    ("input", "phrase"),
    [
        ({"taskId": "9"}, "no task #9"),
        ({"taskId": "1", "addBlocks": ["9"]}, "no task #9"),
        ({"taskId": "1", "addBlocks": ["1"]}, "wait for each other"),
        ({"taskId": "1", "addBlockedBy": ["3"]}, "wait for each other"),
    ],
)
async def test_what_makes_no_sense_changes_nothing(tmp_path: Path, input: dict[str, Any], phrase: str) -> None:
    tasks = Tasks(tmp_path)
    await tasks.create("a", "b", "c")
    await tasks.call(TaskUpdate(), taskId="1", addBlocks=["2"])
    await tasks.call(TaskUpdate(), taskId="2", addBlocks=["3"])
    before = tasks.last
    with pytest.raises(ToolError, match=phrase):
        await tasks.call(TaskUpdate(), **input)
    assert tasks.last == before


async def test_one_task_is_shown_whole(tmp_path: Path) -> None:
    tasks = Tasks(tmp_path)
    await tasks.create("a", "b")
    await tasks.call(TaskUpdate(), taskId="1", addBlocks=["2"], owner="me", metadata={"k": [1]})
    shown = await tasks.call(TaskGet(), taskId="1")
    assert shown.display["task"] == {
        "id": "1",
        "subject": "a",
        "description": "do a",
        "status": "pending",
        "blocks": ["2"],
        "blockedBy": [],
        "owner": "me",
        "metadata": {"k": [1]},
    }
    assert shown.content == '#1 [pending] a (me)\ndo a\nBlocks: #2\nKept with it: {"k":[1]}'


async def test_hooks_may_refuse_a_new_task_and_a_completed_one(tmp_path: Path) -> None:
    asked: list[tuple[str, str]] = []

    async def judge(event: str, task: Task) -> str:
        asked.append((event, task.content))
        return "NOT SO" if task.content == "bad" or event == "TaskCompleted" else ""

    tasks = Tasks(tmp_path, judge_task=judge)
    await tasks.create("good")
    with pytest.raises(ToolError, match="not created: NOT SO"):
        await tasks.create("bad")
    with pytest.raises(ToolError, match="not completed: NOT SO"):
        await tasks.call(TaskUpdate(), taskId="1", status="completed")
    await tasks.call(TaskUpdate(), taskId="1", status="in_progress")
    assert tasks.rows() == [("1", "good", "in_progress")]
    assert asked == [("TaskCreated", "good"), ("TaskCreated", "bad"), ("TaskCompleted", "good")]


async def test_a_list_that_was_written_as_a_whole_gets_numbers(tmp_path: Path) -> None:
    tasks = Tasks(tmp_path)
    tasks.last = TasksReplaced((Task("old", "completed"), Task("other", "pending")))
    await tasks.create("new")
    assert tasks.rows() == [("1", "old", "completed"), ("2", "other", "pending"), ("3", "new", "pending")]


async def test_the_list_is_bounded(tmp_path: Path) -> None:
    tasks = Tasks(tmp_path)
    tasks.last = TasksReplaced(tuple(Task(str(number), "pending", id=str(number)) for number in range(1, 201)), 200)
    with pytest.raises(ToolError, match="200 tasks"):
        await tasks.create("one more")
    tasks.last = TasksReplaced((Task("x", "pending", id="1", metadata={"k": "x" * 300_000}),), 1)
    with pytest.raises(ToolError, match="256 KiB"):
        await tasks.create("one more")


def test_an_entry_of_an_earlier_version_is_still_read() -> None:
    entry = b'{"type":"tasks_replaced","tasks":[{"content":"a","status":"pending"}]}'
    assert msgspec.json.decode(entry, type=Durable) == TasksReplaced((Task("a", "pending"),))
    assert msgspec.json.encode(TasksReplaced((Task("a", "pending"),))) == entry


EDITS = st.lists(
    st.tuples(
        st.sampled_from(["create", "delete", "block"]),
        st.sampled_from(list("123456")),
        st.sampled_from(list("123456")),
    ),
    max_size=30,
)


@given(edits=EDITS)
def test_the_links_of_tasks_always_agree_and_never_run_in_a_circle(edits: list[tuple[str, str, str]]) -> None:
    now = TasksReplaced(())
    context: Context = make_context(Path("/nonexistent"), tasks=lambda: now.tasks, last_task_id=lambda: now.last_id)
    for kind, one, other in edits:
        tasks = SessionTasks(context)
        try:
            match kind:
                case "create":
                    tasks.create(Task("x", "pending"))
                case "delete":
                    tasks.delete(one)
                case _:
                    tasks.change(one, TaskEdit(add_blocks=(other,)))
        except ToolError:
            continue
        now = tasks.event()
    listed = now.tasks
    by_id = {task.id: task for task in listed}
    assert len(by_id) == len(listed)
    for task in listed:
        assert all(task.id in by_id[blocked].blocked_by for blocked in task.blocks)
        assert all(task.id in by_id[blocker].blocks for blocker in task.blocked_by)
    reached = {task.id for task in listed if not task.blocked_by}
    for _ in listed:
        reached |= {task.id for task in listed if set(task.blocked_by) <= reached}
    assert reached == set(by_id)
