"""Long texts come short to those who ask for it, and whole to everybody else."""

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobstay.model.event import Noted
from bobstay.server.stream.cutting import cut_frame, cut_struct
from tests.server.stream.ground import Ground, tab

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=80),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@pytest.fixture
async def ground(tmp_path: Path) -> AsyncIterator[Ground]:
    async with Ground(tmp_path) as running:
        yield running


async def test_a_page_gets_how_a_huge_text_begins_and_ends(ground: Ground) -> None:
    """FM-58."""
    session = ground.begin()
    async with tab(ground.url) as page, tab(ground.url) as program:
        await page.say("hello", protocol=1, cut=4096)
        await page.follow(f"session:{session.id}")
        await program.follow(f"session:{session.id}")
        session.append(Noted("a" * 3072 + "b" * 1_000_000 + "c" * 1024))
        cut = (await page.wait("notice"))["data"]["text"]
        assert cut == "a" * 3072 + "\n… 1000000 characters left out …\n" + "c" * 1024
        assert len((await program.wait("notice"))["data"]["text"]) == 1_004_096


async def test_what_was_before_comes_short_too(ground: Ground) -> None:
    session = ground.begin()
    for _ in range(20):
        session.append(Noted("x" * 1_000_000))
    async with tab(ground.url) as page:
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


@given(st.text(min_size=2000, max_size=5000))
def test_a_cut_text_keeps_its_ends(text: str) -> None:
    cut = cut_struct(Noted(text), 1024).text
    assert cut.startswith(text[:768])
    assert cut.endswith(text[-256:])
    assert len(cut) < 1024 + 60
