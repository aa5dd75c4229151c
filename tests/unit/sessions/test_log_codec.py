"""The log codec: lines round-trip, and no input breaks the decoder."""

import contextlib
import io
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobstay.model.event import BlockDone, Durable, Envelope, Noted, Prompted, Raw, RunDone, ToolDone, ToolStarted
from bobstay.model.message import Block, Image, ReplyPart, Text, Thinking, ToolCall, ToolReply, Usage
from bobstay.sessions.conformance import EVERY_KIND
from bobstay.sessions.log_codec import BadLine, Unstorable, decode, encode, renumber
from bobstay.sessions.log_scan import MAX_WARNINGS, LogScan

plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
json_values = st.recursive(plain, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8)
objects = st.dictionaries(st.text(), json_values, max_size=4)
parts: st.SearchStrategy[ReplyPart] = st.builds(Text, st.text()) | st.builds(Image, st.text(), st.text())
replies = st.builds(ToolReply, st.text(), st.lists(parts).map(tuple), st.booleans())
calls = st.builds(ToolCall, st.text(), st.text(), objects, st.text(), st.text())
blocks: st.SearchStrategy[Block] = (
    parts | replies | calls | st.builds(Thinking, st.text(), st.text(), st.text(), st.booleans())
)
usages = st.builds(Usage, st.integers(0), st.integers(0))
events: st.SearchStrategy[Durable] = st.one_of(
    st.builds(Prompted, st.text(), st.lists(blocks).map(tuple), client_id=st.text()),
    st.builds(BlockDone, st.text(), st.integers(), blocks, st.text(), usages, st.booleans()),
    st.builds(ToolStarted, st.text(), st.text(), objects, st.booleans()),
    st.builds(ToolDone, replies, display=json_values, input=objects, files=st.dictionaries(st.text(), st.text())),
    st.builds(RunDone, st.just("completed"), st.text(), structured=json_values),
    st.builds(Raw, objects),
    st.sampled_from(EVERY_KIND),
)
envelopes = st.builds(
    Envelope, st.integers(), st.text(), st.text(), st.floats(0, 1e12), events, st.text(), st.text(), st.integers()
)


@given(envelopes)
def test_every_envelope_is_one_line_and_comes_back_equal(envelope: Envelope) -> None:
    """H6-1"""
    line = encode(envelope)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert decode(line) == envelope


@given(envelopes, st.integers(), st.text())
def test_renumbering_changes_number_and_parent_only(envelope: Envelope, seq: int, parent: str) -> None:
    assert decode(renumber(encode(envelope), seq, parent)) == msgspec.structs.replace(envelope, seq=seq, parent=parent)


def test_renumbering_keeps_fields_of_newer_versions() -> None:
    line = b'{"seq":7,"id":"a","parent":"b","at":1.0,"event":{"type":"noted","text":"x","colour":"red"},"extra":[1]}\n'
    assert renumber(line, 2, "c") == (
        b'{"seq":2,"id":"a","parent":"c","at":1.0,"event":{"type":"noted","text":"x","colour":"red"},"extra":[1]}\n'
    )


@given(envelopes, st.data())
def test_a_garbled_line_is_an_entry_or_a_bad_line_and_nothing_else(envelope: Envelope, data: st.DataObject) -> None:
    """F1"""
    line = bytearray(encode(envelope))
    for _ in range(data.draw(st.integers(1, 4))):
        line[data.draw(st.integers(0, len(line) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(BadLine):
        assert isinstance(decode(bytes(line)), Envelope)


@given(st.binary(max_size=400))
def test_any_bytes_can_be_scanned(data: bytes) -> None:
    """F1"""
    scan = LogScan(io.BytesIO(data))
    assert all(isinstance(envelope, Envelope) for envelope in scan)
    assert data[: scan.end] + scan.tail == data


def test_an_unknown_kind_is_kept_whole() -> None:
    """F2"""
    line = b'{"seq":3,"id":"a","parent":"b","at":5,"event":{"type":"teleported","to":{"x":1}},"agent":"z"}'
    assert decode(line) == Envelope(3, "a", "b", 5.0, Raw({"type": "teleported", "to": {"x": 1}}), agent="z")


def test_a_known_kind_of_another_shape_is_kept_whole() -> None:
    line = b'{"seq":3,"id":"a","parent":null,"at":"noon","event":{"type":"noted","text":7}}'
    assert decode(line) == Envelope(3, "a", "", 0.0, Raw({"type": "noted", "text": 7}))


@pytest.mark.parametrize("line", [b"", b"{", b"[]", b"null", b"\0\0", b'{"seq":1}', b"{" * 100_000, b'{"a":"\xff"}'])
def test_what_is_no_entry_is_a_bad_line(line: bytes) -> None:
    with pytest.raises(BadLine):
        decode(line)


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ("half \ud83d", "half �"),
        ("whole \ud83d\ude00", "whole 😀"),
        ({"\udcff": 1}, {"�": 1}),
        ({(1, 2): "x"}, {"(1, 2)": "x"}),
        (float("nan"), None),
    ],
)
def test_what_json_cannot_say_is_replaced_and_not_lost(value: Any, kept: Any) -> None:
    event = ToolDone(ToolReply("c", ()), display=value)
    stored = decode(encode(Envelope(1, "a", "", 0.0, event))).event
    assert isinstance(stored, ToolDone)
    assert stored.display == kept


def test_data_nested_without_end_cannot_be_stored() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(Unstorable, match="nested"):
        encode(Envelope(1, "a", "", 0.0, ToolDone(ToolReply("c", ()), display=endless)))


def test_a_file_full_of_bad_lines_gives_a_short_report() -> None:
    scan = LogScan(io.BytesIO(b"bad\n" * 1000))
    assert list(scan) == []
    texts = scan.warnings.texts()
    assert len(texts) == MAX_WARNINGS + 1
    assert texts[0].startswith("line 1 was skipped: ")
    assert "980 more" in texts[-1]


def test_blank_lines_are_no_news() -> None:
    line = encode(Envelope(1, "a", "", 0.0, Noted("x")))
    scan = LogScan(io.BytesIO(b"\n" + line + b"\r\n\n"))
    assert len(list(scan)) == 1
    assert scan.warnings.texts() == []
