"""The native worker: statuses, approvals, interrupts, queues, idling (S000-17..30, S004-9..19)."""

import asyncio
from pathlib import Path

import pytest

from bobstay.engine.engine_ports import Answer
from bobstay.model.event import InteractionClosed, InteractionOpened, Prompted, RunDone, ToolDone, ToolStarted
from bobstay.model.message import Text, ToolCall
from bobstay.model.session_events import WorkerExited, WorkerStarted
from bobstay.providers.catalogue import lookup
from bobstay.server.errors import ApiError
from bobstay.server.inbox import Inbox
from bobstay.server.session_creation import UserMessage
from bobstay.server.sessions.open_interactions import input_hash
from bobstay.server.sessions.session_view import SessionView, context_limit
from tests.kit.consoles import BareConsole, StartConsole
from tests.kit.waiting import until
from tests.modelserver.script import Call, Gate, Say, Step
from tests.modelserver.server import ModelServer


def statuses(console: BareConsole, session_id: str) -> list[str]:
    """Each status the session went through, from its events alone."""
    view, found = SessionView(session_id), ["draft"]
    for envelope in console.registry.reader(session_id).read():
        view = view.apply(envelope)
        if view.status != found[-1]:
            found.append(view.status)
    return found


async def test_a_launched_session_runs_and_completes(model: ModelServer, start_console: StartConsole) -> None:
    """S000-18, S000-21."""
    console = await start_console()
    view = await console.launch(model.play("hello", Step(blocks=[Say("Hello.")])))
    done = await console.until_status(view.id, "completed")
    assert statuses(console, view.id) == ["draft", "starting", "running", "completed"]
    assert (done.turns, done.steps, done.activity) == (1, 1, "idle")
    assert done.title == "SCN:hello"


async def test_a_session_without_words_is_a_draft(start_console: StartConsole) -> None:
    console = await start_console()
    view = await console.launch("")
    assert (view.status, console.runner.slots) == ("draft", {})


async def test_an_approval_is_waited_for_and_given(model: ModelServer, start_console: StartConsole) -> None:
    """S004-19: asking; the call runs after the answer and not before."""
    console = await start_console()
    prompt = model.play("ask", Step(blocks=[Call("Bash", {"command": "touch ran"}, "c")]), Step(blocks=[Say("ok")]))
    view = await console.launch(prompt)
    waiting = await console.until_status(view.id, "waiting_input")
    assert waiting.activity == "asking"
    await until(lambda: not console.capacity.running)
    assert console.capacity.running == 0, "whoever waits for a person takes up no place"
    assert not (console.work / "ran").exists()
    await console.answer(waiting, Answer(True, by="ada"))
    await console.until_status(view.id, "completed")
    assert (console.work / "ran").exists()
    assert [event.by for event in console.events(view.id) if isinstance(event, InteractionClosed)] == ["ada"]


async def test_the_second_answer_gets_the_outcome_of_the_first(model: ModelServer, start_console: StartConsole) -> None:
    """FM-36."""
    console = await start_console()
    prompt = model.play("ask", Step(blocks=[Call("Bash", {"command": "touch ran"}, "c")]), Step(blocks=[Say("ok")]))
    view = await console.launch(prompt)
    waiting = await console.until_status(view.id, "waiting_input")
    await console.answer(waiting, Answer(False, "not now", by="ada"))
    with pytest.raises(ApiError) as caught:
        await console.answer(waiting, Answer(True, by="bob"))
    assert caught.value.problem.code == "already_answered"
    assert caught.value.problem.details["outcome"].by == "ada"
    await console.until_status(view.id, "completed")
    assert not (console.work / "ran").exists()


@pytest.mark.parametrize("trouble", [ApiError("cannot_start", "no"), RuntimeError("a fault of ours")], ids=str)
async def test_an_answer_nobody_heard_can_be_given_again(trouble: Exception) -> None:
    inbox = Inbox()
    opened = InteractionOpened("one", "permission", ToolCall("c", "Bash", {"command": "touch ran"}))
    inbox.observe("session", opened)

    async def lost(_: str, __: str, ___: Answer) -> None:
        raise trouble

    with pytest.raises(type(trouble)):
        await inbox.decide("one", Answer(True), input_hash(opened.call), lost)
    again = asyncio.create_task(inbox.decide("one", Answer(False), input_hash(opened.call)))
    assert not (await inbox.wait("session", opened)).allow
    inbox.observe("session", InteractionClosed("one", "denied"))
    assert (await again).outcome == "denied"


async def test_an_answer_to_another_input_is_refused(model: ModelServer, start_console: StartConsole) -> None:
    """FM-35: two calls that look alike are told apart, by call and by input."""
    console = await start_console()
    calls = [Call("Bash", {"command": "touch ran"}, id) for id in ("a", "b")]
    view = await console.launch(model.play("ask", Step(blocks=list(calls)), Step(blocks=[Say("ok")])))
    waiting = await console.until(view.id, lambda view: bool(view.interactions))
    first = waiting.interactions[0]
    with pytest.raises(ApiError) as caught:
        await console.inbox.decide(first.id, Answer(True), "0" * 64)
    assert caught.value.problem.code == "input_changed"
    await console.answer(waiting, Answer(True))
    again = await console.until(view.id, lambda view: bool(view.interactions) and view.interactions[0].id != first.id)
    assert again.interactions[0].input_sha256 != first.input_sha256
    await console.answer(again, Answer(False))
    await console.until_status(view.id, "completed")


async def test_an_interrupt_ends_the_turn(model: ModelServer, start_console: StartConsole) -> None:
    """S000-25, S000-85; nothing that ran survives."""
    console = await start_console()
    prompt = model.play("long", Step(blocks=[Call("Bash", {"command": "sleep 1000"}, "c")]), Step(blocks=[Say("x")]))
    view = await console.launch(prompt, allowed_tools=("Bash(sleep *)",))
    await console.until(view.id, lambda view: any(isinstance(event, ToolStarted) for event in console.events(view.id)))
    await console.commands.interrupt(view.id, by="ada")
    await console.until_status(view.id, "interrupted")
    assert statuses(console, view.id)[-2:] == ["interrupting", "interrupted"]
    done = [event for event in console.events(view.id) if isinstance(event, RunDone)]
    assert [event.ending for event in done] == ["interrupted_tools"], "exactly one end (FM-11)"


async def test_interrupting_what_does_not_run_is_a_conflict(model: ModelServer, start_console: StartConsole) -> None:
    console = await start_console()
    view = await console.launch(model.play("hello", Step(blocks=[Say("Hello.")])))
    await console.until_status(view.id, "completed")
    with pytest.raises(ApiError, match="completed") as caught:
        await console.commands.interrupt(view.id)
    assert caught.value.status == 409


async def test_the_same_message_five_times_is_heard_once(model: ModelServer, start_console: StartConsole) -> None:
    """FM-7."""
    console = await start_console()
    gate = Gate()
    view = await console.launch(model.play("one", Step(blocks=[Say("wait")], gate=gate)))
    await gate.reached()
    text = UserMessage((Text(model.play("two", Step(blocks=[Say("second")]))),), "ada", "client-1")
    ids = {await console.commands.send_message(view.id, text) for _ in range(5)}
    gate.open()
    await console.until(view.id, lambda view: view.turns == 2 and view.status == "completed")
    ids.add(await console.commands.send_message(view.id, text))
    assert len(ids) == 1
    prompts = [event for event in console.events(view.id) if isinstance(event, Prompted) and event.origin == "human"]
    assert len(prompts) == 2


async def test_only_so_many_run_at_once(model: ModelServer, start_console: StartConsole) -> None:
    """S000-Q3: the others wait in line, starting."""
    console = await start_console(most_running=1)
    gate = Gate()
    first = await console.launch(model.play("one", Step(blocks=[Say("wait")], gate=gate)))
    await gate.reached()
    second = await console.launch(model.play("two", Step(blocks=[Say("second")])))
    assert console.registry.view(second.id).status == "starting"
    await until(lambda: console.capacity.waiting)
    gate.open()
    await console.until_status(first.id, "completed")
    await console.until_status(second.id, "completed")


async def test_a_worker_put_to_sleep_is_woken_by_the_next_message(
    model: ModelServer, start_console: StartConsole
) -> None:
    console = await start_console()
    view = await console.launch(model.play("one", Step(blocks=[Say("First.")])))
    await console.until_status(view.id, "completed")
    await console.runner.stop_agent(view.id)
    assert console.registry.get_open(view.id) is None
    await console.say(view.id, model.play("two", Step(blocks=[Say("Second.")])))
    done = await console.until(view.id, lambda view: view.turns == 2 and view.status == "completed")
    assert [worker.epoch for worker in done.workers] == [2]
    assert "First." in str(model.requests[-1].body["messages"])
    kinds = [type(event) for event in console.events(view.id) if isinstance(event, WorkerStarted | WorkerExited)]
    assert kinds == [WorkerStarted, WorkerExited, WorkerStarted]


async def test_a_session_that_can_no_longer_start_is_failed_and_says_why(start_console: StartConsole) -> None:
    """S000-18, S000-22."""
    first = await start_console()
    view = await first.launch("")
    await first.close()
    second = await start_console(key="")
    with pytest.raises(ApiError) as caught:
        await second.say(view.id, "hello")
    assert caught.value.problem.code == "cannot_start"
    failed = second.registry.view(view.id)
    assert failed.status == "failed"
    assert failed.error


async def test_continuing_makes_a_child_that_remembers(model: ModelServer, start_console: StartConsole) -> None:
    """S000-27..29."""
    console = await start_console()
    view = await console.launch(model.play("one", Step(blocks=[Say("First.")])))
    await console.until_status(view.id, "completed")
    prompt = model.play("two", Step(blocks=[Say("Second.")]))
    child = await console.creation.continue_session(view.id, UserMessage((Text(prompt),), "ada"))
    assert (child.parent, child.id != view.id) == (view.id, True)
    await console.until_status(child.id, "completed")
    assert "First." in str(model.requests[-1].body["messages"])


@pytest.mark.parametrize("workflow", ["research", "plan", "review_plan"])
async def test_a_workflow_that_only_looks_cannot_write(
    model: ModelServer, start_console: StartConsole, workflow: str
) -> None:
    """S000-43: enforced by policy, whatever the session was allowed otherwise."""
    console = await start_console()
    prompt = model.play(
        "write",
        Step(
            blocks=[
                Call("Write", {"file_path": str(console.work / "a"), "content": "x"}, "w"),
                Call("Bash", {"command": "echo x > b"}, "b"),
            ]
        ),
        Step(blocks=[Say("# A note\nfound")]),
    )
    view = await console.launch(
        prompt, workflow=workflow, permission_mode="bypassPermissions", allowed_tools=("Write", "Bash", "Edit")
    )
    await console.until_status(view.id, "completed")
    assert list(console.work.iterdir()) == []
    assert all(event.denied or event.reply.is_error for event in console.events(view.id) if isinstance(event, ToolDone))


async def test_the_context_limit_is_that_of_the_model_and_of_the_settings(
    model: ModelServer, start_console: StartConsole
) -> None:
    """S000-33: meters and warnings go by the real window."""
    console = await start_console()
    prompt = model.play("hello", Step(blocks=[Say("Hello.")]))
    view = await console.launch(prompt, model="claude-haiku-4-5")
    done = await console.until_status(view.id, "completed")
    assert done.context_limit == lookup("claude-haiku-4-5").context
    settings = Path(console.environment.paths.bobstay) / "settings.json"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text('{"models": {"claude-haiku-4-5": {"context": 123456}}}')
    again = await console.launch(model.play("again", Step(blocks=[Say("Hello.")])), model="claude-haiku-4-5")
    assert (await console.until_status(again.id, "completed")).context_limit == 123_456


@pytest.mark.parametrize(
    ("name", "limit"), [("gpt-4o", 128_000), ("gemini-2.5-pro", 1_048_576), ("who-knows", 168_000)]
)
def test_without_a_word_of_the_engine_the_catalogue_is_asked(name: str, limit: int) -> None:
    assert context_limit(name) == limit
