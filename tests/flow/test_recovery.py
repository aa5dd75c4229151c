"""The engine recovers from faults of the model's service, or reports them plainly (H3-3..5, F7, F9, F10)."""

from collections.abc import Callable

import pytest

from bobstay.engine.agent import RetryPolicy
from bobstay.model.event import BlockDone, ModelChanged, Noted, Prompted, Pruned, ToolDone, ToolStarted
from bobstay.model.live_events import Retrying
from bobstay.model.message import Image, Text
from tests.flow.world import World
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer

Make = Callable[..., World]
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
    server: ModelServer, world: Make, fault: Step, status: int | None
) -> None:
    here = world()
    done = await here.run(server.play("fault", fault))
    assert (done.ending, done.text) == ("completed", "Recovered.")
    assert [event.status for event in here.of(Retrying)] == [status]


async def test_a_fault_that_lasts_ends_the_turn_with_its_text(server: ModelServer, world: Make) -> None:
    here = world(retry=RetryPolicy(attempts=1, first=0.01))
    done = await here.run(server.play("down", Step(status=529, error_type="overloaded_error", message="Overloaded")))
    assert (done.ending, done.status, done.error) == ("api_error", 529, "server_error")
    assert "Overloaded" in done.text
    assert len(server.requests) == 2
    assert (await here.run(server.play("up", FINE))).text == "Recovered."


async def test_a_lasting_fault_is_not_retried(server: ModelServer, world: Make) -> None:
    done = await world().run(server.play("bad", Step(status=400, message="bad thing")))
    assert (done.ending, done.status) == ("api_error", 400)
    assert "bad thing" in done.text
    assert len(server.requests) == 1


async def test_a_call_that_ran_is_never_run_again_when_the_stream_breaks_after_it(
    server: ModelServer, world: Make
) -> None:
    here = world(allow=("Bash", "Edit"))
    broken = Step(blocks=[Call("Bash", {"command": "echo once >> log"}, "a"), Say("never")], reset_after=1)
    done = await here.run(server.play("once", broken, FINE))
    assert done.text == "Recovered."
    assert (here.work / "log").read_text() == "once\n"
    assert len(here.of(ToolStarted)) == len(here.of(ToolDone)) == 1


async def test_text_that_had_come_is_kept_and_continued_when_the_stream_breaks(
    server: ModelServer, world: Make
) -> None:
    here = world()
    broken = Step(blocks=[Say("First part."), Say("never")], reset_after=1)
    done = await here.run(server.play("kept", broken, Step(blocks=[Say("Second part.")])))
    assert done.text == "Second part."
    assert [event.block for event in here.of(BlockDone)] == [Text("First part."), Text("Second part.")]
    assert here.of(Prompted)[-1].why == "broken_off"


async def test_an_answer_cut_at_the_limit_is_continued(server: ModelServer, world: Make) -> None:
    """H3-4"""
    here = world()
    done = await here.run(
        server.play("cut", Step(blocks=[Say("Cut off")], stop="max_tokens"), Step(blocks=[Say("and on.")]))
    )
    assert (done.text, len(server.requests)) == ("and on.", 2)
    assert here.of(Prompted)[-1].why == "output_limit"


async def test_an_answer_cut_four_times_ends_the_turn(server: ModelServer, world: Make) -> None:
    cut = Step(blocks=[Say("Cut off")], stop="max_tokens")
    done = await world().run(server.play("cuts", cut, cut, cut, cut, FINE))
    assert (done.ending, done.error, len(server.requests)) == ("max_output", "max_output_tokens", 4)


async def test_a_prompt_too_long_is_shortened_once_by_leaving_out_old_output(server: ModelServer, world: Make) -> None:
    """H3-3"""
    here = world()
    (here.work / "a.txt").write_text("word " * 500)
    reads = [Step(blocks=[Call("Read", {"file_path": "a.txt", "limit": n + 1}, f"r{n}")]) for n in range(6)]
    too_long = Step(status=400, message="prompt is too long: 210000 tokens > 200000 maximum", times=1, then=FINE)
    done = await here.run(server.play("long", *reads, too_long))
    assert done.text == "Recovered."
    assert here.of(Pruned)[0].call_ids == ("r0", "r1")
    assert "too long" in here.of(Noted)[0].text
    sent = str(server.requests[-1].body)
    assert sent.count("Old output removed") == 2


async def test_a_prompt_that_recent_output_makes_too_long_is_shortened_to_the_last_output(
    server: ModelServer, world: Make
) -> None:
    """In a window of 32k tokens four long outputs leave no room, and a run must not end for that (H3-3)."""
    here = world()
    (here.work / "a.txt").write_text("word " * 500)
    reads = [Step(blocks=[Call("Read", {"file_path": "a.txt", "limit": n + 1}, f"r{n}")]) for n in range(6)]
    too_long = Step(status=400, message="prompt is too long: 210000 tokens > 200000 maximum", times=2, then=FINE)
    done = await here.run(server.play("long", *reads, too_long))
    assert done.text == "Recovered."
    assert [event.call_ids for event in here.of(Pruned)] == [("r0", "r1"), ("r2", "r3", "r4")]
    assert "word" in str(server.requests[-1].body["messages"][-1])


async def test_a_prompt_still_too_long_says_so(server: ModelServer, world: Make) -> None:
    too_long = Step(status=400, message="prompt is too long: 210000 tokens > 200000 maximum")
    done = await world().run(server.play("still", too_long))
    assert (done.ending, len(server.requests)) == ("prompt_too_long", 1)


async def test_an_image_the_service_refuses_does_not_poison_the_session(server: ModelServer, world: Make) -> None:
    """F5"""
    here = world()
    refused = Step(status=400, message="messages.0.content.1.image: image exceeds 5 MB maximum", times=1, then=FINE)
    prompt = (Text(server.play("image", refused)), Image("image/png", "aGk="))
    assert (await here.run(prompt)).text == "Recovered."
    assert "image/png" not in str(server.requests[-1].body["messages"])


async def test_an_overloaded_model_is_replaced_by_its_fallback(server: ModelServer, world: Make) -> None:
    here = world(fallbacks=("claude-other",))
    done = await here.run(server.play("swap", Step(status=529, error_type="overloaded_error", times=3, then=FINE)))
    assert done.text == "Recovered."
    changed = here.of(ModelChanged)
    assert [(event.model, event.previous, event.why) for event in changed] == [
        ("claude-other", "claude-test", "fallback")
    ]
    assert server.requests[-1].body["model"] == "claude-other"


async def test_malformed_tool_input_is_answered_and_the_run_goes_on(server: ModelServer, world: Make) -> None:
    """H2-2, F35"""
    here = world()
    steps = [
        Step(blocks=[Call("Read", {}, "a", raw='{"file_path": "x')]),
        Step(blocks=[Call("NoSuchTool", {"x": 1}, "b")]),
        Step(blocks=[Call("Bash", {"wrong": "y"}, "c")]),
        Step(blocks=[Say("Seen.")]),
    ]
    assert (await here.run(server.play("wrong", *steps))).text == "Seen."
    replies = [event.reply for event in here.of(ToolDone)]
    assert all(reply.is_error for reply in replies)
    assert "JSON" in replies[0].text
    assert "NoSuchTool" in replies[1].text
    assert "command" in replies[2].text
    assert not here.of(ToolStarted)


async def test_a_model_that_uses_an_id_twice_gets_another_for_it(server: ModelServer, world: Make) -> None:
    here = world()
    (here.work / "a.txt").write_text("one")
    same = Call("Read", {"file_path": "a.txt"}, "same")
    await here.run(server.play("ids", Step(blocks=[same]), Step(blocks=[same]), Step(blocks=[Say("ok")])))
    ids = [event.reply.call_id for event in here.of(ToolDone)]
    assert len(set(ids)) == 2
