"""Changes during a turn apply from the next step on, and are shown correctly (FM-20)."""

from collections.abc import Awaitable, Callable

from msgspec.structs import replace

from bobstay.model.message import Text
from tests.modelserver.script import Call, Gate, Say, Step
from tests.modelserver.server import ModelServer
from tests.server.stage import Stage

Make = Callable[..., Awaitable[Stage]]


async def test_another_model_answers_from_the_next_step_on(model: ModelServer, stage: Make) -> None:
    here, gate = await stage(), Gate()
    look = Step(blocks=[Call("Glob", {"pattern": "*"})], gate=gate)
    view = await here.launch(model.play("look", look, Step(blocks=[Say("done")])))
    await gate.reached()
    config = replace(here.registry.view(view.id).config, model="haiku")
    await here.commands.configure(view.id, config, by="ada")
    gate.open()
    await here.until_status(view.id, "completed")
    first, second = (asked.body["model"] for asked in model.requests)
    assert "haiku" not in first
    assert "haiku" in second


async def test_words_that_are_edited_keep_their_place_in_the_queue(model: ModelServer, stage: Make) -> None:
    here, gate = await stage(), Gate()
    view = await here.launch(model.play("wait", Step(blocks=[Say("done")], gate=gate)))
    await gate.reached()
    for message_text in ("first", "second"):
        await here.say(view.id, message_text)
    queued = here.registry.view(view.id).queued
    await here.commands.edit_input(view.id, queued[0].id, (Text("first, but better"),))
    assert [entry.text for entry in here.registry.view(view.id).queued] == ["first, but better", "second"]
    gate.open()
    await here.until(view.id, lambda view: view.turns == 3 and view.status == "completed")
    output = [asked.body["messages"][-1]["content"] for asked in model.requests]
    assert "first, but better" in str(output[1])
    assert "second" in str(output[2])
