"""Background commands of the native worker: their end starts a turn, and they keep the agent running (H1-12)."""

from collections.abc import Awaitable, Callable

from bobstay.model.background_events import BackgroundEnded
from bobstay.model.event import Prompted, RunDone
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer
from tests.server.stage import Stage

Make = Callable[..., Awaitable[Stage]]
COMMAND = {"command": "until [ -e go ]; do sleep 0.01; done", "run_in_background": True}


async def test_the_end_of_a_background_command_begins_a_turn(model: ModelServer, stage: Make) -> None:
    here = await stage()
    steps = [Step(blocks=[Call("Bash", COMMAND, "b")]), Step(blocks=[Say("It runs.")]), Step(blocks=[Say("It ended.")])]
    view = await here.launch(model.play("bg", *steps), allowed_tools=("Bash",))
    await here.until(view.id, lambda view: view.status == "completed" and view.turns == 1)
    (here.work / "go").touch()
    done = await here.until(view.id, lambda view: view.status == "completed" and view.turns == 2)
    events = here.events(view.id)
    assert [event.text for event in events if isinstance(event, RunDone)] == ["It runs.", "It ended."]
    ended = next(place for place, event in enumerate(events) if isinstance(event, BackgroundEnded))
    reported = next(
        place for place, event in enumerate(events) if isinstance(event, Prompted) and event.why == "background"
    )
    assert ended < reported
    assert done.queued == ()
    assert done.title == "SCN:bg"


async def test_an_agent_with_a_background_command_is_not_put_to_sleep(model: ModelServer, stage: Make) -> None:
    here = await stage()
    here.runner._idle = -1.0
    steps = [Step(blocks=[Call("Bash", COMMAND, "b")]), Step(blocks=[Say("It runs.")]), Step(blocks=[Say("It ended.")])]
    view = await here.launch(model.play("up", *steps), allowed_tools=("Bash",))
    await here.until(view.id, lambda view: view.status == "completed")
    await here.runner.reconcile(view.id)
    assert here.runner.worker(view.id) is not None
    (here.work / "go").touch()
    await here.until(view.id, lambda view: view.status == "completed" and view.turns == 2)
    await here.runner.reconcile(view.id)
    assert here.runner.worker(view.id) is None


async def test_a_command_lost_with_the_server_is_told_of_with_the_next_message(model: ModelServer, stage: Make) -> None:
    first = await stage()
    steps = [Step(blocks=[Call("Bash", COMMAND, "b")]), Step(blocks=[Say("It runs.")])]
    view = await first.launch(model.play("lost", *steps), allowed_tools=("Bash",))
    await first.until_status(view.id, "completed")
    await first.close()
    second = await stage()
    await second.say(view.id, model.play("next", Step(blocks=[Say("I see.")])))
    await second.until(view.id, lambda view: view.status == "completed" and view.turns == 2)
    assert "was lost" in str(model.requests[-1].body["messages"])
    assert [event.status for event in second.events(view.id) if isinstance(event, BackgroundEnded)] == ["lost"]
