"""Queues and topics, without sockets."""

import asyncio

import pytest

from bobstay.server.auth.principal import Principal
from bobstay.server.streams.hub import BATCH_BYTES, EVERYTHING, Hub, HubClient
from bobstay.server.streams.recent_events import RecentEvents
from bobstay.server.streams.socket_protocol import Packer
from bobstay.server.streams.stream_frames import live
from tests.kit.waiting import DEADLINE, until


async def test_a_client_that_does_not_take_is_closed_and_holds_nothing() -> None:
    """FM-3: overflow closes; what waited is dropped, as the cursor brings it back."""
    client = HubClient(most_frames=3)
    for _ in range(4):
        client.offer(b"x")
    assert client.closed == "slow_consumer"
    assert client.ended.is_set()
    assert client.waiting == 0
    assert await client.next_batch() == []


async def test_bytes_count_too_but_one_large_frame_always_gets_through() -> None:
    client = HubClient(most_bytes=100)
    client.offer(b"small")
    client.offer(b"x" * 1_000)
    assert not client.ended.is_set()
    client.offer(b"one more")
    assert client.closed == "slow_consumer"


async def test_what_waits_together_is_taken_together_up_to_a_limit() -> None:
    client = HubClient()
    for _ in range(5):
        client.offer(b"x" * (BATCH_BYTES // 2))
    assert [len(await client.next_batch()) for _ in range(3)] == [2, 2, 1]


async def test_history_waits_for_room_and_two_who_wait_both_go_on() -> None:
    client = HubClient(most_frames=8)
    for _ in range(4):
        client.offer(b"live")
    waiting = [asyncio.create_task(client.send(b"history")) for _ in range(2)]
    await asyncio.sleep(0)
    assert not any(task.done() for task in waiting)
    waiting.append(asyncio.create_task(client.send(b"cancelled")))
    await asyncio.sleep(0)
    waiting.pop().cancel()
    assert await client.next_batch() == [b"live"] * 4
    await asyncio.wait_for(asyncio.gather(*waiting), DEADLINE)
    assert await client.next_batch() == [b"history"] * 2


async def test_closing_frees_whoever_waits_for_room() -> None:
    client = HubClient(most_frames=4)
    client.offer(b"1")
    client.offer(b"2")
    waiting = asyncio.create_task(client.send(b"history"))
    await asyncio.sleep(0)
    client.close("shutdown")
    await asyncio.wait_for(waiting, DEADLINE)
    assert client.waiting == 0


async def test_only_followers_of_a_topic_get_its_frames() -> None:
    """S003-23: all of that topic, and no other."""
    hub = Hub()
    one, two, other = HubClient(), HubClient(), HubClient()
    hub.subscribe("session:a", one)
    hub.subscribe("session:a", two)
    hub.subscribe("session:b", other)
    hub.publish("session:a", b"x")
    assert one.waiting == two.waiting == 1
    assert other.waiting == 0


async def test_a_forgotten_client_leaves_nothing_behind() -> None:
    """S003-24."""
    hub = Hub()
    client = HubClient()
    hub.add_client(client)
    hub.subscribe("session:a", client)
    hub.remove_client(client)
    assert not hub.is_wanted("session:a")
    assert hub.clients() == set()
    assert not client.topics


async def test_revoking_closes_all_that_came_with_a_token_and_nobody_else() -> None:
    """FM-46."""
    hub = Hub()
    mine = HubClient(principal=Principal("ada", frozenset({"read"}), "token-1"))
    yours = HubClient(principal=Principal("bob", frozenset({"read"}), "token-2"))
    hub.add_client(mine)
    hub.add_client(yours)
    assert hub.revoke("token-1") == 1
    assert (mine.closed, yours.closed) == ("revoked", "")


def test_the_ring_of_everything_goes_back_as_far_as_it_says() -> None:
    ring = RecentEvents(most_frames=3)
    assert ring.after(0) == []
    frames = [b'{"type":"notice","seq":%d}' % number for number in range(1, 6)]
    for frame in frames:
        assert ring.add(frame, subscribed=True)
    assert not ring.add(live("part.delta", {}), subscribed=True)
    assert ring.after(5) == []
    assert ring.after(3) == frames[3:]
    assert ring.after(2) == frames[2:]
    assert ring.after(1) is None
    assert ring.after(6) is None


def test_the_ring_is_bounded_by_bytes_and_given_up_when_nobody_comes_back() -> None:
    ring = RecentEvents(most_bytes=100, linger=0)
    ring.wanted = True
    big = b'{"type":"notice","seq":1,"data":"' + b"x" * 90 + b'"}'
    ring.add(big, subscribed=True)
    ring.add(big, subscribed=True)
    assert ring.after(1) == [big]
    assert not ring.add(big, subscribed=False)
    assert not ring.wanted
    assert ring.after(1) is None


async def test_nobody_makes_frames_that_nobody_follows() -> None:
    hub = Hub()
    assert not hub.is_wanted("session:a")
    client = HubClient()
    hub.subscribe(EVERYTHING, client)
    assert hub.is_wanted("session:a")


def test_frames_are_packed_once_for_all() -> None:
    packer = Packer()
    frames = [live("notice", {"text": "ü"}), live("notice", {"text": "b"})]
    assert packer.pack(list(frames)) is packer.pack(list(frames))
    assert packer.pack(frames)[0] == 0x81
    assert packer.pack(frames).endswith(b"[" + b",".join(frames) + b"]")


@pytest.mark.parametrize("count", [1, 100])
async def test_those_who_wait_for_an_empty_queue_are_told(count: int) -> None:
    client = HubClient()
    for _ in range(count):
        client.offer(b"x")
    waiting = asyncio.create_task(client.wait_drained())
    await asyncio.sleep(0)
    assert not waiting.done()
    await client.next_batch()
    await until(waiting.done)
