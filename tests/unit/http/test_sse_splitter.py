"""The splitter of event streams."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobstay.http import sse_splitter
from bobstay.http.http_error import HttpError
from bobstay.http.sse_splitter import SseSplitter

names = st.text(st.characters(codec="ascii", exclude_characters="\r\n:\0"), min_size=1).filter(lambda t: t == t.strip())
payloads = st.lists(st.binary(max_size=30).filter(lambda b: not (set(b) & set(b"\r\n"))), min_size=1, max_size=3)


def split(data: bytes, cuts: list[int] | None = None) -> list[tuple[str, bytes]]:
    splitter = SseSplitter()
    edges = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts or [])})
    found: list[tuple[str, bytes]] = []
    for start, end in pairwise(edges):
        found += splitter.feed(data[start:end])
    return found


@given(
    st.lists(st.tuples(st.one_of(st.just(""), names), payloads, st.booleans()), max_size=6),
    st.sampled_from([b"\n", b"\r\n", b"\r"]),
    st.booleans(),
    st.lists(st.integers(0, 10_000), max_size=20),
)
def test_events_come_out_as_they_went_in_wherever_the_stream_is_cut(
    events: list[tuple[str, list[bytes], bool]], newline: bytes, bom: bool, cuts: list[int]
) -> None:
    lines: list[bytes] = []
    for name, parts, comment in events:
        lines += [b": a comment"] if comment else []
        lines += [b"event: " + name.encode()] if name else []
        lines += [b"data: " + part for part in parts]
        lines += [b"id: 7", b"retry: 10", b""]
    data = (b"\xef\xbb\xbf" if bom else b"") + b"".join(line + newline for line in lines)
    assert split(data, cuts) == [(name, b"\n".join(parts)) for name, parts, _ in events]


@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=10))
def test_garbage_gives_the_same_events_however_it_is_cut(data: bytes, cuts: list[int]) -> None:
    assert split(data, cuts) == split(data)


def test_a_stream_cut_at_every_byte_loses_nothing() -> None:
    data = 'event: a\ndata: {"x": "é€😀"}\r\n\r\ndata: two\ndata: lines\n\n'.encode()
    whole = [("a", '{"x": "é€😀"}'.encode()), ("", b"two\nlines")]
    assert split(data) == whole
    assert split(data, list(range(len(data)))) == whole
    for cut in range(len(data)):
        assert split(data, [cut]) == whole


def test_half_an_event_is_never_given() -> None:
    """F9."""
    data = b'event: a\ndata: {"complete": true}\n\nevent: b\ndata: {"complete": fal'
    assert split(data) == [("a", b'{"complete": true}')]
    assert split(data + b"se}\n") == [("a", b'{"complete": true}')]


def test_space_after_the_colon_is_optional_and_only_one_is_taken() -> None:
    assert split(b"event:a\ndata:x\n\ndata:  y\n\ndata\n\n") == [("a", b"x"), ("", b" y"), ("", b"")]


def test_an_event_without_data_is_no_event() -> None:
    assert split(b"event: lonely\n\n: only a comment\n\n\n\n\ndata: x\n\n") == [("", b"x")]


def test_an_event_that_never_ends_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse_splitter, "MAX_EVENT_SIZE", 1000)
    splitter = SseSplitter()
    splitter.feed(b"data: " + b"x" * 900)
    with pytest.raises(HttpError) as caught:
        splitter.feed(b"x" * 100)
    assert caught.value.kind == "protocol"
