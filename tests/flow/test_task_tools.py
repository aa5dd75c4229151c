"""The tools for single tasks in a session: stored, folded, resumed, and judged by hooks (H1-4, H9-6)."""

from bobstay.hooks.hook_event import HookCall, HookOutcome
from bobstay.model.event import HookRan, Task, TasksReplaced, ToolDone
from tests.kit.scripted_session import MakeSession, ScriptedHooks
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer

END = Step(blocks=[Say("End.")])


def create(subject: str, id_: str) -> Call:
    return Call("TaskCreate", {"subject": subject, "description": f"do {subject}"}, id_)


async def test_tasks_made_at_once_all_count_and_survive_a_resume(model: ModelServer, make_session: MakeSession) -> None:
    session = make_session(task_tools=True)
    await session.run(model.play("made", Step(blocks=[create("a", "1"), create("b", "2")]), END))
    assert len(session.of(TasksReplaced)) == 2
    assert [(task.id, task.content) for task in session.driver.state.tasks] == [("1", "a"), ("2", "b")]
    await session.close()

    again = make_session(task_tools=True)
    deletes = Step(blocks=[Call("TaskUpdate", {"taskId": "2", "status": "deleted"}, "3")])
    await again.run(model.play("again", deletes, Step(blocks=[create("c", "4")]), END))
    assert again.driver.state.tasks == (
        Task("a", "pending", id="1", description="do a"),
        Task("c", "pending", id="3", description="do c"),
    )


async def test_a_hook_may_refuse_a_task(model: ModelServer, make_session: MakeSession) -> None:
    hooks = ScriptedHooks(TaskCreated=lambda _: HookOutcome(decision="block", reason="ENOUGH TO DO"))
    session = make_session(task_tools=True, hooks=hooks)
    await session.run(model.play("refused", Step(blocks=[create("a", "1")]), END))
    (call,) = hooks.calls
    assert (call.fields["task_id"], call.fields["task_subject"], call.fields["task_description"]) == ("1", "a", "do a")
    (done,) = session.of(ToolDone)
    assert done.reply.is_error
    assert "ENOUGH TO DO" in done.reply.text
    assert session.driver.state.tasks == ()
    (ran,) = session.of(HookRan)
    assert (ran.hook, ran.outcome, ran.text) == ("TaskCreated", "block", "ENOUGH TO DO")


async def test_a_completed_task_is_told_to_hooks_once(model: ModelServer, make_session: MakeSession) -> None:
    told: list[str] = []

    def hear(call: HookCall) -> HookOutcome:
        told.append(call.fields["task_subject"])
        return HookOutcome()

    session = make_session(task_tools=True, hooks=ScriptedHooks(TaskCompleted=hear))
    update = [Step(blocks=[Call("TaskUpdate", {"taskId": "1", "status": "completed"}, id_)]) for id_ in ("2", "3")]
    await session.run(model.play("completed", Step(blocks=[create("a", "1")]), *update, END))
    assert told == ["a"]


async def test_only_one_family_of_tools_is_offered(model: ModelServer, make_session: MakeSession) -> None:
    session = make_session(task_tools=True)
    await session.run(model.play("one", END))
    single = {tool["name"] for tool in model.requests[-1].body["tools"]}
    await session.close()
    other = make_session()
    await other.run(model.play("two", END))
    whole = {tool["name"] for tool in model.requests[-1].body["tools"]}
    family = {"TaskCreate", "TaskUpdate", "TaskList", "TaskGet"}
    assert (single ^ whole, single & whole & family) == (family | {"TodoWrite"}, set())
