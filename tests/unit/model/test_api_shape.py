"""Blocks in the shape of the Messages API, there and back."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobstay.model.api_shape import (
    block_from_json,
    block_json,
    blocks_from_json,
    message_json,
    stop_from_json,
    stop_json,
    usage_from_json,
    usage_json,
)
from bobstay.model.message import Block, Image, Text, Thinking, ToolCall, ToolReply, Usage

PAIRS: list[tuple[Block, dict[str, Any]]] = [
    (Text("hi"), {"type": "text", "text": "hi"}),
    (Thinking("hm", "sig", "anthropic"), {"type": "thinking", "thinking": "hm", "signature": "sig"}),
    (Thinking("", "cipher", "anthropic", redacted=True), {"type": "redacted_thinking", "data": "cipher"}),
    (
        Image("image/png", "AAAA"),
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
    ),
    (ToolCall("c", "Read", {"path": "/a"}), {"type": "tool_use", "id": "c", "name": "Read", "input": {"path": "/a"}}),
    (ToolReply("c", (Text("ok"),)), {"type": "tool_result", "tool_use_id": "c", "content": "ok"}),
    (ToolReply("c", ()), {"type": "tool_result", "tool_use_id": "c", "content": ""}),
    (
        ToolReply("c", (Text("no"),), is_error=True),
        {"type": "tool_result", "tool_use_id": "c", "content": "no", "is_error": True},
    ),
    (
        ToolReply("c", (Text("a"), Text("b"))),
        {
            "type": "tool_result",
            "tool_use_id": "c",
            "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
        },
    ),
]


@pytest.mark.parametrize(("block", "data"), PAIRS)
def test_a_block_has_one_shape_and_comes_back_from_it(block: Block, data: dict[str, Any]) -> None:
    assert block_json(block) == data
    assert block_from_json(data) == block


def test_a_whole_message_says_how_it_ended_and_what_it_used() -> None:
    message = message_json("assistant", (Text("hi"),), id="m", model="x", stop="pause", usage=Usage(1, 2, 3, 4))
    assert message == {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "x",
        "content": [{"type": "text", "text": "hi"}],
        "stop_reason": "pause_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": 1,
            "output_tokens": 2,
            "cache_read_input_tokens": 3,
            "cache_creation_input_tokens": 4,
        },
    }
    assert message_json("user", (Text("hi"),)) == {"role": "user", "content": [{"type": "text", "text": "hi"}]}


@given(st.builds(Usage, *[st.integers(0)] * 4))
def test_the_four_counts_come_back(usage: Usage) -> None:
    assert usage_from_json(usage_json(usage)) == usage


@pytest.mark.parametrize("stop", ["end_turn", "tool_use", "max_tokens", "stop_sequence", "refusal", "pause"])
def test_the_way_a_message_stopped_comes_back(stop: Any) -> None:
    assert stop_from_json(stop_json(stop)) == stop


def test_a_call_whose_input_is_no_object_is_malformed() -> None:
    call = block_from_json({"type": "tool_use", "id": "c", "name": "Read", "input": '{"pa'})
    assert call == ToolCall("c", "Read", {}, malformed='{"pa')


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
kinds = st.sampled_from(["text", "thinking", "redacted_thinking", "image", "tool_use", "tool_result", "future"])
fields = st.sampled_from(["text", "thinking", "signature", "data", "source", "id", "name", "input", "tool_use_id"])


@given(kinds, st.dictionaries(fields | st.just("content") | st.just("is_error"), anything))
def test_hostile_json_is_a_block_or_nothing(kind: str, data: dict[str, Any]) -> None:
    hostile = {**data, "type": kind}
    block = block_from_json(hostile)
    if block is not None:
        assert block_from_json(block_json(block)) is not None
    assert isinstance(blocks_from_json([hostile, data, None]), tuple)
    assert isinstance(usage_from_json(data), Usage)


@given(anything)
def test_content_of_any_shape_is_a_tuple_of_blocks(content: Any) -> None:
    assert isinstance(blocks_from_json(content), tuple)
    assert stop_from_json(content) is None or isinstance(content, str)
