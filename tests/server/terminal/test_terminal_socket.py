"""A terminal over its WebSocket: bytes both ways, reconnection without loss, and authorization."""

import asyncio
import gc
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from bobstay.server.api.terminal_socket import LONGEST_INPUT, terminal_route
from bobstay.server.auth.principal import Principal
from bobstay.server.errors import ApiError
from bobstay.server.workers.scrollback import MOST, ScrollbackSubscriber
from bobstay.server.workers.terminal_worker import TerminalWorker
from tests.kit.processes import resident_memory
from tests.kit.waiting import DEADLINE, until
from tests.server.streams.stream_testbed import StreamTestbed
from tests.server.terminal.terminal_session import TerminalSession


class TerminalServer:
    """A server with one terminal."""

    def __init__(self, testbed: StreamTestbed, session: TerminalSession) -> None:
        self.testbed = testbed
        self.session = session
        self.terminal = session.terminal
        self.asked: list[str | None] = []

    def find(self, id: str) -> TerminalWorker:
        if id != self.terminal.id:
            raise ApiError("not_found", "There is no such terminal.")
        return self.terminal

    async def admit(self, connection: Any, scope: Any) -> Principal:
        self.asked.append(scope)
        return await self.testbed.authorizer.admit(connection, scope)

    def url(self, id: str = "term-1", query: str = "") -> str:
        return f"ws://127.0.0.1:{self.testbed.port}/api/v1/workers/{id}/pty{query}"


@asynccontextmanager
async def terminal_server(folder: Path, **options: Any) -> AsyncIterator[TerminalServer]:
    session = TerminalSession(folder, **options)
    testbed = StreamTestbed(folder)
    made = TerminalServer(testbed, session)
    testbed.app.router.routes.append(terminal_route(testbed.hub, made.find, made.admit))
    async with testbed:
        try:
            yield made
        finally:
            await session.terminal.stop("killed")


class TerminalClient:
    """A client of a terminal: its control frames, what it saw, and where that is."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self.controls: list[dict[str, Any]] = []
        self.seen = b""
        self.epoch = self.offset = 0

    async def next(self) -> None:
        async with asyncio.timeout(DEADLINE):
            message = await self.connection.recv()
        if isinstance(message, bytes):
            self.seen += message
            self.offset += len(message)
            return
        frame = json.loads(message)
        self.controls.append(frame)
        if frame["type"] in ("hello", "reset"):
            self.epoch, self.offset = frame["epoch"], frame["offset"]
        if frame["type"] == "reset":
            self.seen = b""

    async def until(self, wanted: bytes) -> None:
        while wanted not in self.seen:
            await self.next()

    async def until_frame(self, kind: str) -> dict[str, Any]:
        while not self.controls or self.controls[-1]["type"] != kind:
            await self.next()
        return self.controls[-1]


async def test_the_first_frame_says_where_one_is_and_bytes_follow(tmp_path: Path) -> None:
    """Hello, then binary; input is binary, a size is JSON."""
    async with terminal_server(tmp_path) as here:
        await here.terminal.start()
        async with connect(here.url()) as connection:
            client = TerminalClient(connection)
            await connection.send(json.dumps({"type": "resize", "cols": 90, "rows": 20}))
            await connection.send(b"stty size; echo \xc3\xa4\n")
            await client.until(b"20 90\r\n\xc3\xa4\r\n")

        assert client.controls == [{"type": "hello", "epoch": 1, "offset": 0}]
        assert here.asked == ["terminal"]


async def test_a_client_that_comes_back_goes_on_where_it_was(tmp_path: Path) -> None:
    """FM-1 for terminals: what was said meanwhile is there, nothing comes twice. FM-15: the terminal went on."""
    async with terminal_server(tmp_path) as here:
        await here.terminal.start()
        async with connect(here.url()) as connection:
            client = TerminalClient(connection)
            await connection.send(b"echo one\n")
            await client.until(b"one\r\n")
        here.terminal.write(b"echo two\n")
        await until(lambda: here.terminal.scrollback.end > client.offset)
        async with connect(here.url(query=f"?epoch={client.epoch}&offset={client.offset}")) as connection:
            again = TerminalClient(connection)
            await connection.send(b"echo three\n")
            await again.until(b"three\r\n")

        assert again.controls == [{"type": "hello", "epoch": 1, "offset": client.offset}]
        whole = here.terminal.scrollback.read(0, MOST)
        assert whole.startswith(client.seen + again.seen)


async def test_a_client_of_an_earlier_terminal_is_reset(tmp_path: Path) -> None:
    """FM-6: with an old epoch nothing is put together that does not belong together."""
    async with terminal_server(tmp_path, command=("/bin/sh", "-c", "echo life; read line")) as here:
        await here.terminal.start()
        await here.terminal.stop()
        await here.terminal.start()
        async with connect(here.url(query="?epoch=1&offset=3")) as connection:
            client = TerminalClient(connection)
            await client.until(b"life")

        assert [words["type"] for words in client.controls] == ["hello", "reset"]
        assert client.controls[1] == {"type": "reset", "epoch": 2, "offset": 0, "reason": "restarted"}
        assert client.seen == b"life\r\n"


async def test_the_end_is_told_and_a_restart_resets(tmp_path: Path) -> None:
    async with terminal_server(tmp_path) as here:
        await here.terminal.start()
        async with connect(here.url()) as connection:
            client = TerminalClient(connection)
            await connection.send(b"exit 7\n")
            assert (await client.until_frame("exit"))["code"] == 7
            await connection.send(b"too late\n")
            assert (await client.until_frame("error"))["code"] == "wrong_state"
            await here.terminal.start()
            assert (await client.until_frame("reset"))["epoch"] == 2
            await connection.send(b"echo a''gain\n")
            await client.until(b"again")


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("{", "invalid_json"),
        ("[]", "invalid"),
        ('{"type":"resize","cols":"a","rows":1}', "invalid"),
        ('{"type":"resize","cols":0,"rows":1}', "invalid"),
        ('{"type":"sudo"}', "invalid"),
        ('{"type":"ack","epoch":1}', "invalid"),
        ("[" * 4000, "invalid"),
        ("x" * 5000, "too_large"),
        (b"x" * (LONGEST_INPUT + 1), "too_large"),
    ],
)
async def test_nonsense_is_answered_and_the_connection_stays(tmp_path: Path, said: str | bytes, code: str) -> None:
    """S003-22: an error of an enumerated kind, and nothing ends."""
    async with terminal_server(tmp_path) as here:
        await here.terminal.start()
        async with connect(here.url()) as connection:
            client = TerminalClient(connection)
            await connection.send(said)
            assert (await client.until_frame("error"))["code"] == code
            await connection.send(b"echo still''-here\n")
            await client.until(b"still-here")


@pytest.mark.parametrize(
    ("code", "status"), [("bad_origin", 403), ("unauthorized", 401), ("bad_host", 421), ("forbidden", 403)]
)
async def test_nobody_is_connected_whom_the_doors_refuse(tmp_path: Path, code: Any, status: int) -> None:
    """FM-42: the upgrade itself is refused, and the terminal hears nothing."""
    async with terminal_server(tmp_path) as here:
        await here.terminal.start()
        here.testbed.authorizer.error = ApiError(code, "no")
        with pytest.raises(InvalidStatus) as refused:
            await connect(here.url())

        assert refused.value.response.status_code == status
        assert here.asked == ["terminal"]


@pytest.mark.parametrize(
    ("id", "query", "status"),
    [("other", "", 404), ("term-1", "?epoch=x&offset=1", 422), ("term-1", "?epoch=1&offset=-1", 422)],
)
async def test_what_cannot_be_is_refused_before_it_begins(tmp_path: Path, id: str, query: str, status: int) -> None:
    async with terminal_server(tmp_path) as here:
        with pytest.raises(InvalidStatus) as refused:
            await connect(here.url(id, query))

        assert refused.value.response.status_code == status


async def test_revoking_closes_the_terminal_at_once(tmp_path: Path) -> None:
    """FM-46: without being asked for anything more, with a code that says why."""
    async with terminal_server(tmp_path) as here:
        await here.terminal.start()
        here.testbed.authorizer.principal = Principal("ada", frozenset({"terminal"}), "token-7")
        async with connect(here.url()) as connection:
            client = TerminalClient(connection)
            await client.until_frame("hello")
            assert here.testbed.hub.revoke("token-7") == 1
            with pytest.raises(ConnectionClosed) as closed:
                await asyncio.wait_for(_until_closed(connection), DEADLINE)

        assert closed.value.rcvd is not None
        assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (4001, "revoked")
        assert here.terminal.alive()
        assert not here.testbed.hub.clients()


async def test_a_stalled_client_costs_nothing_and_catches_up_at_the_newest_screen(tmp_path: Path) -> None:
    """A client that reads nothing while a program floods: bounded memory, then a reset and the tail of it all."""
    async with terminal_server(
        tmp_path, command=("/bin/sh", "-c", "read go; seq 1 400000; echo all-done; read end")
    ) as here:
        await here.terminal.start()
        raw = socket.socket()
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        raw.setblocking(False)
        await asyncio.get_running_loop().sock_connect(raw, ("127.0.0.1", here.testbed.port))
        async with connect(here.url(), sock=raw, max_queue=1) as connection:
            client = TerminalClient(connection)
            await client.until_frame("hello")
            before = resident_memory()
            here.terminal.write(b"go\n")
            scrollback = here.terminal.scrollback
            await until(lambda: scrollback.read(scrollback.end - 200, 200).find(b"all-done") >= 0)
            assert scrollback.end > 2 * MOST
            assert resident_memory() - before < 8 * MOST
            await client.until(b"all-done")

        resets = [frame for frame in client.controls if frame["type"] == "reset"]
        assert resets
        assert resets[-1]["reason"] == "behind"
        assert client.offset == scrollback.end
        numbers = [int(line) for line in client.seen.split(b"\r\n") if line.isdigit()]
        assert numbers[-1] == 400_000
        assert numbers == list(range(numbers[0], 400_001))


async def test_two_clients_see_the_same_and_both_may_type(tmp_path: Path) -> None:
    """S000-89."""
    async with terminal_server(tmp_path) as here:
        await here.terminal.start()
        async with connect(here.url()) as first, connect(here.url()) as second:
            seats = TerminalClient(first), TerminalClient(second)
            await first.send(b"echo from''-first\n")
            for client in seats:
                await client.until(b"from-first")
            await second.send(b"echo from''-second\n")
            for client in seats:
                await client.until(b"from-second")

        await until(lambda: not any(type(each) is ScrollbackSubscriber for each in gc.get_objects()))


async def _until_closed(connection: ClientConnection) -> None:
    while True:
        await connection.recv()
