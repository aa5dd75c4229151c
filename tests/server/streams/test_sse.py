"""Server-sent events, over plain sockets: every byte of them is looked at."""

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as some

from bobstay.model.event import Noted
from bobstay.model.live_events import TextDelta
from bobstay.server.api.sse_stream import type_filter
from bobstay.server.auth.principal import Principal
from bobstay.server.streams.hub import EVERYTHING, HubClient
from tests.kit.waiting import DEADLINE, until
from tests.server.streams.stream_testbed import StreamTestbed, fill, turn


@pytest.fixture
async def testbed(tmp_path: Path) -> AsyncIterator[StreamTestbed]:
    async with StreamTestbed(tmp_path) as running:
        yield running


class Event(msgspec.Struct):
    data: Any
    name: str = ""
    id: str | None = None


class Reader:
    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self.status = 0
        self.headers: dict[str, str] = {}
        self.events: list[Event] = []
        self.text = ""
        self._rest = ""

    async def head(self) -> None:
        head = (await asyncio.wait_for(self._reader.readuntil(b"\r\n\r\n"), DEADLINE)).decode()
        first, *lines = head.strip().split("\r\n")
        self.status = int(first.split()[1])
        self.headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}

    async def piece(self) -> bool:
        """Read one chunk; false at the end."""
        size = int((await asyncio.wait_for(self._reader.readline(), DEADLINE)).strip() or b"0", 16)
        chunk = (await self._reader.readexactly(size + 2))[:-2].decode()
        self.text += chunk
        *blocks, self._rest = (self._rest + chunk).split("\n\n")
        self.events += [event for block in blocks if (event := _event(block)) is not None]
        return size > 0

    async def wait(self, kind: str) -> Event:
        return await self.wait_for(lambda event: event.data.get("type") == kind)

    async def wait_for(self, condition: Any) -> Event:
        seen = 0
        while True:
            for event in self.events[seen:]:
                if condition(event):
                    return event
            seen = len(self.events)
            assert await self.piece(), self.text[-500:]

    def seqs(self) -> list[int]:
        return [event.data["seq"] for event in self.events if "seq" in event.data]


def _event(block: str) -> Event | None:
    fields = dict(line.split(": ", 1) for line in block.split("\n"))
    if "data" not in fields:
        assert fields == {"retry": "1000"}, block
        return None
    return Event(msgspec.json.decode(fields["data"]), fields.get("event", ""), fields.get("id"))


@asynccontextmanager
async def stream(testbed: StreamTestbed, path: str, last: str = "") -> AsyncIterator[Reader]:
    reader, writer = await asyncio.open_connection("127.0.0.1", testbed.port, limit=1 << 24)
    header = f"Last-Event-ID: {last}\r\n" if last else ""
    writer.write(f"GET /api/v1{path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{header}\r\n".encode())
    found = Reader(reader)
    await found.head()
    yield found
    writer.transport.abort()
    with suppress(ConnectionError):
        await writer.wait_closed()


async def test_headers_come_at_once_and_say_what_proxies_must_not_do(testbed: StreamTestbed) -> None:
    """S000-49, 5.8."""
    session = testbed.begin()
    async with stream(testbed, f"/sessions/{session.id}/stream") as reader:
        assert reader.status == 200
        assert reader.headers["content-type"].startswith("text/event-stream")
        assert reader.headers["cache-control"] == "no-cache, no-transform"
        assert reader.headers["x-accel-buffering"] == "no"
        assert reader.headers["x-content-type-options"] == "nosniff"
        await reader.piece()
        assert reader.text.startswith("retry: 1000\n\n")


async def test_a_session_is_streamed_from_its_beginning_and_then_live(testbed: StreamTestbed) -> None:
    session = testbed.begin()
    fill(session, 600)
    async with stream(testbed, f"/stream?session_id={session.id}") as reader:
        mark = await reader.wait("stream.synchronized")
        assert mark.id == "600"
        session.append(Noted("ü\nnew line"))
        last = await reader.wait("notice")
        assert (last.id, last.name, last.data["data"]["text"]) == ("601", "", "ü\nnew line")
        assert reader.seqs() == list(range(1, 602))
        assert all(event.id == str(event.data["seq"]) for event in reader.events if "seq" in event.data)


async def test_the_last_event_id_goes_before_the_query(testbed: StreamTestbed) -> None:
    """FM-1, S000-56, S000-86: what `EventSource` sends when it comes back."""
    session = testbed.begin()
    fill(session, 100)
    for last, after, first in (("90", "0", 91), ("", "95", 96), ("100", "5", None), ("", "now", None)):
        async with stream(testbed, f"/sessions/{session.id}/stream?after={after}", last) as reader:
            await reader.wait("stream.synchronized")
            assert reader.seqs() == (list(range(first, 101)) if first else [])


async def test_a_cut_at_every_event_loses_none(testbed: StreamTestbed) -> None:
    """FM-1."""
    session = testbed.begin()
    fill(session, 60)
    last, seen = "", list[int]()
    while len(seen) < 60:
        async with stream(testbed, f"/sessions/{session.id}/stream", last) as reader:
            event = await reader.wait_for(lambda event: "seq" in event.data)
            seen.append(event.data["seq"])
            last = event.id or ""
    assert seen == list(range(1, 61))


@pytest.mark.parametrize("last", ["7000", "nonsense", "-1", "%0Aid:%205"])
async def test_an_unknown_cursor_resets_and_goes_on(testbed: StreamTestbed, last: str) -> None:
    session = testbed.begin()
    fill(session, 20)
    async with stream(testbed, f"/sessions/{session.id}/stream?after={last}") as reader:
        reset = await reader.wait("stream.reset")
        assert reset.id == "20"
        session.append(Noted("next"))
        await reader.wait("notice")
        assert reader.seqs() == [21]


async def test_heartbeats_are_events_and_carry_the_cursor(tmp_path: Path) -> None:
    """S000-50, FM-4: a comment would be invisible. FM-5: the cursor moves also when a filter hides all events."""
    async with StreamTestbed(tmp_path, heartbeat=0.05) as testbed:
        session = testbed.begin()
        fill(session, 40)
        async with stream(testbed, f"/sessions/{session.id}/stream?types=tool.result") as reader:
            await reader.wait("stream.synchronized")
            beat = await reader.wait_for(lambda event: event.name == "heartbeat")
            assert beat.id == "40"
            assert reader.seqs() == []


async def test_types_are_filtered(testbed: StreamTestbed) -> None:
    """S000-51."""
    session = testbed.begin()
    path = f"/sessions/{session.id}/stream?types=turn.*,part.delta&after=now"
    async with stream(testbed, path) as reader:
        await reader.wait("stream.synchronized")
        session.show(TextDelta("m", 0, "words"))
        for event in turn(1):
            session.append(event)
        await reader.wait("turn.completed")
        kinds = [event.data["type"] for event in reader.events]
        assert kinds == ["stream.synchronized", "part.delta", "turn.started", "turn.completed"]


@given(some.text(alphabet="abc.,* ", max_size=20), some.sampled_from(["a.b", "b", "server.heartbeat", "error"]))
def test_any_filter_is_a_filter(types: str, name: str) -> None:
    shown = type_filter(types)(name)
    if not types.replace(",", "").strip() or name.startswith(("server.", "error")):
        assert shown
    elif "*" not in types:
        assert shown == (name in [word.strip() for word in types.split(",")])


async def test_several_sessions_have_a_cursor_of_several_parts(testbed: StreamTestbed) -> None:
    one, two, other = testbed.begin("one"), testbed.begin("two"), testbed.begin("other")
    path = "/stream?session_id=one,two"
    async with stream(testbed, path) as reader:
        await reader.wait_for(lambda event: event.data["type"] == "stream.synchronized" and event.id == "one:2,two:2")
        other.append(Noted("unheard"))
        one.append(Noted("heard"))
        last = await reader.wait("notice")
        assert last.id == "one:3,two:2"
    two.append(Noted("missed"))
    async with stream(testbed, path, last.id or "") as reader:
        missed = await reader.wait("notice")
        assert (missed.data["session_id"], missed.id) == ("two", "one:3,two:3")
        assert {event.data.get("session_id") for event in reader.events} <= {"one", "two"}


async def test_all_sessions_are_one_stream_that_can_be_taken_up(testbed: StreamTestbed) -> None:
    """S000-51: filtered by type, over all sessions; what was missed in between is sent."""
    one, two = testbed.begin("one"), testbed.begin("two")
    async with stream(testbed, "/stream?types=notice") as reader:
        await reader.wait_for(lambda event: event.data.get("topic") == "*")
        one.append(Noted("a"))
        two.append(Noted("b"))
        last = await reader.wait_for(lambda event: event.data["data"].get("text") == "b")
        assert last.id == "server-1-2"
    await until(lambda: not testbed.hub.clients())
    one.append(Noted("c"))
    async with stream(testbed, "/stream?types=notice", last.id) as reader:
        missed = await reader.wait("notice")
        assert (missed.data["data"]["text"], missed.id) == ("c", "server-1-3")
    async with stream(testbed, "/stream?types=notice", "server-0-3") as reader:
        reset = await reader.wait("stream.reset")
        assert reset.data["data"]["reason"] == "other_server"
        app = next(event for event in reader.events if event.data.get("topic") == "app")
        assert {view["id"] for view in app.data["data"]["sessions"]} == {"one", "two"}


async def test_unknown_sessions_and_people_are_refused_before_the_stream_begins(testbed: StreamTestbed) -> None:
    async with stream(testbed, "/sessions/none/stream") as reader:
        assert reader.status == 404
    async with stream(testbed, "/stream?session_id=none,%00") as reader:
        assert reader.status == 404
    async with stream(testbed, "/stream?session_id=" + ",".join(map(str, range(60)))) as reader:
        assert reader.status == 429
    assert testbed.hub.clients() == set()


async def test_a_revoked_client_is_told_and_ended(testbed: StreamTestbed) -> None:
    """FM-46."""
    testbed.authorizer.principal = Principal("ada", frozenset({"read"}), "token-1")
    session = testbed.begin()
    async with stream(testbed, f"/sessions/{session.id}/stream") as reader:
        await reader.wait("stream.synchronized")
        testbed.hub.revoke("token-1")
        await reader.wait_for(lambda event: event.name == "closed" and event.data == {"reason": "revoked"})
        assert not await reader.piece()


async def test_the_end_of_the_server_does_not_wait_for_listeners(testbed: StreamTestbed) -> None:
    session = testbed.begin()
    async with stream(testbed, f"/sessions/{session.id}/stream") as reader:
        await reader.wait("stream.synchronized")
        testbed.server.config.timeout_graceful_shutdown = None  # who held it up would hold it up for ever
        await asyncio.wait_for(testbed.stop(), DEADLINE)
        await reader.wait_for(lambda event: event.name == "closed" and event.data == {"reason": "shutdown"})


async def test_a_thousand_listeners_that_come_and_go_leave_nothing(testbed: StreamTestbed) -> None:
    """S000-53."""
    session = testbed.begin()
    state = testbed.server.server_state
    fill(session, 10)

    async def connect_once(number: int) -> None:
        async with stream(testbed, f"/sessions/{session.id}/stream" if number % 2 else "/stream") as reader:
            if number % 3:
                await reader.piece()

    async def gone() -> None:
        await until(lambda: not testbed.hub.clients() and not state.tasks and not state.connections)

    await asyncio.gather(*(connect_once(number) for number in range(20)))
    await gone()
    tasks = len(asyncio.all_tasks())
    for start in range(0, 1_000, 50):
        await asyncio.gather(*(connect_once(number) for number in range(start, start + 50)))
    await gone()
    assert len(asyncio.all_tasks()) <= tasks
    assert not any(map(testbed.hub.has_subscribers, (EVERYTHING, f"session:{session.id}")))
    gc.collect()
    assert sum(type(thing) is HubClient for thing in gc.get_objects()) == 0


async def test_a_listener_that_stalls_is_ended_and_others_are_not(testbed: StreamTestbed) -> None:
    """FM-3: over HTTP as well."""
    session = testbed.begin()
    reader, writer = await asyncio.open_connection("127.0.0.1", testbed.port, limit=1024)
    writer.write(f"GET /api/v1/sessions/{session.id}/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
    await until(lambda: testbed.hub.is_wanted(f"session:{session.id}"))
    async with stream(testbed, f"/sessions/{session.id}/stream?after=now") as other:
        await other.wait("stream.synchronized")
        reading = asyncio.create_task(other.wait_for(lambda event: event.data["data"].get("text") == "the end"))
        while len(testbed.hub.clients()) == 2:
            session.append(Noted("x" * 16_000))
            await asyncio.sleep(0)
        session.append(Noted("the end"))
        await reading
        assert other.seqs() == list(range(3, session.seq + 1))
    writer.transport.abort()
    del reader
