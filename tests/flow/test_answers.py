"""Answers that are empty or break off: asked for again, counted, never sent as the last word (H3-1, H3-5, H3-7)."""

import asyncio
from typing import Any

import pytest

from bobstay.engine.agent import RetryPolicy
from bobstay.engine.limits import Limits
from bobstay.model.event import BlockDone, Event, MessageDone, ModelChanged, Prompted, Pruned, RunDone
from bobstay.model.live_events import Retrying, TextDelta
from bobstay.model.message import Image, Text
from tests.flow.test_resume_turn import crash_at, resume
from tests.kit.scripted_session import MakeSession
from tests.modelserver.script import Call, Counts, Gate, Say, Step, Think
from tests.modelserver.server import ModelServer

FINE = Step(blocks=[Say("Recovered.")])
LOOK = Step(blocks=[Say("Let me check the tests."), Call("Bash", {"command": "echo ok"}, "look")])


# ---------------------------------------------------------------- empty answers


@pytest.mark.parametrize("vendor", ["anthropic", "responses", "gemini", "openrouter"])
async def test_an_empty_answer_is_asked_for_again(model: ModelServer, make_session: MakeSession, vendor: str) -> None:
    session = make_session(vendor=vendor)
    done = await session.run(model.play("empty", LOOK, Step(times=1, then=Step(blocks=[Say("All green.")]))))
    assert (done.ending, done.text) == ("completed", "All green.")
    assert [event.why for event in session.of(Prompted) if event.origin == "harness"] == ["empty_answer"]
    assert len(session.of(Retrying)) == 1


@pytest.mark.parametrize("blocks", [[], [Think("Hm.")]], ids=["nothing", "only a thought"])
async def test_answers_that_stay_empty_end_the_turn_as_a_failure(
    model: ModelServer, make_session: MakeSession, blocks: list[Any]
) -> None:
    done = await make_session().run(model.play("empty", LOOK, Step(blocks=blocks)))
    assert done.ending == "api_error"
    assert "empty" in done.text
    assert "Let me check" not in done.text
    assert len(model.requests) == 4


async def test_a_refusal_without_text_does_not_repeat_an_earlier_sentence(
    model: ModelServer, make_session: MakeSession
) -> None:
    done = await make_session().run(model.play("refused", LOOK, Step(stop="refusal")))
    assert done.ending == "refused"
    assert "Let me check" not in done.text


# ---------------------------------------------------------------- no request ends with the model


BROKEN = Step(blocks=[Say("First part."), Say("never")], reset_after=1)


def last_role(model: ModelServer) -> str:
    return str(model.requests[-1].body["messages"][-1]["role"])


async def test_a_fallback_after_half_an_answer_goes_on_behind_a_user_message(
    model: ModelServer, make_session: MakeSession
) -> None:
    session = make_session(fallbacks=("claude-other",), retry=RetryPolicy(attempts=0))
    overloaded = Step(
        blocks=[Say("First part."), Say("never")], error_after=1, status=529, error_type="overloaded_error"
    )
    done = await session.run(model.play("half", overloaded, FINE))
    assert session.of(ModelChanged)[0].model == "claude-other"
    assert (done.ending, done.text) == ("completed", "Recovered.")
    assert model.refused == []
    assert session.of(Prompted)[-1].why == "broken_off"


async def test_a_prompt_too_long_after_half_an_answer_goes_on_behind_a_user_message(
    model: ModelServer, make_session: MakeSession
) -> None:
    session = make_session()
    (session.work / "a.txt").write_text("word " * 500)
    reads = [Step(blocks=[Call("Read", {"file_path": "a.txt", "limit": n + 1}, f"r{n}")]) for n in range(6)]
    message = "prompt is too long: 210000 tokens > 200000 maximum"
    half = Step(blocks=[Say("First part."), Say("never")], error_after=1, status=400, message=message)
    done = await session.run(model.play("half", *reads, half, FINE))
    assert session.of(Pruned)
    assert (done.ending, done.text) == ("completed", "Recovered.")
    assert model.refused == []


async def test_a_paused_answer_goes_on_behind_a_user_message(model: ModelServer, make_session: MakeSession) -> None:
    done = await make_session().run(model.play("pause", Step(blocks=[Say("Searching.")], stop="pause"), FINE))
    assert (done.ending, done.text) == ("completed", "Recovered.")
    assert model.refused == []


async def test_a_finished_answer_is_not_asked_for_again_after_a_crash(
    model: ModelServer, make_session: MakeSession
) -> None:
    prompt = model.play("crash", Step(blocks=[Say("All done: 42.")]), Step(blocks=[Say("extra")]))
    await crash_at(make_session(), prompt, MessageDone)
    events = await resume(make_session())
    assert [(event.ending, event.text) for event in events if isinstance(event, RunDone)] == [
        ("completed", "All done: 42.")
    ]
    assert len(model.requests) == 1


async def test_an_answer_cut_at_its_limit_is_continued_after_a_crash(
    model: ModelServer, make_session: MakeSession
) -> None:
    prompt = model.play("crash", Step(blocks=[Say("Cut off")], stop="max_tokens"), FINE)
    await crash_at(make_session(), prompt, MessageDone)
    events = await resume(make_session())
    assert events[-1].text == "Recovered."  # type: ignore[union-attr]
    assert model.refused == []


@pytest.mark.parametrize(("kind", "count"), [(BlockDone, 3), (MessageDone, 2)], ids=["in the answer", "before a retry"])
async def test_half_an_answer_is_continued_after_a_crash(
    model: ModelServer, make_session: MakeSession, kind: type[Event], count: int
) -> None:
    await crash_at(make_session(), model.play("crash", LOOK, BROKEN, FINE), kind, count)
    events = await resume(make_session())
    assert [event.why for event in events if isinstance(event, Prompted)] == ["broken_off"]
    assert events[-1].text == "Recovered."  # type: ignore[union-attr]
    assert model.refused == []


async def test_a_break_after_nothing_but_a_thought_is_no_half_answer(
    model: ModelServer, make_session: MakeSession
) -> None:
    session = make_session()
    broken = Step(blocks=[Think("Let me think."), Say("never")], reset_after=1, times=1, then=FINE)
    done = await session.run(model.play("thought", broken))
    assert done.text == "Recovered."
    assert [event.why for event in session.of(Prompted) if event.origin == "harness"] == []
    assert "Let me think." not in str(model.requests[-1].body["messages"])


# ---------------------------------------------------------------- what a broken answer cost


async def test_each_attempt_that_began_is_counted(model: ModelServer, make_session: MakeSession) -> None:
    session = make_session()
    usage = Counts(input=50_000)
    broken = Step(blocks=[Think("x" * 4_000), Say("never")], reset_after=1, usage=usage, times=3, then=FINE)
    done = await session.run(model.play("paid", broken))
    assert session.driver.state.usage.input == 150_100
    assert session.driver.state.usage.output == 3_020
    assert [event.broken for event in session.of(MessageDone)] == ["lost", "lost", "lost", ""]
    assert done.turns == 1, "an attempt that broke is no step of its own"
    assert session.driver.state.context == 120


async def test_attempts_that_break_use_up_the_budget(model: ModelServer, make_session: MakeSession) -> None:
    session = make_session(limits=Limits(cost=0.25))
    broken = Step(blocks=[Think("Hm."), Say("never")], reset_after=1, usage=Counts(input=100_000))
    done = await session.run(model.play("paid", broken))
    assert (done.ending, len(model.requests)) == ("max_cost", 1)


@pytest.mark.parametrize("vendor", ["anthropic", "openrouter", "responses", "gemini"])
async def test_an_interrupted_answer_is_counted_by_what_had_come(
    model: ModelServer, make_session: MakeSession, vendor: str
) -> None:
    session = make_session(vendor=vendor)
    gate = Gate()
    step = Step(blocks=[Say("word " * 800), Say("never")], usage=Counts(output=9_999), gate=gate, gate_after=1)
    running = asyncio.ensure_future(session.run(model.play("long", step) + " tell me"))
    await gate.reached()
    while sum(len(event.text) for event in session.of(TextDelta)) < 3_900:
        await asyncio.sleep(0)
    session.driver.interrupt()
    assert (await running).ending == "interrupted_streaming"
    usage = session.driver.state.usage
    assert 900 <= usage.output <= 1_100
    assert usage.input >= 100
    assert session.driver.state.cost > 0


async def test_a_long_run_is_shortened_each_time_it_grows_too_long(
    model: ModelServer, make_session: MakeSession
) -> None:
    """H3-3: progress in between makes another shortening possible."""
    session = make_session()
    (session.work / "a.txt").write_text("word " * 500)
    reads = [Step(blocks=[Call("Read", {"file_path": "a.txt", "limit": n + 1}, f"r{n}")]) for n in range(14)]
    for index in (6, 12):
        message = "prompt is too long: 210000 tokens > 200000 maximum"
        reads[index] = Step(status=400, message=message, times=1, then=reads[index])
    done = await session.run(model.play("long", *reads, FINE))
    assert done.text == "Recovered."
    assert len(session.of(Pruned)) == 2


async def test_a_request_too_large_without_an_image_leaves_out_old_output(
    model: ModelServer, make_session: MakeSession
) -> None:
    session = make_session()
    (session.work / "a.txt").write_text("word " * 500)
    reads = [Step(blocks=[Call("Read", {"file_path": "a.txt", "limit": n + 1}, f"r{n}")]) for n in range(6)]
    too_large = Step(status=413, message="Request exceeds the maximum size", times=1, then=FINE)
    done = await session.run(model.play("large", *reads, too_large))
    assert done.text == "Recovered."
    assert [(event.call_ids, event.images) for event in session.of(Pruned)] == [(("r0", "r1"), False)]


async def test_a_request_too_large_with_an_image_leaves_out_the_image_and_then_old_output(
    model: ModelServer, make_session: MakeSession
) -> None:
    session = make_session()
    (session.work / "a.txt").write_text("word " * 500)
    reads = [Step(blocks=[Call("Read", {"file_path": "a.txt", "limit": n + 1}, f"r{n}")]) for n in range(6)]
    too_large = Step(status=413, message="Request exceeds the maximum size", times=2, then=FINE)
    prompt = (Text(model.play("large", *reads, too_large)), Image("image/png", "aGk="))
    assert (await session.run(prompt)).text == "Recovered."
    assert [event.images for event in session.of(Pruned)] == [True, False]
