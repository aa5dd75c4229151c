"""Bounded captures of output."""

import os
import re
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bobstay.system.capture import Capture, HeadAndTail, join_ends, readable


@settings(deadline=None, max_examples=60)
@given(st.lists(st.binary(max_size=40)), st.integers(0, 30), st.integers(1, 30))
def test_the_ends_are_the_beginning_and_the_end_of_all_that_came(pieces: list[bytes], head: int, tail: int) -> None:
    ends = HeadAndTail(head, tail)
    for piece in pieces:
        ends.add(piece)
    whole = b"".join(pieces)

    assert ends.total == len(whole)
    assert ends.head == whole[:head]
    assert whole.endswith(bytes(ends.tail))
    assert len(ends.tail) >= min(tail, len(whole) - len(ends.head))
    assert len(ends.tail) <= 2 * tail
    assert ends.lost == len(whole) - len(ends.head) - len(ends.tail)


@settings(deadline=None, max_examples=60)
@given(st.binary(max_size=300))
def test_any_bytes_become_text_that_can_be_sent(data: bytes) -> None:
    """H1-7: invalid UTF-8 and NUL bytes survive."""
    text = readable(data)
    text.encode()
    assert "\0" not in text
    assert "\x1b" not in text


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\x1b[31mred\x1b[0m", "red"),
        (b"\x1b]0;title\x07text", "text"),
        (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        (b"a\r\nb\tc", "a\nb\tc"),
        (b"\xa9rest", "rest"),
        (b"a\0b", "a␀b"),
        ("ä€😀".encode(), "ä€😀"),
    ],
)
def test_escapes_go_and_text_stays(data: bytes, text: str) -> None:
    assert readable(data) == text


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m"),
        (b"\x1b[38;5;9mred\x1b[2Jend", "\x1b[38;5;9mredend"),
        (b"\x1b]0;title\x07\x1b[1mtext\x07", "\x1b[1mtext"),
        (b"\x1b]52;c;cm0=\x07\x1b[8;8Hat", "at"),
        (b"end \x1b", "end "),
    ],
)
def test_colours_may_stay_and_nothing_else_does(data: bytes, text: str) -> None:
    assert readable(data, colours=True) == text


@pytest.mark.parametrize("limit", range(300, 320))
def test_a_cut_never_leaves_half_a_colour(limit: int) -> None:
    ends = HeadAndTail(head=10_000, tail=10_000)
    ends.add(b"\x1b[38;5;196mx" * 200)
    text = ends.text(limit, colours=True)
    assert "left out" in text
    assert "\x1b" not in re.sub(r"\x1b\[[0-9;]*m", "", text)


@settings(deadline=None, max_examples=60)
@given(st.integers(200, 2_000), st.text(min_size=2_001, max_size=5_000))
def test_a_text_cut_in_the_middle_keeps_to_its_limit(limit: int, text: str) -> None:
    cut = join_ends(text, text, limit, "much", "See there.")
    assert len(cut) <= limit
    assert "See there." in cut


def test_what_memory_does_not_keep_is_all_in_the_file(tmp_path: Path) -> None:
    """F23."""
    capture = Capture(tmp_path / "deep" / "x.output", head=100, tail=100)
    pieces = [bytes([65 + number % 26]) * 37 for number in range(100)]
    for piece in pieces:
        capture.add(piece)
    capture.close()

    assert capture.path.read_bytes() == b"".join(pieces)
    assert capture.saved == capture.total == 3_700
    assert len(capture.head) + len(capture.tail) <= 300
    assert stat.S_IMODE(capture.path.stat().st_mode) == 0o600


def test_little_output_makes_no_file(tmp_path: Path) -> None:
    capture = Capture(tmp_path / "x.output")
    capture.add(b"little")
    capture.close()
    assert os.listdir(tmp_path) == []
    assert capture.text(100) == "little"


def test_only_what_is_new_is_handed_out(tmp_path: Path) -> None:
    capture = Capture(tmp_path / "x.output", head=10, tail=10)
    capture.add(b"one")
    ends, position = capture.since(0)
    assert ends.text(100) == "one"
    capture.add(b"two" * 20)
    ends, position = capture.since(position)
    assert ends.text(100) == "two" * 20
    ends, position = capture.since(position)
    assert (ends.total, position) == (0, 63)
    capture.add(b"x" * 1_000)
    ends, _ = capture.since(position, limit=50)
    assert (len(ends.head), len(ends.tail), ends.lost) == (50, 50, 900)
    capture.close()


def test_a_file_that_cannot_be_written_costs_only_the_middle(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    capture = Capture(tmp_path / "file" / "x.output", head=10, tail=10)
    capture.add(b"a" * 10 + b"b" * 100 + b"c" * 10)
    assert capture.save() == ""
    assert capture.trouble
    assert capture.text(1_000).startswith("a" * 10)
    assert capture.since(60)[0].head.endswith(b"c" * 10)


def test_a_file_grows_only_so_far(tmp_path: Path) -> None:
    capture = Capture(tmp_path / "x.output", head=10, tail=10, most=1_000)
    for _ in range(300):
        capture.add(b"y" * 10)
    assert capture.path.stat().st_size == 1_000
    assert "1,000" in capture.trouble
    assert capture.total == 3_000


def test_a_file_somebody_put_there_is_not_overwritten(tmp_path: Path) -> None:
    target = tmp_path / "precious"
    target.write_text("precious")
    (tmp_path / "x.output").symlink_to(target)
    capture = Capture(tmp_path / "x.output")
    capture.add(b"data")
    assert capture.save() == ""
    assert target.read_text() == "precious"
