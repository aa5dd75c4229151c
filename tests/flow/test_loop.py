"""A prompt goes in, events come out: the loop with real tools and a scripted model over HTTP."""

from bobstay.model.event import BlockDone, Prompted, RunDone, ToolDone, ToolStarted, TurnStarted
from bobstay.model.live_events import TextDelta
from bobstay.model.message import Text
from tests.kit.scripted_session import MakeSession
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer


async def test_a_prompt_is_answered(model: ModelServer, make_session: MakeSession) -> None:
    session = make_session()
    done = await session.run(model.play("hi", Step(blocks=[Say("Hello there.")])))
    assert (done.ending, done.text, done.turns) == ("completed", "Hello there.", 1)
    assert [type(event) for event in session.events[:2]] == [Prompted, TurnStarted]
    assert "".join(event.text for event in session.of(TextDelta)) == "Hello there."
    assert session.of(BlockDone)[0].block == Text("Hello there.")


async def test_a_tool_is_run_and_its_result_reaches_the_model(model: ModelServer, make_session: MakeSession) -> None:
    session = make_session()
    (session.work / "a.txt").write_text("one\ntwo\n")
    prompt = model.play("read", Step(blocks=[Call("Read", {"file_path": "a.txt"}, "t1")]), Step(blocks=[Say("Read.")]))
    done = await session.run(prompt)
    assert done.text == "Read."
    assert [event.call_id for event in session.of(ToolStarted)] == ["t1"]
    reply = session.of(ToolDone)[0].reply
    assert not reply.is_error
    assert "two" in reply.text
    assert "two" in str(model.requests[-1].body)
    assert isinstance(session.events[-1], RunDone)


async def test_live_text_is_shown_to_its_end_though_a_secret_may_begin_there(
    model: ModelServer, make_session: MakeSession
) -> None:
    session = make_session()
    text = "Tokens of that kind begin with ghp_"
    await session.run(model.play("hint", Step(blocks=[Say(text)])))
    assert "".join(event.text for event in session.of(TextDelta)) == text
