"""The configuration of a session applies at once and after a restart (FM-14, FM-20, FM-31, FM-39)."""

import asyncio
import time
from typing import Any

import pytest
from msgspec.structs import replace

from bobstay.engine.engine_ports import Answer
from bobstay.model.event import InteractionOpened, ModeChanged, ToolDone
from bobstay.model.session_events import WorkerExited
from bobstay.server.errors import ApiError
from bobstay.server.workers import bypass_timer
from bobstay.server.workers.native_worker import NativeWorker
from tests.kit.consoles import StartConsole
from tests.kit.waiting import DEADLINE, until
from tests.modelserver.script import Call, Gate, Say, Step
from tests.modelserver.server import ModelServer


def touch(model: ModelServer, name: str, file: str) -> str:
    return model.play(name, Step(blocks=[Call("Bash", {"command": f"touch {file}"}, name)]), Step(blocks=[Say("ok")]))


async def test_the_end_of_a_turn_without_a_question_is_no_waiting(
    model: ModelServer, start_console: StartConsole
) -> None:
    """FM-14."""
    console = await start_console()
    view = await console.launch(model.play("end", Step(blocks=[Say("Shall I go on?")])))
    done = await console.until_status(view.id, "completed")
    assert (done.activity, done.interactions) == ("idle", ())


async def test_a_mode_that_was_set_holds_now_and_after_a_restart(
    model: ModelServer, start_console: StartConsole
) -> None:
    """FM-20: what is shown is what is applied, for whoever looks."""
    first = await start_console()
    view = await first.launch(model.play("one", Step(blocks=[Say("hi")])))
    await first.until_status(view.id, "completed")
    config = replace(first.registry.view(view.id).config, permission_mode="acceptEdits")
    await first.commands.configure(view.id, config, by="ada")
    assert first.registry.view(view.id).permission_mode == "acceptEdits"
    await first.say(view.id, touch(model, "two", "second"))
    await first.until(view.id, lambda view: view.turns == 2 and view.status == "completed")
    assert (first.work / "second").exists()
    await first.close()
    second = await start_console()
    assert second.registry.view(view.id).permission_mode == "acceptEdits"
    await second.say(view.id, touch(model, "three", "third"))
    await second.until(view.id, lambda view: view.turns == 3 and view.status == "completed")
    assert (second.work / "third").exists()
    assert not [event for event in second.events(view.id) if isinstance(event, InteractionOpened)]


async def test_bypassing_ends_in_the_middle_of_a_turn(
    model: ModelServer, start_console: StartConsole, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FM-39: the next call asks."""
    monkeypatch.setattr(bypass_timer, "CHECK_SECONDS", 0.05)
    console = await start_console()
    gate = Gate()
    prompt = model.play(
        "bypass",
        Step(blocks=[Call("Bash", {"command": "touch free"}, "a")]),
        Step(blocks=[Call("Bash", {"command": "touch asked"}, "b")], gate=gate),
        Step(blocks=[Say("ok")]),
    )
    view = await console.launch(prompt, permission_mode="bypassPermissions", bypass_until=time.time() + 200)
    await gate.reached()
    assert (console.work / "free").exists()
    clock = time.time
    monkeypatch.setattr(time, "time", lambda: clock() + 200)
    await console.until(view.id, lambda _: any(isinstance(event, ModeChanged) for event in console.events(view.id)))
    gate.open()
    waiting = await console.until_status(view.id, "waiting_input")
    assert waiting.permission_mode == "default"
    assert not (console.work / "asked").exists()
    await console.answer(waiting, Answer(False, "no"))
    await console.until_status(view.id, "completed")


async def test_bypassing_without_an_end_is_no_bypassing(model: ModelServer, start_console: StartConsole) -> None:
    """S003-5."""
    console = await start_console()
    view = await console.launch(touch(model, "never", "x"), permission_mode="bypassPermissions")
    waiting = await console.until_status(view.id, "waiting_input")
    await console.answer(waiting, Answer(False, "no"))
    await console.until_status(view.id, "completed")


async def test_a_workflow_refuses_modes_that_would_lift_it(model: ModelServer, start_console: StartConsole) -> None:
    console = await start_console()
    view = await console.launch(model.play("look", Step(blocks=[Say("a note")])), workflow="research")
    await console.until_status(view.id, "completed")
    config = replace(console.registry.view(view.id).config, permission_mode="acceptEdits")
    with pytest.raises(ApiError, match="research"):
        await console.commands.configure(view.id, config)


async def test_a_call_that_never_ends_does_not_hold_up_a_stop(model: ModelServer, start_console: StartConsole) -> None:
    """FM-31, by force too."""
    console = await start_console()
    deaf = "trap '' INT TERM; touch deaf; sleep 1000"
    prompt = model.play(
        "hold", Step(blocks=[Call("Bash", {"command": deaf, "timeout": 600_000}, "c")]), Step(blocks=[Say("x")])
    )
    view = await console.launch(prompt, allowed_tools=("Bash",))
    await until((console.work / "deaf").exists)
    async with asyncio.timeout(DEADLINE):
        await console.commands.interrupt(view.id, by="ada", force=True)
    stopped = await console.until_status(view.id, "interrupted")
    assert [event for event in console.events(view.id) if isinstance(event, ToolDone)] or not stopped.open_calls


async def test_a_question_nobody_sees_waits_for_hours(
    model: ModelServer, start_console: StartConsole, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FM-34: there is no time-out, whatever the clocks say."""
    console = await start_console()
    view = await console.launch(touch(model, "later", "ran"))
    waiting = await console.until_status(view.id, "waiting_input")
    await until(lambda: console.capacity.running == 0)  # its agent waits, and lets others work: from now on time counts
    loop, hours = asyncio.get_running_loop(), 2 * 3600
    clock, moment = loop.time, time.time
    monkeypatch.setattr(loop, "time", lambda: clock() + hours)
    monkeypatch.setattr(time, "time", lambda: moment() + hours)
    for _ in range(20):
        await asyncio.sleep(0)
    await console.runner.reconcile(view.id)
    assert console.registry.view(view.id).interactions == waiting.interactions
    await console.answer(waiting, Answer(True))
    await console.until_status(view.id, "completed")
    assert (console.work / "ran").exists()


async def test_an_agent_that_is_gone_and_should_run_is_started_again(
    model: ModelServer, start_console: StartConsole
) -> None:
    """S003-25, S003-26: desired and actual state are brought together, and nobody asks for it."""
    console = await start_console(most_running=1, interval=0.01)
    console.runner.begin()
    gate = Gate()
    await console.launch(model.play("first", Step(blocks=[Say("x")], gate=gate)))
    await gate.reached()
    view = await console.launch(model.play("second", Step(blocks=[Say("done")])))
    post = console.runner.slots[view.id]
    assert isinstance(post.worker, NativeWorker)
    (task,) = (task for task in asyncio.all_tasks() if task.get_name() == f"native {view.id}")
    task.cancel()
    await asyncio.wait([task])
    assert not post.worker.alive()
    gate.open()
    done = await console.until_status(view.id, "completed")
    assert [worker.epoch for worker in done.workers] == [2]


async def test_an_agent_with_nothing_to_do_is_put_to_sleep(model: ModelServer, start_console: StartConsole) -> None:
    """S003-26: the other way round."""
    console = await start_console(interval=0.01, idle_seconds=0.0)
    console.runner.begin()
    view = await console.launch(model.play("nap", Step(blocks=[Say("done")])))
    await console.until(view.id, lambda view: [worker.state for worker in view.workers] == ["stopped"])
    assert view.id not in console.runner.slots
    assert [event.why for event in console.events(view.id) if isinstance(event, WorkerExited)] == ["asleep"]


@pytest.mark.parametrize("delivery", ["queue", "steer", "interrupt"])
@pytest.mark.parametrize("inputs", ["locked", "queue", "interactive"])
async def test_a_session_takes_only_the_messages_its_policy_allows(
    model: ModelServer, start_console: StartConsole, inputs: Any, delivery: Any
) -> None:
    """S003-Q3: interactive, queue-only, locked."""
    console = await start_console()
    view = await console.launch("", inputs=inputs)
    prompt = model.play("policy", Step(blocks=[Say("heard")]))
    if inputs == "interactive" or (inputs == "queue" and delivery == "queue"):
        await console.say(view.id, prompt, delivery=delivery)
        assert (await console.until_status(view.id, "completed")).last_prompt
        return
    with pytest.raises(ApiError, match=f"This session is {inputs}") as refused:
        await console.say(view.id, prompt, delivery=delivery)
    assert refused.value.status == 403
    assert console.registry.view(view.id).status == "draft"
