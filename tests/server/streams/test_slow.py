"""Clients that stall, vanish or sleep: nobody else feels it, nothing is kept for them, nothing is lost to them."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as some
from websockets.exceptions import ConnectionClosed
from websockets.frames import Frame, Opcode

from bobstay.model.event import Noted
from bobstay.server.sessions.open_session import OpenSession
from bobstay.server.streams.hub import MOST_BYTES
from bobstay.server.streams.socket_protocol import HIGH_WATER
from bobstay.server.streams.stream_timing import StreamTiming
from tests.kit.stream_client import StreamClient, stream_client
from tests.kit.waiting import DEADLINE, until
from tests.server.streams.stream_testbed import StreamTestbed, all_of, fill

BIG = "x" * 16_000


@pytest.fixture
async def testbed(tmp_path: Path) -> AsyncIterator[StreamTestbed]:
    async with StreamTestbed(tmp_path) as running:
        yield running


class Stalled:
    """A client that asks for much and reads nothing, by a socket of its own."""

    def __init__(self, port: int) -> None:
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.setblocking(False)
        self._port = port

    async def start(self, topic: str) -> "Stalled":
        loop = asyncio.get_running_loop()
        await loop.sock_connect(self.socket, ("127.0.0.1", self._port))
        lines = (
            "GET /api/v1/ws HTTP/1.1",
            "Host: 127.0.0.1",
            "Upgrade: websocket",
            "Connection: Upgrade",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
            "Sec-WebSocket-Version: 13",
            "",
            "",
        )
        await loop.sock_sendall(self.socket, "\r\n".join(lines).encode())
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += await asyncio.wait_for(loop.sock_recv(self.socket, 4096), DEADLINE)
        frame = msgspec.json.encode({"type": "subscribe", "topic": topic, "after": "now"})
        await loop.sock_sendall(self.socket, Frame(Opcode.TEXT, frame).serialize(mask=True))
        return self

    async def until(self, text: bytes) -> bytes:
        """Wake up, and read until these words or the end."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        loop = asyncio.get_running_loop()
        found = bytearray()
        with suppress(ConnectionError):
            while piece := await asyncio.wait_for(loop.sock_recv(self.socket, 1 << 20), DEADLINE):
                found += piece
                if text in found[-len(piece) - 1000 :]:
                    break
        return bytes(found)

    def close(self) -> None:
        self.socket.close()


async def pour(testbed: StreamTestbed, session: OpenSession, megabytes: float) -> int:
    """Publish much more than anybody may keep for a client; returns the most that was kept for any."""
    most = 0
    for _ in range(int(megabytes * 1_000_000 / len(BIG))):
        session.append(Noted(BIG))
        most = max(most, *(client.waiting for client in testbed.hub.clients()), 0)
        await asyncio.sleep(0)
    return most


async def test_a_stalled_reader_is_closed_with_a_code_and_others_do_not_notice(testbed: StreamTestbed) -> None:
    """FM-3, S003-42: bounded memory, code 4008 `slow_consumer`, and all events by the cursor afterwards."""
    session = testbed.begin()
    topic = f"session:{session.id}"
    stalled = await Stalled(testbed.port).start(topic)
    await until(lambda: testbed.hub.is_wanted(topic))
    async with stream_client(testbed.url) as watcher:
        await watcher.follow(topic)
        reading = asyncio.create_task(watcher.wait_for(lambda frame: frame["data"].get("text") == "the end"))
        most = await pour(testbed, session, 8)
        assert most <= MOST_BYTES + 2 * len(BIG)
        await until(lambda: len(testbed.hub.clients()) == 1)
        session.append(Noted("the end"))
        await reading
        assert watcher.seqs() == list(range(1, session.seq + 1))
    end = (await stalled.until(b"slow_consumer"))[-17:]
    assert end == Frame(Opcode.CLOSE, (4008).to_bytes(2, "big") + b"slow_consumer").serialize(mask=False)
    stalled.close()
    assert len(await all_of(testbed.url, topic, session.seq)) == session.seq


async def test_a_reader_that_never_wakes_up_leaves_nothing_behind(testbed: StreamTestbed) -> None:
    """FM-3: a polite close would wait for it for ever; the connection is cut."""
    session = testbed.begin()
    topic = f"session:{session.id}"
    stalled = [await Stalled(testbed.port).start(topic) for _ in range(10)]
    await until(lambda: len(testbed.hub.clients()) == 10)
    await pour(testbed, session, 6)
    await until(lambda: not testbed.hub.clients())
    connections = testbed.server.server_state.connections
    assert sum(connection.transport.get_write_buffer_size() for connection in connections) <= 10 * 5 * HIGH_WATER
    await until(lambda: not connections)
    for client in stalled:
        client.close()


async def test_a_stall_during_history_keeps_one_page_and_no_more(testbed: StreamTestbed) -> None:
    """Reading history waits for the client; the log is the buffer (S003-Q1)."""
    session = testbed.begin()
    for _ in range(600):
        session.append(Noted(BIG))
    topic = f"session:{session.id}"
    stalled = await Stalled(testbed.port).start("app")
    frame = msgspec.json.encode({"type": "subscribe", "topic": topic, "after": 0})
    await asyncio.get_running_loop().sock_sendall(stalled.socket, Frame(Opcode.TEXT, frame).serialize(mask=True))
    await until(lambda: any(client.crowded for client in testbed.hub.clients()))
    (client,) = testbed.hub.clients()
    assert client.waiting < MOST_BYTES // 4 + 3 * len(BIG)
    assert topic not in client.topics
    read = await stalled.until(b'"stream.synchronized","data":{"topic":"session:')
    assert read.count(BIG.encode()) == 600
    stalled.close()


class Relay:
    """Carries bytes between a client and the server until it is cut: then nothing, not even an end, gets through."""

    def __init__(self, port: int) -> None:
        self._to = port
        self.port = 0
        self.cut = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> "Relay":
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        there, back = await asyncio.open_connection("127.0.0.1", self._to)
        with suppress(OSError, asyncio.CancelledError):
            await asyncio.gather(self._carry(reader, back), self._carry(there, writer))
        writer.close()
        back.close()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            if not self.cut:
                writer.write(data)
        await asyncio.Event().wait()


async def test_both_ends_notice_a_connection_that_is_cut_without_a_word(tmp_path: Path) -> None:
    """FM-4: heartbeats are frames, so silence is seen; the client comes back and has missed nothing."""
    async with StreamTestbed(tmp_path, heartbeat=0.2) as testbed, Relay(testbed.port) as relay:
        session = testbed.begin()
        fill(session, 20)
        topic = f"session:{session.id}"
        async with stream_client(f"ws://127.0.0.1:{relay.port}/api/v1/ws") as watcher:
            silence = watcher.frames[0]["data"]["silence"]
            await watcher.follow(topic)
            for _ in range(3):
                await watcher.wait("server.heartbeat")
            relay.cut = True
            fill(session, 30)
            with pytest.raises(TimeoutError):
                await _listen(watcher, silence)
            cursor = watcher.seqs()[-1]
            await until(lambda: not testbed.hub.clients())  # the server noticed by itself
            watcher.cut()
        async with stream_client(testbed.url) as again:
            await again.follow(topic, cursor)
            assert watcher.seqs() + again.seqs() == list(range(1, 31))


async def _listen(watcher: StreamClient, silence: float) -> None:
    while True:
        await asyncio.wait_for(watcher.receive(), silence)


@given(some.floats(0.01, 3600))
def test_a_client_is_more_patient_than_the_server_is_slow(heartbeat: float) -> None:
    """FM-4: both times come from one number, and the client's is more than twice the server's."""
    timing = StreamTiming.of(heartbeat)
    assert timing.silence > 2 * timing.heartbeat
    assert timing.heartbeat + timing.pong <= 2.5 * timing.heartbeat + 1e-9


def test_waits_between_tries_are_those_that_were_agreed() -> None:
    """S004-42: 1 s, doubling to 30 s, 30 % jitter, reset after 30 s of calm; a handshake has 10 s."""
    timing = StreamTiming()
    assert (timing.retry_first, timing.retry_most, timing.retry_jitter) == (1.0, 30.0, 0.3)
    assert (timing.retry_calm, timing.connect, timing.heartbeat) == (30.0, 10.0, 15.0)


async def test_a_handshake_that_never_ends_holds_nobody_up(testbed: StreamTestbed) -> None:
    """FM-17: a second socket never waits for a first."""
    hanging = socket.socket()
    hanging.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(hanging, ("127.0.0.1", testbed.port))
    await loop.sock_sendall(hanging, b"GET /api/v1/ws HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: webso")
    async with stream_client(testbed.url) as watcher:
        await watcher.follow("app")
    hanging.close()


@pytest.mark.parametrize("stall", [False, True])
async def test_the_end_of_the_server_is_told_and_nobody_holds_it_up(testbed: StreamTestbed, *, stall: bool) -> None:
    """Code 4012 `shutdown`; a reader that stalls does not keep the server alive."""
    session = testbed.begin()
    topic = f"session:{session.id}"
    stalled = await Stalled(testbed.port).start(topic) if stall else None
    async with stream_client(testbed.url) as watcher:
        await watcher.follow(topic)
        if stalled is not None:
            await until(lambda: len(testbed.hub.clients()) == 2)
            await pour(testbed, session, 2)
        reading = asyncio.create_task(_closed(watcher.connection.recv))
        testbed.server.config.timeout_graceful_shutdown = None  # who held it up would hold it up for ever
        await asyncio.wait_for(testbed.stop(), DEADLINE)
        closed = await reading
        assert closed.rcvd is not None
        assert (closed.rcvd.code, closed.rcvd.reason) == (4012, "shutdown")
    if stalled is not None:
        stalled.close()


async def _closed(receive: object) -> ConnectionClosed:
    assert callable(receive)
    try:
        while True:
            await asyncio.wait_for(receive(), DEADLINE)
    except ConnectionClosed as closed:
        return closed
