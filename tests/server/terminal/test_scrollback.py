"""Subscribers of a terminal's output: nothing kept is lost, and memory is bounded."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from bobstay.server.workers.scrollback import (
    MOST,
    TAIL,
    Scrollback,
    ScrollbackReset,
    ScrollbackSubscriber,
    TerminalExited,
    TerminalOutput,
)
from tests.kit.waiting import DEADLINE


async def taken(follower: ScrollbackSubscriber) -> list[TerminalOutput | ScrollbackReset | TerminalExited]:
    """All that can be had without waiting."""
    found: list[TerminalOutput | ScrollbackReset | TerminalExited] = []
    while True:
        try:
            async with asyncio.timeout(0.01):
                found.append(await follower.next_piece())
        except TimeoutError:
            return found


async def test_a_client_goes_on_at_its_offset_without_loss() -> None:
    scrollback = Scrollback(epoch=3)
    scrollback.add(b"one two")
    first = scrollback.subscribe()
    piece = await first.next_piece()
    assert isinstance(piece, TerminalOutput)
    first.close()
    scrollback.add(b" three")

    again = scrollback.subscribe(3, piece.offset + len(piece.data))

    assert await again.next_piece() == TerminalOutput(7, b" three")


async def test_an_old_epoch_gets_a_reset_and_no_mixed_history() -> None:
    """FM-6, S004-41: offsets of an earlier life mean nothing."""
    scrollback = Scrollback(epoch=1)
    scrollback.add(b"first life")
    scrollback.renew(2)
    scrollback.add(b"second")

    follower = scrollback.subscribe(1, 5)

    assert await taken(follower) == [ScrollbackReset(2, 0, "restarted"), TerminalOutput(0, b"second")]


async def test_a_restart_under_a_client_resets_it() -> None:
    """FM-6."""
    scrollback = Scrollback(epoch=1)
    scrollback.add(b"first life")
    follower = scrollback.subscribe()
    await taken(follower)

    scrollback.renew(2)
    scrollback.add(b"second")

    assert await taken(follower) == [ScrollbackReset(2, 0, "restarted"), TerminalOutput(0, b"second")]


async def test_a_future_offset_is_not_believed() -> None:
    scrollback = Scrollback()
    scrollback.add(b"abc")

    assert await taken(scrollback.subscribe(1, 4)) == [
        ScrollbackReset(1, 0, "unknown_offset"),
        TerminalOutput(0, b"abc"),
    ]


async def test_whoever_falls_behind_goes_on_at_the_newest_screen() -> None:
    """A slow client costs no memory: it skips ahead, to the beginning of a line."""
    scrollback = Scrollback()
    follower = scrollback.subscribe()
    line = b"x" * 99 + b"\n"
    for _ in range(3 * MOST // len(line)):
        scrollback.add(line)

    reset, *pieces = await taken(follower)

    assert scrollback.end - scrollback.start == MOST
    assert isinstance(reset, ScrollbackReset)
    assert reset.reason == "behind"
    assert scrollback.end - TAIL <= reset.offset <= scrollback.end
    assert reset.offset % len(line) == 0
    assert (
        sum(len(piece.data) for piece in pieces if isinstance(piece, TerminalOutput)) == scrollback.end - reset.offset
    )


async def test_a_client_that_acknowledges_is_sent_no_more_than_a_window_ahead() -> None:
    scrollback = Scrollback(most=4 * MOST)
    follower = scrollback.subscribe()
    follower.ack(1, 0)
    scrollback.add(b"x" * (3 * MOST))

    sent = sum(len(piece.data) for piece in await taken(follower) if isinstance(piece, TerminalOutput))
    follower.ack(1, sent)
    more = sum(len(piece.data) for piece in await taken(follower) if isinstance(piece, TerminalOutput))

    assert (sent, more) == (MOST, MOST)


async def test_the_end_is_told_once_and_after_all_output() -> None:
    scrollback = Scrollback()
    scrollback.add(b"bye")
    ended = TerminalExited(1, 0)
    scrollback.finish(ended)

    assert await taken(scrollback.subscribe()) == [TerminalOutput(0, b"bye"), ended]


@given(st.lists(st.binary(max_size=50), max_size=30), st.integers(1, 64), st.data())
def test_a_follower_sees_what_was_said_or_is_told_of_the_gap(
    output: list[bytes], most: int, data: st.DataObject
) -> None:
    """At any speed: its bytes are those of the stream at its offsets, and a jump comes with a reset."""

    async def run() -> None:
        scrollback = Scrollback(most=most)
        follower = scrollback.subscribe()
        whole, place = b"", 0
        for piece in output:
            scrollback.add(piece)
            whole += piece
            if data.draw(st.booleans()):
                while place < len(whole):
                    found = await asyncio.wait_for(follower.next_piece(), DEADLINE)
                    if isinstance(found, ScrollbackReset):
                        place = found.offset
                    elif isinstance(found, TerminalOutput):
                        assert found.offset == place
                        assert found.data == whole[place : place + len(found.data)]
                        place += len(found.data)
                assert place == len(whole)

    asyncio.run(run())
