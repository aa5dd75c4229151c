"""Long texts come short to those who ask for it, and whole to everybody else."""

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobstay.model.event import BlockDone, Envelope, Noted, Prompted
from bobstay.model.message import Text
from bobstay.server.streams.text_cutting import cut_entry, cut_frame
from tests.kit.stream_client import stream_client
from tests.server.streams.stream_testbed import StreamTestbed

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=80),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@pytest.fixture
async def testbed(tmp_path: Path) -> AsyncIterator[StreamTestbed]:
    async with StreamTestbed(tmp_path) as running:
        yield running


async def test_a_page_gets_how_a_huge_text_begins_and_ends(testbed: StreamTestbed) -> None:
    """FM-58."""
    session = testbed.begin()
    async with stream_client(testbed.url) as page, stream_client(testbed.url) as program:
        await page.say("hello", protocol=1, cut=4096)
        await page.follow(f"session:{session.id}")
        await program.follow(f"session:{session.id}")
        session.append(Noted("a" * 3072 + "b" * 1_000_000 + "c" * 1024))
        frame = await page.wait("notice")
        assert frame["data"]["text"] == "a" * 3072
        assert frame["cuts"] == [{"path": ["text"], "tail": "c" * 1024, "omitted": 1_000_000}]
        assert len((await program.wait("notice"))["data"]["text"]) == 1_004_096


async def test_what_was_before_comes_short_too(testbed: StreamTestbed) -> None:
    session = testbed.begin()
    for _ in range(20):
        session.append(Noted("x" * 1_000_000))
    async with stream_client(testbed.url) as page:
        await page.say("hello", protocol=1, cut=2000)
        await page.follow(f"session:{session.id}")
        notices = [frame for frame in page.frames if frame["type"] == "notice"]
        assert len(notices) == 20
        assert sum(len(raw) for raw in page.raw) < 200_000


def test_long_frames_are_not_kept_for_long() -> None:
    for number in range(20):
        cut_frame(msgspec.json.encode("x" * 100_000 + str(number)), 1024)
    assert cut_frame.cache_info().currsize <= 2


def test_a_picture_is_never_cut() -> None:
    frame = msgspec.json.encode({"data": {"type": "image", "media_type": "image/png", "data": "A" * 9000}})
    assert cut_frame(frame, 1024) == frame


@given(JSON)
def test_what_is_short_enough_stays_as_it_is(value: object) -> None:
    assert msgspec.json.decode(cut_frame(msgspec.json.encode(value), 1024)) == value


async def test_an_answer_comes_whole_on_the_stream(testbed: StreamTestbed) -> None:
    """An answer of 20 KB without its middle reads as another answer; above 200 KB its ends come apart, as data."""
    session = testbed.begin()
    for size in (20_000, 300_000):
        session.append(BlockDone(message_id="m", index=0, block=Text("word " * (size // 5))))
    session.append(Prompted("p", (Text("please " * 3_000),)))
    async with stream_client(testbed.url) as page:
        await page.say("hello", protocol=1, cut=16_384)
        await page.follow(f"session:{session.id}")
        answers = [frame for frame in page.frames if frame["type"] == "part.done"]
        assert answers[0]["data"]["block"]["text"] == "word " * 4_000
        assert "cuts" not in answers[0]
        (cut,) = answers[1]["cuts"]
        assert cut["path"] == ["block", "text"]
        assert len(answers[1]["data"]["block"]["text"]) + cut["omitted"] + len(cut["tail"]) == 300_000
        assert next(frame for frame in page.frames if frame["type"] == "message.user").get("cuts") is None


def test_a_text_that_looks_like_a_cut_one_is_not_taken_for_one() -> None:
    text = "It prints:\n… 5 characters left out …\nand ends."
    entry = Envelope(seq=1, id="e", parent="", at=0.0, event=Noted(text))
    assert cut_entry(entry, 1024) == (entry, [])


def test_lines_are_cut_at_their_ends_and_counted() -> None:
    text = "".join(f"line {number}\n" for number in range(1_000))
    entry, (cut,) = cut_entry(Envelope(seq=7, id="e", parent="", at=0.0, event=Noted(text)), 1024)
    assert isinstance(entry.event, Noted)
    assert entry.event.text.endswith("\n")
    assert cut.tail.startswith("line ")
    assert entry.event.text.count("\n") + cut.lines + cut.tail.count("\n") == 1_000
    assert cut.seq == 7


@given(st.text(min_size=2000, max_size=5000) | st.text("ab\n", min_size=2000, max_size=5000))
def test_a_cut_text_keeps_its_ends(text: str) -> None:
    entry, (cut,) = cut_entry(Envelope(seq=1, id="e", parent="", at=0.0, event=Noted(text)), 1024)
    assert isinstance(entry.event, Noted)
    head = entry.event.text
    assert text.startswith(head)
    assert text.endswith(cut.tail)
    assert len(head) + cut.omitted + len(cut.tail) == len(text)
    assert 384 <= len(head) <= 768
    assert 128 <= len(cut.tail) <= 256
    assert text.count("\n") == head.count("\n") + cut.lines + cut.tail.count("\n")
