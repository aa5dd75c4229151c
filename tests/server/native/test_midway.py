"""Changes during a turn apply from the next step on, and are shown correctly (FM-20)."""

from msgspec.structs import replace

from bobstay.model.message import Text
from tests.kit.consoles import StartConsole
from tests.modelserver.script import Call, Gate, Say, Step
from tests.modelserver.server import ModelServer


async def test_another_model_answers_from_the_next_step_on(model: ModelServer, start_console: StartConsole) -> None:
    console, gate = await start_console(), Gate()
    look = Step(blocks=[Call("Glob", {"pattern": "*"})], gate=gate)
    view = await console.launch(model.play("look", look, Step(blocks=[Say("done")])))
    await gate.reached()
    config = replace(console.registry.view(view.id).config, model="haiku")
    await console.commands.configure(view.id, config, by="ada")
    gate.open()
    await console.until_status(view.id, "completed")
    first, second = (asked.body["model"] for asked in model.requests)
    assert "haiku" not in first
    assert "haiku" in second


async def test_words_that_are_edited_keep_their_place_in_the_queue(
    model: ModelServer, start_console: StartConsole
) -> None:
    console, gate = await start_console(), Gate()
    view = await console.launch(model.play("wait", Step(blocks=[Say("done")], gate=gate)))
    await gate.reached()
    for message_text in ("first", "second"):
        await console.say(view.id, message_text)
    queued = console.registry.view(view.id).queued
    await console.commands.edit_input(view.id, queued[0].id, (Text("first, but better"),))
    assert [entry.text for entry in console.registry.view(view.id).queued] == ["first, but better", "second"]
    gate.open()
    await console.until(view.id, lambda view: view.turns == 3 and view.status == "completed")
    output = [asked.body["messages"][-1]["content"] for asked in model.requests]
    assert "first, but better" in str(output[1])
    assert "second" in str(output[2])
