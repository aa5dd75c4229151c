"""Background commands of the native worker: their end starts a turn, and they keep the agent running (H1-12)."""

from bobstay.model.background_events import BackgroundEnded
from bobstay.model.event import Prompted, RunDone
from tests.kit.consoles import StartConsole
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer

COMMAND = {"command": "until [ -e go ]; do sleep 0.01; done", "run_in_background": True}


async def test_the_end_of_a_background_command_begins_a_turn(model: ModelServer, start_console: StartConsole) -> None:
    console = await start_console()
    steps = [Step(blocks=[Call("Bash", COMMAND, "b")]), Step(blocks=[Say("It runs.")]), Step(blocks=[Say("It ended.")])]
    view = await console.launch(model.play("bg", *steps), allowed_tools=("Bash",))
    await console.until(view.id, lambda view: view.status == "completed" and view.turns == 1)
    (console.work / "go").touch()
    done = await console.until(view.id, lambda view: view.status == "completed" and view.turns == 2)
    events = console.events(view.id)
    assert [event.text for event in events if isinstance(event, RunDone)] == ["It runs.", "It ended."]
    ended = next(place for place, event in enumerate(events) if isinstance(event, BackgroundEnded))
    reported = next(
        place for place, event in enumerate(events) if isinstance(event, Prompted) and event.why == "background"
    )
    assert ended < reported
    assert done.queued == ()
    assert done.title == "SCN:bg"


async def test_an_agent_with_a_background_command_is_not_put_to_sleep(
    model: ModelServer, start_console: StartConsole
) -> None:
    console = await start_console(idle_seconds=-1.0)
    steps = [Step(blocks=[Call("Bash", COMMAND, "b")]), Step(blocks=[Say("It runs.")]), Step(blocks=[Say("It ended.")])]
    view = await console.launch(model.play("up", *steps), allowed_tools=("Bash",))
    await console.until(view.id, lambda view: view.status == "completed")
    await console.runner.reconcile(view.id)
    assert console.runner.worker(view.id) is not None
    (console.work / "go").touch()
    await console.until(view.id, lambda view: view.status == "completed" and view.turns == 2)
    await console.runner.reconcile(view.id)
    assert console.runner.worker(view.id) is None


async def test_a_command_lost_with_the_server_is_told_of_with_the_next_message(
    model: ModelServer, start_console: StartConsole
) -> None:
    first = await start_console()
    steps = [Step(blocks=[Call("Bash", COMMAND, "b")]), Step(blocks=[Say("It runs.")])]
    view = await first.launch(model.play("lost", *steps), allowed_tools=("Bash",))
    await first.until_status(view.id, "completed")
    await first.close()
    second = await start_console()
    await second.say(view.id, model.play("next", Step(blocks=[Say("I see.")])))
    await second.until(view.id, lambda view: view.status == "completed" and view.turns == 2)
    assert "was lost" in str(model.requests[-1].body["messages"])
    assert [event.status for event in second.events(view.id) if isinstance(event, BackgroundEnded)] == ["lost"]
