"""A prompt goes in, events come out: the loop with real tools and a scripted model over HTTP."""

from collections.abc import Callable

from bobstay.model.event import BlockDone, Prompted, RunDone, ToolDone, ToolStarted, TurnStarted
from bobstay.model.live_events import TextDelta
from bobstay.model.message import Text
from tests.flow.world import World
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer

Make = Callable[..., World]


async def test_a_prompt_is_answered(server: ModelServer, world: Make) -> None:
    here = world()
    done = await here.run(server.play("hi", Step(blocks=[Say("Hello there.")])))
    assert (done.ending, done.text, done.turns) == ("completed", "Hello there.", 1)
    assert [type(event) for event in here.events[:2]] == [Prompted, TurnStarted]
    assert "".join(event.text for event in here.of(TextDelta)) == "Hello there."
    assert here.of(BlockDone)[0].block == Text("Hello there.")


async def test_a_tool_is_run_and_its_result_reaches_the_model(server: ModelServer, world: Make) -> None:
    here = world()
    (here.work / "a.txt").write_text("one\ntwo\n")
    prompt = server.play("read", Step(blocks=[Call("Read", {"file_path": "a.txt"}, "t1")]), Step(blocks=[Say("Read.")]))
    done = await here.run(prompt)
    assert done.text == "Read."
    assert [event.call_id for event in here.of(ToolStarted)] == ["t1"]
    reply = here.of(ToolDone)[0].reply
    assert not reply.is_error
    assert "two" in reply.text
    assert "two" in str(server.requests[-1].body)
    assert isinstance(here.events[-1], RunDone)


async def test_live_text_is_shown_to_its_end_though_a_secret_may_begin_there(server: ModelServer, world: Make) -> None:
    here = world()
    text = "Tokens of that kind begin with ghp_"
    await here.run(server.play("hint", Step(blocks=[Say(text)])))
    assert "".join(event.text for event in here.of(TextDelta)) == text
