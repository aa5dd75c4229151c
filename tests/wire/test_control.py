"""Control requests in flight: answered, refused, withdrawn, or abandoned by the host."""

import asyncio

import pytest

from bobstay.wire.control_channel import ControlChannel, ControlError, failure, success
from bobstay.wire.wire_frames import Frame


def answer(frame: Frame, **body: object) -> Frame:
    response = {"request_id": frame["request_id"], **body}
    return {"type": "control_response", "response": response}


async def test_answers_find_their_questions_in_any_order() -> None:
    sent: list[Frame] = []
    channel = ControlChannel(sent.append)
    asked = [asyncio.ensure_future(channel.request({"subtype": "x", "n": number})) for number in range(3)]
    await asyncio.sleep(0)
    for frame in reversed(sent):
        channel.resolve(answer(frame, subtype="success", response={"n": frame["request"]["n"]}))
    assert [(await future)["n"] for future in asked] == [0, 1, 2]
    assert len({frame["request_id"] for frame in sent}) == 3


async def test_an_answer_without_a_body_is_an_empty_one() -> None:
    sent: list[Frame] = []
    channel = ControlChannel(sent.append)
    asked = asyncio.ensure_future(channel.request({"subtype": "x"}))
    await asyncio.sleep(0)
    channel.resolve(answer(sent[0], subtype="success"))
    assert await asked == {}


async def test_an_error_is_raised_with_the_words_of_the_host() -> None:
    sent: list[Frame] = []
    channel = ControlChannel(sent.append)
    asked = asyncio.ensure_future(channel.request({"subtype": "x"}))
    await asyncio.sleep(0)
    channel.resolve(answer(sent[0], subtype="error", error="callback exploded"))
    with pytest.raises(ControlError, match="callback exploded"):
        await asked


async def test_a_dropped_question_is_withdrawn_and_its_late_answer_ignored() -> None:
    sent: list[Frame] = []
    channel = ControlChannel(sent.append)
    asked = asyncio.ensure_future(channel.request({"subtype": "x"}))
    await asyncio.sleep(0)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    assert sent[1] == {"type": "control_cancel_request", "request_id": sent[0]["request_id"]}
    channel.resolve(answer(sent[0], subtype="success", response={}))


async def test_nobody_waits_for_a_host_that_is_gone() -> None:
    channel = ControlChannel(lambda _: None)
    asked = asyncio.ensure_future(channel.request({"subtype": "x"}))
    await asyncio.sleep(0)
    channel.close()
    with pytest.raises(ControlError, match="closed its input"):
        await asked
    with pytest.raises(ControlError, match="cannot answer"):
        await channel.request({"subtype": "x"})


@pytest.mark.parametrize("frame", [{}, {"response": 7}, {"response": {}}, {"response": {"request_id": ["x"]}}])
async def test_a_malformed_answer_is_ignored(frame: Frame) -> None:
    ControlChannel(lambda _: None).resolve(frame)


def test_our_own_answers_have_the_shape_of_the_wire() -> None:
    assert success("r1", {"a": 1}) == {
        "type": "control_response",
        "response": {"subtype": "success", "request_id": "r1", "response": {"a": 1}},
    }
    assert "response" not in success("r1")["response"]
    assert failure("r1", "no", "code")["response"] == {
        "subtype": "error",
        "request_id": "r1",
        "error": "no",
        "error_code": "code",
    }
