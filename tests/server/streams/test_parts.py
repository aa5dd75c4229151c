"""Live parts: a client that joins at any time ends with the same text, at no more than 20 frames a second."""

import asyncio
import heapq
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as some

from bobstay.model.event import BlockDone, RunDone, ToolDone
from bobstay.model.live_events import (
    BlockBegan,
    InputDelta,
    MessageBegan,
    Retrying,
    TextDelta,
    ThinkingDelta,
    ToolProgress,
)
from bobstay.model.message import Text, ToolReply, Usage
from bobstay.server.streams.live_parts import INTERVAL, OUTPUT_TAIL, LiveParts


class Clock:
    """Time that passes when told to."""

    def __init__(self) -> None:
        self.now = 0.0
        self._later: list[tuple[float, int, asyncio.TimerHandle, Callable[[], object]]] = []
        self._loop = asyncio.new_event_loop()
        self._loop.close()

    def time(self) -> float:
        return self.now

    def call_later(self, delay: float, callback: Callable[[], object], /) -> asyncio.TimerHandle:
        assert delay > 0
        handle = asyncio.TimerHandle(self.now + delay, callback, (), self._loop)
        heapq.heappush(self._later, (self.now + delay, len(self._later), handle, callback))
        return handle

    def pass_by(self, seconds: float) -> None:
        end = self.now + seconds
        while self._later and self._later[0][0] <= end:
            self.now, _, handle, callback = heapq.heappop(self._later)
            if not handle.cancelled():
                callback()
        self.now = end

    @property
    def pending(self) -> int:
        return sum(not handle.cancelled() for _, _, handle, _ in self._later)


class Screen:
    """What a client makes of frames: texts by part, with the rule that an offset must be where its text ends."""

    def __init__(self, snapshot: list[dict[str, Any]]) -> None:
        self.texts: dict[tuple[Any, ...], str] = {}
        self.holes = 0
        for part in snapshot:
            self.texts[_key(part)] = part["text"]
            assert part.get("call_id") or part["offset"] == 0

    def take(self, frame: dict[str, Any]) -> None:
        data = frame["data"]
        if frame["type"] == "part.began":
            self.texts[_key(data)] = ""
        elif frame["type"] == "part.dropped":
            del self.texts[_key(data)]
        elif frame["type"] == "part.delta":
            have = self.texts.get(_key(data), "")
            self.holes += data["offset"] != len(have)
            self.texts[_key(data)] = have + data["text"]


def _key(data: dict[str, Any]) -> tuple[Any, ...]:
    return data.get("message_id"), data.get("index"), data.get("kind")


class PublishedParts:
    """Live parts, what they published, and the screens of clients that joined."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.frames: list[dict[str, Any]] = []
        self.times: list[float] = []
        self.screens: list[Screen] = []
        self.parts = LiveParts("s", self._published, clock=self.clock)

    def join(self) -> Screen:
        self.screens.append(Screen(self.parts.snapshot()))
        return self.screens[-1]

    def _published(self, frame: bytes) -> None:
        decoded = msgspec.json.decode(frame)
        self.frames.append(decoded)
        self.times.append(self.clock.now)
        for screen in self.screens:
            screen.take(decoded)


STEP = some.one_of(
    some.tuples(some.just("text"), some.integers(0, 2), some.text(min_size=1, max_size=5)),
    some.tuples(some.just("thinking"), some.integers(3, 4), some.text(min_size=1, max_size=5)),
    some.tuples(some.just("input"), some.integers(5, 6), some.text(min_size=1, max_size=5)),
    some.tuples(some.just("wait"), some.just(0), some.floats(0.001, 0.2)),
    some.tuples(some.just("join"), some.just(0), some.just("")),
    some.tuples(some.just("store"), some.integers(0, 6), some.just("")),
)
KINDS: dict[str, Any] = {"text": TextDelta, "thinking": ThinkingDelta, "input": InputDelta}


@given(some.lists(STEP, max_size=60))
def test_any_join_at_any_time_ends_with_the_same_text(steps: list[tuple[str, int, Any]]) -> None:
    """5.3, FM-1: deltas carry offsets; a late client gets the open part whole and goes on from there."""
    published = PublishedParts()
    whole: dict[int, str] = {}
    first = published.join()
    for what, index, value in steps:
        if what in KINDS:
            whole[index] = whole.get(index, "") + value
            published.parts.live(KINDS[what]("m", index, value))
        elif what == "wait":
            published.clock.pass_by(value)
        elif what == "join":
            published.join()
        elif index in whole:
            published.parts.stored(BlockDone("m", index, Text(whole.pop(index))))
            for screen in published.screens:  # as a client does when the block is in the log
                for key in [key for key in screen.texts if key[1] == index]:
                    del screen.texts[key]
    published.clock.pass_by(1)
    assert not published.clock.pending
    for screen in published.screens:
        assert screen.holes == 0
        assert {key[1]: text for key, text in screen.texts.items()} == whole
    assert first.texts == published.join().texts


@given(some.lists(some.tuples(some.floats(0.0001, 0.03), some.integers(0, 1)), max_size=150))
def test_a_part_has_at_most_twenty_frames_a_second_and_the_first_comes_at_once(gaps: list[tuple[float, int]]) -> None:
    """S003-Q4"""
    published = PublishedParts()
    for number, (gap, index) in enumerate(gaps):
        published.parts.live(TextDelta("m", index, "x"))
        if number == 0:
            assert len(published.frames) == 1
        published.clock.pass_by(gap)
    published.clock.pass_by(1)
    for index in (0, 1):
        times = [
            at for at, frame in zip(published.times, published.frames, strict=True) if frame["data"]["index"] == index
        ]
        assert all(later - earlier >= INTERVAL - 1e-9 for earlier, later in pairwise(times))
    sent = sum(len(frame["data"]["text"]) for frame in published.frames)
    assert sent == len(gaps)


def test_no_piece_waits_longer_than_the_interval() -> None:
    published = PublishedParts()
    published.parts.live(TextDelta("m", 0, "a"))
    published.clock.pass_by(0.04)
    published.parts.live(TextDelta("m", 0, "b"))
    published.clock.pass_by(0.011)
    assert [frame["data"]["text"] for frame in published.frames] == ["a", "b"]


def test_what_waits_of_a_part_goes_out_before_the_part_is_in_the_log() -> None:
    published = PublishedParts()
    published.parts.live(TextDelta("m", 0, "a"))
    published.parts.live(TextDelta("m", 0, "b"))
    published.parts.stored(BlockDone("m", 0, Text("ab")))
    assert [frame["data"]["text"] for frame in published.frames] == ["a", "b"]
    assert published.parts.snapshot() == []
    assert not published.clock.pending


def test_a_stored_entry_does_not_hurry_other_parts() -> None:
    published = PublishedParts()
    published.parts.live(TextDelta("m", 0, "a"))
    published.parts.live(TextDelta("m", 0, "b"))
    published.parts.stored(BlockDone("m", 1, Text("other")))
    assert len(published.frames) == 1


def test_what_the_model_had_begun_is_dropped_when_it_is_asked_anew() -> None:
    published = PublishedParts()
    screen = published.join()
    published.parts.live(MessageBegan("m", "demo", Usage()))
    published.parts.live(BlockBegan("m", 0, "text"))
    published.parts.live(TextDelta("m", 0, "never fin"))
    published.parts.live(ToolProgress("call", "still running"))
    published.parts.live(Retrying(1, 3, 0.1, 529, "overloaded"))
    assert screen.texts == {}
    assert [part["call_id"] for part in published.parts.snapshot()] == ["call"]
    assert published.frames[-1]["type"] == "model.retrying"


def test_a_call_s_input_is_shown_with_its_name_to_a_late_client() -> None:
    published = PublishedParts()
    published.parts.live(BlockBegan("m", 1, "tool_call", "call-1", "Bash"))
    published.parts.live(InputDelta("m", 1, '{"com'))
    (part,) = published.parts.snapshot()
    assert (part["name"], part["call_id"], part["kind"], part["text"]) == ("Bash", "call-1", "tool_input", '{"com')


@pytest.mark.parametrize("size", [10, 1_000, 100_000])
def test_long_output_of_a_tool_keeps_memory_and_frames_small(size: int) -> None:
    """FM-58, FM-3: what a command prints is not kept; its end is."""
    published = PublishedParts()
    total = 0
    for number in range(3_000_000 // size if size > 10 else 20_000):
        text = str(number % 10) * size
        total += size
        published.parts.live(ToolProgress("call", text))
        if number % 7 == 0:
            published.clock.pass_by(0.01)
        assert published.parts.kept <= 6 * OUTPUT_TAIL + size
    published.clock.pass_by(1)
    assert all(len(frame["data"]["text"]) <= OUTPUT_TAIL for frame in published.frames)
    (part,) = published.parts.snapshot()
    assert part["offset"] + len(part["text"]) == total
    assert len(part["text"]) < 2 * OUTPUT_TAIL + size
    ends = [frame["data"]["offset"] + len(frame["data"]["text"]) for frame in published.frames]
    assert ends == sorted(ends)
    assert ends[-1] == total
    published.parts.stored(ToolDone(ToolReply("call", (Text("done"),))))
    assert published.parts.kept == 0


def test_the_end_of_a_turn_closes_everything() -> None:
    published = PublishedParts()
    published.parts.live(TextDelta("m", 0, "a"))
    published.parts.live(TextDelta("m", 0, "b"))
    published.parts.live(ToolProgress("call", "x"))
    published.parts.stored(RunDone("completed"))
    assert published.parts.snapshot() == []
    assert not published.clock.pending
