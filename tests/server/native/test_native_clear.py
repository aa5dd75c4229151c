"""`/clear` in the console: the agent begins anew in the same session, and its log keeps everything (H9-2)."""

from bobstay.model.event import Noted, Prompted, RunDone
from bobstay.model.message import text_of
from tests.kit.consoles import BareConsole, StartConsole
from tests.modelserver.script import Say, Step
from tests.modelserver.server import ModelServer


async def say(console: BareConsole, session_id: str, *texts: str) -> None:
    def turns() -> int:
        return sum(isinstance(event, RunDone) for event in console.events(session_id))

    expected = turns() + len(texts)
    for text in texts:
        await console.say(session_id, text)
    await console.until_holds(lambda: turns() == expected)


async def test_the_agent_begins_anew_and_the_log_keeps_all(model: ModelServer, start_console: StartConsole) -> None:
    console = await start_console()
    view = await console.launch(model.play("one", Step(blocks=[Say("FIRST-ANSWER")])))
    await console.until_status(view.id, "completed")
    await say(console, view.id, "/clear", model.play("two", Step(blocks=[Say("SECOND-ANSWER")])))
    assert "FIRST-ANSWER" not in str(model.requests[-1].body["messages"])
    events = console.events(view.id)
    assert any("FIRST-ANSWER" in str(event) for event in events), "the old conversation is still there to read"
    assert any(isinstance(event, Noted) and "cleared" in event.text for event in events)
    await say(console, view.id, model.play("three", Step(blocks=[Say("Three.")])))
    sent = str(model.requests[-1].body["messages"])
    assert "SECOND-ANSWER" in sent
    assert "FIRST-ANSWER" not in sent


async def test_it_stays_cleared_when_the_agent_is_started_again(
    model: ModelServer, start_console: StartConsole
) -> None:
    console = await start_console()
    view = await console.launch(model.play("one", Step(blocks=[Say("FIRST-ANSWER")])))
    await console.until_status(view.id, "completed")
    await say(console, view.id, "/clear", model.play("two", Step(blocks=[Say("SECOND-ANSWER")])))
    await console.runner.stop_agent(view.id)
    await say(console, view.id, model.play("three", Step(blocks=[Say("Three.")])))
    sent = str(model.requests[-1].body["messages"])
    assert "SECOND-ANSWER" in sent
    assert "FIRST-ANSWER" not in sent
    prompts = [text_of(event.blocks) for event in console.events(view.id) if isinstance(event, Prompted)]
    assert sum("SCN:two" in text for text in prompts) == 1
