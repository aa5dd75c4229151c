"""What was, then what is: no gap, no duplicate, whenever and however often a client comes."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bobstay.model.event import InteractionClosed, InteractionOpened, Noted, SessionStarted
from bobstay.model.ids import new_id
from bobstay.model.live_events import TextDelta
from bobstay.model.message import ToolCall
from bobstay.model.session_events import SessionConfig
from bobstay.server.external_sessions import PAGE as OUTSIDE_PAGE
from bobstay.server.external_sessions import ExternalSessions
from bobstay.server.inbox import Inbox
from bobstay.server.sessions.session_registry import fold_log
from bobstay.server.streams.hub import HubClient
from bobstay.server.streams.log_history import MOST_FOLDS, PAGE
from bobstay.server.streams.stream_frames import head_of
from bobstay.server.streams.subscription import SNAPSHOT_SESSIONS
from tests.kit.stream_client import stream_client
from tests.kit.waiting import DEADLINE, until
from tests.server.streams.stream_testbed import StreamTestbed, all_of, fill, publish, turn


@pytest.fixture
async def testbed(tmp_path: Path) -> AsyncIterator[StreamTestbed]:
    async with StreamTestbed(tmp_path) as running:
        yield running


@pytest.mark.parametrize("every", [1, 7, 40])
async def test_a_connection_lost_at_every_kth_event_loses_no_event(testbed: StreamTestbed, every: int) -> None:
    """FM-1, S003-37, S003-43: byte for byte what a client sees that was never cut off.

    FM-11: among them each turn's end exactly once.
    """
    count = 500 if every > 1 else 150
    session = testbed.begin()
    topic = f"session:{session.id}"
    steady = asyncio.create_task(all_of(testbed.url, topic, count))
    flaky = asyncio.create_task(all_of(testbed.url, topic, count, drop_at=every))
    number = 0
    while session.seq < count:
        number += 1
        for event in turn(number):
            session.append(event)
            session.show(TextDelta("m", 0, "words"))
            await asyncio.sleep(0.001)
    whole = await steady
    assert await flaky == whole
    assert await all_of(testbed.url, topic, count) == whole
    ends = sum(b'"type":"turn.completed"' in frame for frame in whole)
    assert ends == sum(isinstance(entry.event, type(turn(1)[-1])) for entry in session.read() if entry.seq <= count)


async def test_a_hundred_clients_that_attach_while_events_pour_in_see_each_of_them(testbed: StreamTestbed) -> None:
    """FM-2: the step from history to live has no gap and no duplicate."""
    session = testbed.begin()
    fill(session, 400)
    attached = 0

    async def attach() -> list[bytes]:
        nonlocal attached
        async with stream_client(testbed.url) as watcher:
            await watcher.follow(f"session:{session.id}")
            attached += 1
            await watcher.wait_for(lambda frame: frame["data"].get("text") == "the end")
            assert watcher.seqs() == list(range(1, session.seq + 1))
            return [raw for raw, frame in zip(watcher.raw, watcher.frames, strict=True) if "seq" in frame]

    clients = [asyncio.create_task(attach()) for _ in range(100)]
    async with asyncio.timeout(DEADLINE):
        while attached < 100 or session.seq < 450:
            await publish(session, 1)
    session.append(Noted("the end"))
    seen = await asyncio.gather(*clients)
    assert session.seq > 450
    assert all(frames == seen[0] for frames in seen)


async def test_a_session_another_process_writes_is_followed_without_a_gap(
    testbed: StreamTestbed, tmp_path: Path
) -> None:
    """FM-2, architecture 7 rule 1: what is seen in its log reaches those who follow, those who come meanwhile too."""
    log = testbed.store.create("outside", SessionStarted("/", "1"))
    outside = ExternalSessions(testbed.registry, testbed.store, Inbox(), str(tmp_path))
    await outside.refresh("outside")
    count = 20 * OUTSIDE_PAGE
    for number in range(count - 1):
        log.append(Noted(f"entry {number}"))
    log.close()
    early, late = HubClient(most_frames=10**6, most_bytes=10**9), HubClient(most_frames=10**6, most_bytes=10**9)
    await testbed.streams.subscribe(early, "session:outside")
    looking = asyncio.create_task(outside.refresh("outside"))
    await until(lambda: early.waiting > 100_000)
    await testbed.streams.subscribe(late, "session:outside")
    await looking
    for client in (early, late):
        frames: list[bytes] = []
        while client.waiting:
            frames += await client.next_batch()
        seqs = [seq for frame in frames if (seq := head_of(frame).seq)]
        assert seqs == list(range(1, count + 1))


async def test_a_log_that_is_deleted_while_it_is_read_is_not_listed_again(
    testbed: StreamTestbed, tmp_path: Path
) -> None:
    testbed.store.create("outside", SessionStarted("/", "1")).close()
    outside = ExternalSessions(testbed.registry, testbed.store, Inbox(), str(tmp_path))
    reading = asyncio.create_task(outside.refresh("outside"))
    await asyncio.sleep(0)  # it reads in a thread now
    os.unlink(testbed.store.path("outside"))
    await reading
    assert "outside" not in testbed.registry.views


@pytest.mark.parametrize("at_once", [False, True])
async def test_a_session_that_becomes_ours_is_followed_without_a_gap(testbed: StreamTestbed, *, at_once: bool) -> None:
    """FM-2: what another process wrote just before it let go was seen by nobody yet."""
    log = testbed.store.create("outside", SessionStarted("/", "1"))
    log.append(Noted("seen"))
    testbed.registry.update_view(fold_log(testbed.store, "outside"))
    client = HubClient()
    await testbed.streams.subscribe(client, "session:outside")
    for number in range(5):
        log.append(Noted(f"unseen {number}"))
    log.close()
    session = testbed.registry.open("outside") if at_once else await testbed.registry.acquire("outside")
    session.append(Noted("ours"))
    assert [seq for frame in await client.next_batch() if (seq := head_of(frame).seq)] == list(range(1, 9))


async def test_a_client_comes_back_with_its_newest_seq_and_gets_no_more_than_it_missed(testbed: StreamTestbed) -> None:
    """FM-5: the cursor is the newest entry seen live, not where the page began."""
    session = testbed.begin()
    fill(session, 50)
    topic = f"session:{session.id}"
    async with stream_client(testbed.url) as first:
        await first.follow(topic)
        await publish(session, 1_000, every=20)
        await first.wait_for(lambda frame: frame.get("seq") == session.seq)
        cursor = first.seqs()[-1]
        first.cut()
    await publish(session, 30)
    async with stream_client(testbed.url) as second:
        await second.follow(topic, cursor)
        assert second.seqs() == list(range(cursor + 1, cursor + 31))


async def test_whoever_has_it_all_reads_nothing(testbed: StreamTestbed) -> None:
    session = testbed.begin()
    fill(session, 300)
    async with stream_client(testbed.url) as watcher:
        done = await watcher.follow(f"session:{session.id}", 300)
        assert watcher.seqs() == []
        assert done["data"]["seq"] == 300
        assert done["data"]["session"]["id"] == session.id


async def test_another_log_under_the_same_name_is_recognised(testbed: StreamTestbed) -> None:
    """FM-6, S004-41: an epoch that is not this log's resets; histories are not mixed."""
    session = testbed.begin("same-name")
    fill(session, 300)
    topic = "session:same-name"
    async with stream_client(testbed.url) as watcher:
        before = await watcher.follow(topic)
        path = session.path
        testbed.registry.forget("same-name")
        await watcher.wait("session.deleted")
        os.unlink(path)
        again = testbed.begin("same-name")
        fill(again, 400)
        await watcher.say("subscribe", topic=topic, after=300, epoch=before["data"]["epoch"])
        reset = await watcher.wait("stream.reset")
        assert reset["data"]["reason"] == "other_epoch"
        done = await watcher.wait("stream.synchronized")
        assert done["data"]["epoch"] == reset["data"]["epoch"] != before["data"]["epoch"]
        assert watcher.seqs() == list(range(1, 301))
        again.append(Noted("new"))
        assert (await watcher.wait("notice"))["seq"] == 401
    assert len(set(await all_of(testbed.url, topic, 401))) == 401


@pytest.mark.parametrize(
    ("after", "reason"),
    [
        (301, "future_cursor"),
        (10**17, "future_cursor"),
        (-1, "unknown_cursor"),
        ("99999999999999999999999", "unknown_cursor"),
        ("2b1f4e52-0000-4000-8000-000000000000", "unknown_cursor"),
        ("no cursor at all", "unknown_cursor"),
    ],
)
async def test_a_cursor_that_means_nothing_here_resets_and_goes_on_from_now(
    testbed: StreamTestbed, after: int | str, reason: str
) -> None:
    """S004-29, FM-19: nothing tells the client to clear what it shows before it has a snapshot."""
    session = testbed.begin()
    fill(session, 300)
    async with stream_client(testbed.url) as watcher:
        await watcher.say("subscribe", topic=f"session:{session.id}", after=after)
        reset = await watcher.wait("stream.reset")
        assert (reset["data"]["reason"], reset["data"]["seq"]) == (reason, 300)
        await watcher.wait("stream.synchronized")
        session.append(Noted("next"))
        await watcher.wait("notice")
        assert watcher.seqs() == [301]


async def test_the_id_of_an_entry_is_a_cursor_too(testbed: StreamTestbed) -> None:
    """S004-29, S004-27."""
    session = testbed.begin()
    fill(session, 300)
    entry = next(entry for entry in session.read(249))
    async with stream_client(testbed.url) as watcher:
        await watcher.follow(f"session:{session.id}", entry.id)
        assert watcher.seqs() == list(range(251, 301))
        assert all(frame["id"] for frame in watcher.durable())


async def test_now_is_a_cursor(testbed: StreamTestbed) -> None:
    session = testbed.begin()
    fill(session, 40)
    async with stream_client(testbed.url) as watcher:
        await watcher.follow(f"session:{session.id}", "now")
        assert watcher.seqs() == []


async def test_a_page_that_wakes_up_asks_again_on_the_same_connection_and_sees_nothing_twice(
    testbed: StreamTestbed,
) -> None:
    """FM-18."""
    session = testbed.begin()
    topic = f"session:{session.id}"
    async with stream_client(testbed.url) as watcher:
        await watcher.follow(topic)
        for _ in range(5):
            await publish(session, 3)
            await watcher.wait_for(lambda frame: frame.get("seq") == session.seq)
            await watcher.follow(topic, watcher.seqs()[-1])
        assert watcher.seqs() == list(range(1, session.seq + 1))


async def test_a_client_that_joins_in_the_middle_of_a_sentence_has_all_of_it(testbed: StreamTestbed) -> None:
    """5.3: open parts come whole with `stream.synchronized`, then by offset."""
    session = testbed.begin()
    session.show(TextDelta("m", 0, "In the middle "))
    session.show(TextDelta("m", 0, "of a "))
    async with stream_client(testbed.url) as watcher:
        done = await watcher.follow(f"session:{session.id}")
        (part,) = done["data"]["parts"]
        session.show(TextDelta("m", 0, "sentence."))
        text = part["text"]
        while text != "In the middle of a sentence.":
            delta = (await watcher.wait("part.delta"))["data"]
            assert delta["offset"] == len(text)
            text += delta["text"]


async def test_closing_a_tab_stops_nothing(testbed: StreamTestbed) -> None:
    """FM-15."""
    session = testbed.begin()
    topic = f"session:{session.id}"
    async with stream_client(testbed.url) as watcher:
        await watcher.follow(topic)
        watcher.cut()
        await until(lambda: not testbed.hub.clients())
    fill(session, 60)
    assert len(await all_of(testbed.url, topic, 60)) == 60


async def test_history_is_the_same_as_what_was_live_also_from_the_middle(testbed: StreamTestbed) -> None:
    """Frames say which status an entry led to and which mark the context passed: history says the same."""
    session = testbed.begin()
    topic = f"session:{session.id}"
    async with stream_client(testbed.url) as watcher:
        await watcher.follow(topic, 2)
        fill(session, 3 * PAGE + 17)
        await watcher.wait_for(lambda frame: frame.get("seq") == session.seq)
        live = [raw for raw, frame in zip(watcher.raw, watcher.frames, strict=True) if "seq" in frame]
        assert any(b'"status":{"from":"running","to":"completed"}' in raw for raw in live)
        assert any(b'"threshold":"warning"' in raw for raw in live) or session.view.context < 100_000
    for after in (2, 5, PAGE, PAGE + 1, 2 * PAGE + 40, session.seq - 1):
        async with stream_client(testbed.url) as late:
            await late.follow(topic, after)
            found = [raw for raw, frame in zip(late.raw, late.frames, strict=True) if "seq" in frame]
            assert found == live[after - 2 :]


async def test_pages_of_history_are_shared_and_what_is_kept_stays_small(testbed: StreamTestbed) -> None:
    session = testbed.begin()
    fill(session, 2_000)
    history = testbed.streams.history
    first = await history.page(session.id, 0, 2_000)
    assert (await history.page(session.id, 0, 2_000)) is first
    for after in range(0, 2_000, 7):
        await history.page(session.id, after, 2_000)
    assert len(history._tracks[session.id].folds) <= MOST_FOLDS
    assert history._cache_bytes == sum(page.size for page in history._cache.values()) <= history._most_bytes
    history.forget(session.id)
    assert history._cache_bytes == 0


async def test_a_damaged_log_is_followed_as_far_as_it_can_be_read(testbed: StreamTestbed) -> None:
    session = testbed.begin()
    fill(session, 20)
    testbed.registry.release(session.id)
    path = Path(session.path)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[9] = b'{"seq":10,"id":"torn\n'
    lines[12] = b'{"seq":13,"id":"x","parent":"","at":1e300,"event":{"type":"of tomorrow","x":[1]}}\n'
    path.write_bytes(
        b"".join(lines) + b'{"seq":5,"id":"again","parent":"","at":0,"event":{"type":"noted","text":"x"}}\n'
    )
    async with stream_client(testbed.url) as watcher:
        await watcher.follow(f"session:{session.id}")
        assert watcher.seqs() == [seq for seq in range(1, 21) if seq != 10]
        assert watcher.durable()[11]["type"] == "raw"


async def test_a_log_that_was_cut_off_does_not_keep_a_client_waiting(testbed: StreamTestbed) -> None:
    session = testbed.begin()
    fill(session, 20)
    os.truncate(session.path, 0)
    async with stream_client(testbed.url) as watcher:
        done = await watcher.follow(f"session:{session.id}", 5)
        assert done["data"]["seq"] == 20


async def test_the_app_topic_shows_sessions_and_questions_then_what_changes(testbed: StreamTestbed) -> None:
    """S004-30, 5.5: a snapshot, then changes, with nothing between them."""
    session = testbed.begin()
    call = ToolCall("call-1", "Bash", {"command": "ls"})
    session.append(turn(1)[1])
    session.append(InteractionOpened("ask-1", "permission", call))
    async with stream_client(testbed.url) as watcher:
        data = (await watcher.follow("app"))["data"]
        assert [view["id"] for view in data["sessions"]] == [session.id]
        assert data["sessions"][0]["status"] == "waiting_input"
        assert [(each["session_id"], each["interaction"]["id"]) for each in data["interactions"]] == [
            (session.id, "ask-1")
        ]
        session.append(InteractionClosed("ask-1", "allowed", by="ada"))
        await watcher.wait_for(lambda frame: _status(frame) == "running")
        resolved = (await watcher.wait("interaction.resolved"))["data"]
        assert (resolved["id"], resolved["outcome"], resolved["by"]) == ("ask-1", "allowed", "ada")
        session.append(InteractionOpened("ask-2", "question", call))
        assert (await watcher.wait("interaction.opened"))["data"]["interaction"]["id"] == "ask-2"
        other = testbed.begin()
        await watcher.wait_for(lambda frame: frame["data"].get("session", {}).get("id") == other.id)
        testbed.registry.forget(other.id)
        assert (await watcher.wait("session.deleted"))["data"]["id"] == other.id


def _status(frame: dict[str, Any]) -> str:
    status: str = frame["data"].get("session", {}).get("status", "")
    return status


async def test_a_busy_session_does_not_flood_those_who_look_at_the_list(testbed: StreamTestbed) -> None:
    session = testbed.begin()
    async with stream_client(testbed.url) as watcher:
        await watcher.follow("app")
        await publish(session, 300)
        await watcher.wait_for(lambda frame: frame["data"].get("session", {}).get("seq") == session.seq)
        assert sum(frame["type"] == "session.changed" for frame in watcher.frames) < 30


async def test_the_snapshot_of_the_list_is_bounded_but_lacks_nobody_who_waits(testbed: StreamTestbed) -> None:
    asking = testbed.begin()
    asking.append(turn(1)[1])
    asking.append(InteractionOpened("ask", "permission", ToolCall("c", "Bash", {})))
    store = testbed.store
    for _ in range(SNAPSHOT_SESSIONS + 20):
        store.create(new_id(), SessionStarted("/", "1")).close()
    archived = testbed.registry.create("/", SessionConfig())
    for view in [testbed.registry.view(archived.id)] * (SNAPSHOT_SESSIONS + 30):
        from msgspec.structs import replace

        testbed.registry.update_view(replace(view, id=new_id(), updated_at=view.updated_at + 1))
    async with stream_client(testbed.url) as watcher:
        data = (await watcher.follow("app"))["data"]
    assert len(data["sessions"]) == SNAPSHOT_SESSIONS + 1
    assert data["total"] == SNAPSHOT_SESSIONS + 32
    assert data["sessions"][-1]["id"] == asking.id
    assert [each["session_id"] for each in data["interactions"]] == [asking.id]


async def test_everything_can_be_followed_and_taken_up_where_it_was_left(testbed: StreamTestbed) -> None:
    """S000-51: one stream of the durable events of all sessions."""
    one, two = testbed.begin(), testbed.begin()
    async with stream_client(testbed.url) as watcher:
        cursor = (await watcher.follow("*"))["data"]["cursor"]
        one.append(Noted("a"))
        one.show(TextDelta("m", 0, "not stored"))
        two.append(Noted("b"))
        await watcher.wait("notice", session_id=two.id)
    two.append(Noted("c"))
    async with stream_client(testbed.url) as again:
        await again.follow("*", cursor)
        assert [frame["data"]["text"] for frame in again.durable()] == ["a", "b", "c"]
        await again.say("subscribe", topic="*", after="server-0-7")
        assert (await again.wait("stream.reset"))["data"]["reason"] == "other_server"
        await again.say("subscribe", topic="*", after="server-1-700")
        assert (await again.wait("stream.reset"))["data"]["reason"] == "too_old"


async def test_many_topics_of_one_tab_come_over_one_connection(testbed: StreamTestbed) -> None:
    """FM-16: one connection a tab, however many sessions it shows."""
    sessions = [testbed.begin() for _ in range(20)]
    for session in sessions:
        fill(session, 300)
    async with stream_client(testbed.url) as watcher:
        for session in sessions:
            await watcher.say("subscribe", topic=f"session:{session.id}")
        for session in sessions:
            await watcher.wait_for(
                lambda frame, id=session.id: frame.get("session_id") == id and frame.get("seq") == 300  # type: ignore[misc]  # mypy does not infer defaults of lambdas
            )
            mine = [frame["seq"] for frame in watcher.durable() if frame["session_id"] == session.id]
            assert mine == list(range(1, 301))
            watcher.rewind()
