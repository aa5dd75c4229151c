"""The WebSocket of a tab: its greetings, its frames, and what it makes of bad ones."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from websockets.exceptions import ConnectionClosed, InvalidStatus

from bobstay.model.event import Noted
from bobstay.server.api.browser_socket import LARGEST_FRAME
from bobstay.server.auth.principal import Principal
from bobstay.server.errors import ApiError
from bobstay.server.streams.stream_server import LARGEST_MESSAGE
from tests.kit.stream_client import stream_client
from tests.kit.waiting import until
from tests.server.streams.stream_testbed import StreamTestbed, fill


@pytest.fixture
async def testbed(tmp_path: Path) -> AsyncIterator[StreamTestbed]:
    async with StreamTestbed(tmp_path) as running:
        yield running


async def test_the_server_says_who_it_is_and_how_it_keeps_time(testbed: StreamTestbed) -> None:
    """FM-4: what a client needs to judge silence comes from the server."""
    async with stream_client(testbed.url) as watcher:
        hello = watcher.frames[0]["data"]
        assert hello["server_id"] == "server-1"
        assert hello["protocol"] == 1
        assert hello["silence"] == 2.5 * hello["heartbeat"]
        await watcher.say("hello", protocol=1, ticket="")
        await watcher.wait("server.hello")


BAD: list[tuple[str | bytes, str]] = [
    ("{", "invalid_json"),
    ("", "invalid_json"),
    ("\x00", "invalid_json"),
    (b"\xff\xfe", "invalid_json"),
    ('{"type":' * 5000, "invalid_json"),
    ("null", "invalid"),
    ("[]", "invalid"),
    ('"subscribe"', "invalid"),
    ("{}", "invalid"),
    ('{"type":"nonsense"}', "invalid"),
    ('{"type":"subscribe"}', "invalid"),
    ('{"type":"subscribe","topic":7}', "invalid"),
    ('{"type":"subscribe","topic":"app","after":[1]}', "invalid"),
    ('{"type":"subscribe","topic":"app","after":1.5}', "invalid"),
    ('{"type":"subscribe","topic":"app","after":true}', "invalid"),
    ('{"type":"hello","protocol":99}', "not_supported"),
    ('{"type":"subscribe","topic":""}', "not_found"),
    ('{"type":"subscribe","topic":"nonsense"}', "not_found"),
    ('{"type":"subscribe","topic":"session:"}', "not_found"),
    ('{"type":"subscribe","topic":"session:none"}', "not_found"),
    ('{"type":"subscribe","topic":"session:../../etc/passwd"}', "not_found"),
    ('{"type":"subscribe","topic":"session:\\u0000"}', "not_found"),
    ('{"type":"subscribe","topic":"session:' + "x" * 10_000 + '"}', "not_found"),
    ('{"type":"ping","id":"' + "x" * LARGEST_FRAME + '"}', "too_large"),
]


async def test_nothing_a_client_says_ends_the_connection(testbed: StreamTestbed) -> None:
    """S003-22, S004-43, FM-57: an enumerated error for each, and the connection stays."""
    async with stream_client(testbed.url) as watcher:
        for frame, code in BAD:
            await watcher.connection.send(frame)
            error = await watcher.wait("error")
            assert error["data"]["code"] == code, (frame[:100], error)
            assert 0 < len(error["data"]["message"]) < 500
        await watcher.say("ping", id="still here")
        assert (await watcher.wait("pong"))["data"]["id"] == "still here"


async def test_an_error_says_which_frame_it_is_about(testbed: StreamTestbed) -> None:
    async with stream_client(testbed.url) as watcher:
        await watcher.say("subscribe", topic=7, id="frame-1")
        assert (await watcher.wait("error"))["data"]["id"] == "frame-1"
        await watcher.say("subscribe", topic="session:none")
        assert (await watcher.wait("error"))["topic"] == "session:none"


async def test_a_message_beyond_all_measure_is_refused_by_the_protocol(testbed: StreamTestbed) -> None:
    """FM-57."""
    async with stream_client(testbed.url) as watcher:
        await watcher.connection.send("x" * (LARGEST_MESSAGE + 1))
        with pytest.raises(ConnectionClosed) as closed:
            await watcher.wait("nothing")
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1009
    await until(lambda: not testbed.hub.clients())


async def test_one_connection_may_follow_many_topics_but_not_any_number(testbed: StreamTestbed) -> None:
    async with stream_client(testbed.url) as watcher:
        sessions = [testbed.begin() for _ in range(201)]
        for session in sessions[:200]:
            await watcher.follow(f"session:{session.id}")
        await watcher.say("subscribe", topic=f"session:{sessions[200].id}")
        assert (await watcher.wait("error"))["data"]["code"] == "too_many"
        await watcher.say("unsubscribe", topic=f"session:{sessions[0].id}")
        await watcher.wait("stream.left")
        await watcher.follow(f"session:{sessions[200].id}")


async def test_a_topic_that_was_left_is_silent(testbed: StreamTestbed) -> None:
    session = testbed.begin()
    topic = f"session:{session.id}"
    async with stream_client(testbed.url) as watcher:
        await watcher.follow(topic)
        await watcher.say("unsubscribe", topic=topic)
        await watcher.wait("stream.left")
        session.append(Noted("unheard"))
        await watcher.say("ping")
        await watcher.wait("pong")
        assert watcher.seqs() == [1, 2]
        assert not testbed.hub.is_wanted(topic)


async def test_frames_that_wait_together_go_out_in_one_message(testbed: StreamTestbed) -> None:
    session = testbed.begin()
    async with stream_client(testbed.url) as watcher:
        await watcher.follow(f"session:{session.id}")
        before = watcher.messages
        fill(session, 60)
        await watcher.wait_for(lambda frame: frame.get("seq") == 60)
        assert watcher.messages == before + 1


async def test_only_the_sockets_of_a_session_get_its_events(testbed: StreamTestbed) -> None:
    """S003-23, S003-24."""
    one, two = testbed.begin(), testbed.begin()
    async with stream_client(testbed.url) as first, stream_client(testbed.url) as second:
        await first.follow(f"session:{one.id}")
        await second.follow(f"session:{two.id}")
        one.append(Noted("for the first"))
        two.append(Noted("for the second"))
        assert (await first.wait("notice"))["session_id"] == one.id
        assert (await second.wait("notice"))["session_id"] == two.id
        assert {frame["session_id"] for frame in first.durable()} == {one.id}
    await until(lambda: not testbed.hub.clients())


async def test_who_is_not_let_in_gets_an_answer_and_no_socket(testbed: StreamTestbed) -> None:
    testbed.authorizer.error = ApiError("unauthorized", "Log in first.")
    with pytest.raises(InvalidStatus) as refused:
        async with stream_client(testbed.url):
            pass
    assert refused.value.response.status_code == 401
    assert b'"code":"unauthorized"' in (refused.value.response.body or b"")


async def test_watching_needs_the_scope_to_read(testbed: StreamTestbed) -> None:
    testbed.authorizer.principal = Principal("ada", frozenset({"approve"}))
    with pytest.raises(InvalidStatus) as refused:
        async with stream_client(testbed.url):
            pass
    assert refused.value.response.status_code == 403


async def test_a_revoked_client_is_closed_at_once(testbed: StreamTestbed) -> None:
    """FM-46: code 4001 `revoked`; others stay."""
    testbed.authorizer.principal = Principal("ada", frozenset({"read"}), "token-1")
    async with stream_client(testbed.url) as mine:
        testbed.authorizer.principal = Principal("bob", frozenset({"read"}), "token-2")
        async with stream_client(testbed.url) as yours:
            await mine.follow("app")
            await yours.follow("app")
            assert testbed.hub.revoke("token-1") == 1
            with pytest.raises(ConnectionClosed) as closed:
                await mine.wait("nothing")
            assert closed.value.rcvd is not None
            assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (4001, "revoked")
            await yours.say("ping")
            await yours.wait("pong")


async def test_heartbeats_come_as_frames(tmp_path: Path) -> None:
    """FM-4, S000-50."""
    async with StreamTestbed(tmp_path, heartbeat=0.05) as testbed, stream_client(testbed.url) as watcher:
        assert (await watcher.wait("server.heartbeat"))["data"]["ts"].endswith("Z")
        await watcher.wait("server.heartbeat")


async def test_tabs_that_come_and_go_leave_nothing(testbed: StreamTestbed) -> None:
    """S003-24, S000-53."""
    session = testbed.begin()
    for number in range(100):
        async with stream_client(testbed.url) as watcher:
            await watcher.say("subscribe", topic=f"session:{session.id}")
            if number % 2:
                await watcher.wait("stream.synchronized")
            watcher.cut()
    await until(lambda: not testbed.hub.clients())
    assert not testbed.hub.has_subscribers(f"session:{session.id}")
    await until(lambda: not testbed.server.server_state.tasks)


async def test_whoever_speaks_before_listening_is_heard(testbed: StreamTestbed) -> None:
    """A flood of frames from a client that does not read ends that client and nobody else."""
    async with stream_client(testbed.url) as other, stream_client(testbed.url) as watcher:
        for _ in range(3000):
            await watcher.say("ping", id="x" * 100)
        await watcher.wait("pong")
        await other.say("ping")
        await other.wait("pong")


def test_another_server_s_protocol_will_do(tmp_path: Path) -> None:
    """The route is plain ASGI where our own protocol is not below it."""
    testbed = StreamTestbed(tmp_path)
    with TestClient(testbed.app) as client, client.websocket_connect("/api/v1/ws") as socket:
        assert _frames(socket)[0]["type"] == "server.hello"
        socket.send_json({"type": "ping", "id": "1"})
        assert _frames(socket)[0] == {"type": "pong", "data": {"id": "1"}}
        testbed.hub.close_all()
        assert socket.receive()["code"] == 4012
    testbed.streams.close()


def _frames(socket: Any) -> Any:
    return socket.receive_json()
