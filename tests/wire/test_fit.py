"""No line exceeds the length limit of hosts."""

import json
import time
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from bobstay.wire.line_limit import LINE_LIMIT, encode_line, shrink
from tests.kit.waiting import DEADLINE

LEAVES = st.one_of(st.none(), st.booleans(), st.integers(-(10**9), 10**9), st.text(max_size=30))
LONG = st.builds(lambda piece, times: piece * times, st.text(min_size=1, max_size=4), st.integers(1, 900))
MANY = st.builds(lambda entry, times: [entry] * times, LEAVES, st.integers(1, 900))


def frames(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    values = st.recursive(
        leaves,
        lambda inner: st.one_of(st.lists(inner, max_size=6), st.dictionaries(st.text(max_size=8), inner, max_size=6)),
        max_leaves=12,
    )
    return st.fixed_dictionaries(
        {"type": st.just("user"), "uuid": st.just("u" * 36)},
        optional={"tool_use_result": values, "message": values, "session_id": st.just("s" * 36)},
    )


def tool_frame(content: str, display: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": "call_1", "content": content, "is_error": False}
    return {
        "type": "user",
        "message": {"role": "user", "content": [block]},
        "uuid": "u-1",
        "tool_use_result": display,
    }


@settings(deadline=None, max_examples=200)
@given(frames(st.one_of(LEAVES, LONG, MANY)), st.integers(1500, 6000))
def test_any_frame_fits(frame: dict[str, Any], limit: int) -> None:
    line = encode_line(frame, limit)
    assert len(line.decode()) <= limit
    assert b"\n" not in line
    back = json.loads(line)
    assert (back["type"], back["uuid"]) == (frame["type"], frame["uuid"])


@given(frames(LEAVES))
def test_what_fits_is_left_alone(frame: dict[str, Any]) -> None:
    assert json.loads(encode_line(frame)) == json.loads(json.dumps(frame))


def test_the_display_is_cut_before_what_the_model_read() -> None:
    content = "result " * 10_000
    frame = shrink(tool_frame(content, {"stdout": "x" * 2_000_000, "stderr": "warn"}))
    assert frame["message"]["content"][0]["content"] == content
    assert frame["tool_use_result"]["stderr"] == "warn"
    assert "characters left out" in frame["tool_use_result"]["stdout"]
    assert len(frame["tool_use_result"]["stdout"]) > 800_000


def test_the_longest_strings_are_cut_first() -> None:
    frame = shrink({"type": "x", "short": "s" * 5_000, "long": "l" * 3_000_000, "longer": "m" * 9_000_000})
    assert frame["short"] == "s" * 5_000
    assert abs(len(frame["long"]) - len(frame["longer"])) < 1_000
    assert len(encode_line(frame)) > LINE_LIMIT * 0.9


def test_text_that_grows_when_escaped_is_counted_as_it_grows() -> None:
    line = encode_line(tool_frame('\x01\\"\n' * 400_000, None))
    assert len(line) <= LINE_LIMIT


def test_characters_are_counted_and_not_bytes() -> None:
    text = "ü" * 700_000
    assert json.loads(encode_line({"type": "x", "text": text}))["text"] == text


def test_half_an_image_is_none() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 2_000_000}}
    frame = shrink({"type": "user", "message": {"role": "user", "content": [image, {"type": "text", "text": "hi"}]}})
    first, second = frame["message"]["content"]
    assert first["type"] == "text"
    assert "image" in first["text"]
    assert second == {"type": "text", "text": "hi"}


def test_a_million_short_lines_keep_their_ends() -> None:
    lines = [f"line {number}" for number in range(1_000_000)]
    began = time.perf_counter()
    frame = json.loads(encode_line(tool_frame("ok", {"lines": lines})))
    assert time.perf_counter() - began < DEADLINE
    kept = frame["tool_use_result"]["lines"]
    assert (kept[0], kept[-1]) == ("line 0", "line 999999")
    assert any("entries left out" in entry for entry in kept)


def test_a_thing_with_a_million_keys_still_names_its_call() -> None:
    frame = tool_frame("ok", None)
    frame["message"]["content"][0]["content"] = [{f"key {number}": 1} for number in range(9)] + [
        {f"key {number}": number for number in range(200_000)}
    ]
    back = json.loads(encode_line(frame))
    assert back["message"]["content"][0]["tool_use_id"] == "call_1"
    assert back["truncated"] is True


def test_what_is_nested_too_deeply_to_be_cut_is_left_out() -> None:
    nested: Any = "x" * 5_000
    for _ in range(900):
        nested = [nested]
    line = encode_line({"type": "user", "uuid": "u-1", "message": nested}, 2_000)
    assert len(line) <= 2_000
    assert json.loads(line)["uuid"] == "u-1"
