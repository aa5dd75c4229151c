"""A call that the output limit cut off is explained as such, and there is more room for the next try (H3-4)."""

import pytest

from bobstay.model.event import ToolDone, ToolStarted
from tests.kit.scripted_session import MakeSession
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer

FINE = Step(blocks=[Say("Done.")])


def cut(id: str, raw: str = '{"file_path": "a.txt", "content": "half of') -> Step:
    return Step(blocks=[Say("Writing."), Call("Write", {}, id, raw=raw)], stop="max_tokens")


@pytest.mark.parametrize("vendor", ["anthropic", "responses", "openrouter"])
async def test_the_model_reads_that_its_output_limit_cut_the_call(
    model: ModelServer, make_session: MakeSession, vendor: str
) -> None:
    session = make_session(vendor=vendor)
    done = await session.run(model.play("cut", cut("w"), FINE))
    (reply,) = (event.reply for event in session.of(ToolDone))
    assert reply.is_error
    assert "output limit" in reply.text
    assert "parts" in reply.text
    assert "valid JSON" not in reply.text
    assert (done.ending, session.of(ToolStarted)) == ("completed", [])


async def test_a_call_cut_before_its_input_began_is_explained_too(
    model: ModelServer, make_session: MakeSession
) -> None:
    session = make_session()
    await session.run(model.play("cut", cut("w", raw="{}"), FINE))
    assert "output limit" in session.of(ToolDone)[0].reply.text


async def test_a_call_before_the_one_that_was_cut_keeps_its_own_answer(
    model: ModelServer, make_session: MakeSession
) -> None:
    session = make_session()
    (session.work / "a.txt").write_text("one")
    both = Step(
        blocks=[Call("Read", {"file_path": "a.txt"}, "r"), Call("Write", {}, "w", raw='{"f')], stop="max_tokens"
    )
    await session.run(model.play("cut", both, FINE))
    replies = {event.reply.call_id: event.reply.text for event in session.of(ToolDone)}
    assert "one" in replies["r"]
    assert "output limit" in replies["w"]


async def test_the_next_try_may_be_as_long_as_the_model_can_write(
    model: ModelServer, make_session: MakeSession
) -> None:
    await make_session().run(model.play("cut", cut("w"), FINE))
    assert [request.body["max_tokens"] for request in model.requests] == [32_000, 64_000]


async def test_a_limit_that_somebody_set_is_not_raised(model: ModelServer, make_session: MakeSession) -> None:
    session = make_session(max_output=1_000)
    await session.run(model.play("cut", Step(blocks=[Say("Cut")], stop="max_tokens"), FINE))
    assert [request.body["max_tokens"] for request in model.requests] == [1_000, 1_000]


async def test_calls_cut_four_times_end_the_turn_and_are_counted_once_each(
    model: ModelServer, make_session: MakeSession
) -> None:
    done = await make_session().run(model.play("cuts", *[cut(f"w{n}", f'{{"n{n}') for n in range(6)]))
    assert (done.ending, len(model.requests)) == ("max_output", 4)
    assert "4 times" in done.text
