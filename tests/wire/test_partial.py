"""Streaming frames are well formed, whatever a vendor sends."""

import json
from typing import Any, get_args

from hypothesis import given
from hypothesis import strategies as st

from bobstay.model.event import BlockDone, Event, MessageDone, RunDone
from bobstay.model.live_events import (
    BlockBegan,
    InputDelta,
    MessageBegan,
    Requesting,
    Retrying,
    TextDelta,
    ThinkingDelta,
)
from bobstay.model.message import Stop, Text, Thinking, ToolCall, Usage
from bobstay.wire.wire_frames import Frame
from tests.wire.test_encode import encoder, kinds, turn

BEGAN = MessageBegan("msg_1", "m-1", Usage(100, 1))
DONE = MessageDone("msg_1", "m-1", "end_turn", Usage(100, 20))


def streamed(*events: Event) -> list[Frame]:
    return turn(encoder(partial=True), *events)[1:]


def raw(frames: list[Frame]) -> list[Any]:
    """Types of stream events, with whole messages among them as `FULL`."""
    return [frame["event"]["type"] if frame["type"] == "stream_event" else "FULL" for frame in frames]


def test_the_full_message_stands_between_the_last_piece_and_the_end_of_its_block() -> None:
    frames = streamed(
        BEGAN,
        BlockBegan("msg_1", 0, "text"),
        TextDelta("msg_1", 0, "Hel"),
        TextDelta("msg_1", 0, "lo"),
        BlockDone("msg_1", 0, Text("Hello"), "m-1"),
        DONE,
    )
    assert raw(frames) == [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_delta",
        "FULL",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    assert frames[6]["event"]["delta"]["stop_reason"] == "end_turn"
    assert frames[6]["event"]["usage"]["output_tokens"] == 20


def test_each_model_call_is_announced() -> None:
    assert kinds(streamed(Requesting("m-1"))) == ["status"]


def test_a_signature_is_streamed_before_the_thinking_is_complete() -> None:
    frames = streamed(
        BEGAN,
        BlockBegan("msg_1", 0, "thinking"),
        ThinkingDelta("msg_1", 0, "Hm."),
        BlockDone("msg_1", 0, Thinking("Hm.", "c2ln"), "m-1"),
    )
    assert frames[3]["event"]["delta"] == {"type": "signature_delta", "signature": "c2ln"}
    assert raw(frames)[-2:] == ["FULL", "content_block_stop"]


def test_a_call_that_came_in_one_piece_is_streamed_in_one_piece() -> None:
    frames = streamed(BEGAN, BlockDone("msg_1", 0, ToolCall("c1", "Bash", {"command": "ls"}), "m-1"))
    assert raw(frames) == ["message_start", "content_block_start", "content_block_delta", "FULL", "content_block_stop"]
    assert frames[1]["event"]["content_block"] == {"type": "tool_use", "id": "c1", "name": "Bash", "input": {}}
    assert json.loads(frames[2]["event"]["delta"]["partial_json"]) == {"command": "ls"}


def test_an_interrupt_closes_what_is_open() -> None:
    frames = streamed(
        BEGAN, BlockBegan("msg_1", 0, "text"), TextDelta("msg_1", 0, "Hel"), RunDone("interrupted_streaming")
    )
    assert raw(frames[3:-1]) == ["FULL", "content_block_stop", "message_delta", "message_stop"]
    assert frames[5]["event"]["delta"]["stop_reason"] is None


def test_a_fault_in_the_middle_closes_the_stream_before_the_next_try() -> None:
    frames = streamed(BEGAN, BlockBegan("msg_1", 0, "text"), Retrying(1, 2, 0.1, None, "server_error"), BEGAN)
    assert [frame["event"]["type"] for frame in frames if frame["type"] == "stream_event"] == [
        "message_start",
        "content_block_start",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "message_start",
    ]


def test_pieces_of_two_blocks_may_mix() -> None:
    frames = streamed(
        BEGAN,
        BlockBegan("msg_1", 0, "tool_call", "c1", "Bash"),
        BlockBegan("msg_1", 1, "tool_call", "c2", "Bash"),
        InputDelta("msg_1", 1, "{}"),
        InputDelta("msg_1", 0, "{}"),
        BlockDone("msg_1", 1, ToolCall("c2", "Bash", {}), "m-1"),
        DONE,
    )
    assert raw(frames).count("content_block_start") == raw(frames).count("content_block_stop") == 2


PIECES = st.one_of(
    st.just(BEGAN),
    st.builds(BlockBegan, st.just("msg_1"), st.integers(0, 2), st.just("text")),
    st.builds(TextDelta, st.just("msg_1"), st.integers(0, 2), st.text(max_size=3)),
    st.builds(BlockDone, st.just("msg_1"), st.integers(0, 2), st.builds(Text, st.text(max_size=3))),
    st.builds(MessageDone, st.just("msg_1"), st.just("m"), st.sampled_from(get_args(Stop)), st.just(Usage())),
    st.just(Retrying(1, 1, 0.0, None, "server_error")),
)


@given(st.lists(PIECES, max_size=20))
def test_every_stream_that_begins_also_ends(events: list[Event]) -> None:
    """F10: a stream that breaks anywhere leaves no host waiting."""
    frames = streamed(*events, RunDone("completed"))
    types = [frame["event"]["type"] for frame in frames if frame["type"] == "stream_event"]
    depth = 0
    for kind in types:
        depth += (kind == "message_start") - (kind == "message_stop")
        assert depth in (0, 1)
    assert depth == 0
