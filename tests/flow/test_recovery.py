"""The engine recovers from faults of the model's service, or reports them plainly (H3-3..5, F7, F9, F10)."""

import pytest

from bobstay.engine.agent import RetryPolicy
from bobstay.model.event import BlockDone, ModelChanged, Noted, Prompted, Pruned, ToolDone, ToolStarted
from bobstay.model.live_events import Retrying
from bobstay.model.message import Image, Text
from tests.kit.scripted_session import MakeSession
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer

FINE = Step(blocks=[Say("Recovered.")])


@pytest.mark.parametrize(
    ("fault", "status"),
    [
        (Step(status=529, error_type="overloaded_error", times=1, then=FINE), 529),
        (Step(status=500, times=1, then=FINE), 500),
        (Step(status=429, headers={"retry-after": "0"}, times=1, then=FINE), 429),
        (
            Step(blocks=[Say("never")], error_after=0, status=529, error_type="overloaded_error", times=1, then=FINE),
            529,
        ),
        (Step(blocks=[Say("never")], reset_after=0, times=1, then=FINE), None),
        (Step(blocks=[Say("never")], end_after=0, times=1, then=FINE), None),
    ],
    ids=["529", "500", "429", "529 inside the stream", "reset", "early end"],
)
async def test_a_passing_fault_is_retried_and_reported(
    model: ModelServer, make_session: MakeSession, fault: Step, status: int | None
) -> None:
    session = make_session()
    done = await session.run(model.play("fault", fault))
    assert (done.ending, done.text) == ("completed", "Recovered.")
    assert [event.status for event in session.of(Retrying)] == [status]


async def test_a_fault_that_lasts_ends_the_turn_with_its_text(model: ModelServer, make_session: MakeSession) -> None:
    session = make_session(retry=RetryPolicy(attempts=1, first=0.01))
    done = await session.run(model.play("down", Step(status=529, error_type="overloaded_error", message="Overloaded")))
    assert (done.ending, done.status, done.error) == ("api_error", 529, "server_error")
    assert "Overloaded" in done.text
    assert len(model.requests) == 2
    assert (await session.run(model.play("up", FINE))).text == "Recovered."


async def test_a_lasting_fault_is_not_retried(model: ModelServer, make_session: MakeSession) -> None:
    done = await make_session().run(model.play("bad", Step(status=400, message="bad thing")))
    assert (done.ending, done.status) == ("api_error", 400)
    assert "bad thing" in done.text
    assert len(model.requests) == 1


async def test_a_call_that_ran_is_never_run_again_when_the_stream_breaks_after_it(
    model: ModelServer, make_session: MakeSession
) -> None:
    session = make_session(allow=("Bash", "Edit"))
    broken = Step(blocks=[Call("Bash", {"command": "echo once >> log"}, "a"), Say("never")], reset_after=1)
    done = await session.run(model.play("once", broken, FINE))
    assert done.text == "Recovered."
    assert (session.work / "log").read_text() == "once\n"
    assert len(session.of(ToolStarted)) == len(session.of(ToolDone)) == 1


async def test_text_that_had_come_is_kept_and_continued_when_the_stream_breaks(
    model: ModelServer, make_session: MakeSession
) -> None:
    session = make_session()
    broken = Step(blocks=[Say("First part."), Say("never")], reset_after=1)
    done = await session.run(model.play("kept", broken, Step(blocks=[Say("Second part.")])))
    assert done.text == "Second part."
    assert [event.block for event in session.of(BlockDone)] == [Text("First part."), Text("Second part.")]
    assert session.of(Prompted)[-1].why == "broken_off"


async def test_an_answer_cut_at_the_limit_is_continued(model: ModelServer, make_session: MakeSession) -> None:
    """H3-4"""
    session = make_session()
    done = await session.run(
        model.play("cut", Step(blocks=[Say("Cut off")], stop="max_tokens"), Step(blocks=[Say("and on.")]))
    )
    assert (done.text, len(model.requests)) == ("and on.", 2)
    assert session.of(Prompted)[-1].why == "output_limit"


async def test_an_answer_cut_four_times_ends_the_turn(model: ModelServer, make_session: MakeSession) -> None:
    cut = Step(blocks=[Say("Cut off")], stop="max_tokens")
    done = await make_session().run(model.play("cuts", cut, cut, cut, cut, FINE))
    assert (done.ending, done.error, len(model.requests)) == ("max_output", "max_output_tokens", 4)


async def test_a_prompt_too_long_is_shortened_once_by_leaving_out_old_output(
    model: ModelServer, make_session: MakeSession
) -> None:
    """H3-3"""
    session = make_session()
    (session.work / "a.txt").write_text("word " * 500)
    reads = [Step(blocks=[Call("Read", {"file_path": "a.txt", "limit": n + 1}, f"r{n}")]) for n in range(6)]
    too_long = Step(status=400, message="prompt is too long: 210000 tokens > 200000 maximum", times=1, then=FINE)
    done = await session.run(model.play("long", *reads, too_long))
    assert done.text == "Recovered."
    assert session.of(Pruned)[0].call_ids == ("r0", "r1")
    assert "too long" in session.of(Noted)[0].text
    sent = str(model.requests[-1].body)
    assert sent.count("Old output removed") == 2


async def test_a_prompt_that_recent_output_makes_too_long_is_shortened_to_the_last_output(
    model: ModelServer, make_session: MakeSession
) -> None:
    """In a window of 32k tokens four long outputs leave no room, and a run must not end for that (H3-3)."""
    session = make_session()
    (session.work / "a.txt").write_text("word " * 500)
    reads = [Step(blocks=[Call("Read", {"file_path": "a.txt", "limit": n + 1}, f"r{n}")]) for n in range(6)]
    too_long = Step(status=400, message="prompt is too long: 210000 tokens > 200000 maximum", times=2, then=FINE)
    done = await session.run(model.play("long", *reads, too_long))
    assert done.text == "Recovered."
    assert [event.call_ids for event in session.of(Pruned)] == [("r0", "r1"), ("r2", "r3", "r4")]
    assert "word" in str(model.requests[-1].body["messages"][-1])


async def test_a_prompt_still_too_long_says_so(model: ModelServer, make_session: MakeSession) -> None:
    too_long = Step(status=400, message="prompt is too long: 210000 tokens > 200000 maximum")
    done = await make_session().run(model.play("still", too_long))
    assert (done.ending, len(model.requests)) == ("prompt_too_long", 1)


async def test_an_image_the_service_refuses_does_not_poison_the_session(
    model: ModelServer, make_session: MakeSession
) -> None:
    """F5"""
    session = make_session()
    refused = Step(status=400, message="messages.0.content.1.image: image exceeds 5 MB maximum", times=1, then=FINE)
    prompt = (Text(model.play("image", refused)), Image("image/png", "aGk="))
    assert (await session.run(prompt)).text == "Recovered."
    assert "image/png" not in str(model.requests[-1].body["messages"])


async def test_an_overloaded_model_is_replaced_by_its_fallback(model: ModelServer, make_session: MakeSession) -> None:
    session = make_session(fallbacks=("claude-other",))
    done = await session.run(model.play("swap", Step(status=529, error_type="overloaded_error", times=3, then=FINE)))
    assert done.text == "Recovered."
    changed = session.of(ModelChanged)
    assert [(event.model, event.previous, event.why) for event in changed] == [
        ("claude-other", "claude-test", "fallback")
    ]
    assert model.requests[-1].body["model"] == "claude-other"


async def test_malformed_tool_input_is_answered_and_the_run_goes_on(
    model: ModelServer, make_session: MakeSession
) -> None:
    """H2-2, F35"""
    session = make_session()
    steps = [
        Step(blocks=[Call("Read", {}, "a", raw='{"file_path": "x')]),
        Step(blocks=[Call("NoSuchTool", {"x": 1}, "b")]),
        Step(blocks=[Call("Bash", {"wrong": "y"}, "c")]),
        Step(blocks=[Say("Seen.")]),
    ]
    assert (await session.run(model.play("wrong", *steps))).text == "Seen."
    replies = [event.reply for event in session.of(ToolDone)]
    assert all(reply.is_error for reply in replies)
    assert "JSON" in replies[0].text
    assert "NoSuchTool" in replies[1].text
    assert "command" in replies[2].text
    assert not session.of(ToolStarted)


async def test_a_model_that_uses_an_id_twice_gets_another_for_it(model: ModelServer, make_session: MakeSession) -> None:
    session = make_session()
    (session.work / "a.txt").write_text("one")
    same = Call("Read", {"file_path": "a.txt"}, "same")
    await session.run(model.play("ids", Step(blocks=[same]), Step(blocks=[same]), Step(blocks=[Say("ok")])))
    ids = [event.reply.call_id for event in session.of(ToolDone)]
    assert len(set(ids)) == 2
