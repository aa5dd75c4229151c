"""JSON-RPC over the Unix socket: real sockets, real endpoints of its own, and lines of every kind."""

import asyncio
import os
import socket
import stat
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some
from starlette.responses import Response, StreamingResponse

from bobstay.model.event import Noted
from bobstay.server.api import sse_stream
from bobstay.server.api.endpoint import ApiCall, Endpoint, EndpointAnswer
from bobstay.server.auth.audit_port import NoAuditLog, Refusals
from bobstay.server.errors import ApiError
from bobstay.server.rpc.rpc_bridge import RpcBridge
from bobstay.server.rpc.rpc_messages import MOST_IN_BATCH, parse_line
from bobstay.server.rpc.rpc_server import LONGEST_LINE, MOST_RUNNING, RpcServer, listening_socket
from bobstay.server.sessions.session_view import SessionView
from tests.kit.waiting import DEADLINE, until
from tests.server.streams.stream_testbed import StreamTestbed, fill


class PageQuery(msgspec.Struct):
    limit: int = 10


class TextBody(msgspec.Struct):
    text: str


class EchoedText(msgspec.Struct):
    id: str
    text: str
    by: str
    limit: int = 0
    key: str = ""


async def read_session(call: ApiCall) -> SessionView:
    """Show a session."""
    return call.services.registry.view(call.path["id"])


async def send_text(call: ApiCall) -> EchoedText:
    """Say something."""
    key = call.request.headers.get("x-key", "")
    return EchoedText(call.path["id"], call.body.text, call.principal.name, call.query.limit, key)


async def make_session(call: ApiCall) -> EndpointAnswer:
    """Make one."""
    return EndpointAnswer({"path": call.request.url.path, "raw": (await call.request.body()).decode()}, 201)


async def refuse(call: ApiCall) -> None:
    """Never does it."""
    raise ApiError("wrong_state", "Not now.", status="running")


async def break_down(call: ApiCall) -> None:
    """Breaks."""
    raise ZeroDivisionError


async def read_text(call: ApiCall) -> Response:
    """Text, bytes or a stream."""
    kind = call.path["kind"]
    if kind == "stream":
        return StreamingResponse(iter([b"x"]))
    return Response("ü" if kind == "text" else b"\xff", media_type="text/plain" if kind == "text" else "image/png")


GATES: dict[str, asyncio.Event] = {}


async def wait_here(call: ApiCall) -> str:
    """Answers when its gate opens."""
    await GATES[call.path["gate"]].wait()
    return call.path["gate"]


ENDPOINTS = (
    Endpoint("GET", "/sessions/{id}", read_session, returns=SessionView, errors=("not_found",)),
    Endpoint(
        "POST", "/sessions/{id}/words", send_text, body=TextBody, query=PageQuery, returns=EchoedText, scope="operate"
    ),
    Endpoint("POST", "/sessions", make_session, returns=dict, status=201),
    Endpoint("POST", "/refused", refuse),
    Endpoint("POST", "/broken", break_down),
    Endpoint("GET", "/text/{kind}", read_text, returns=Response),
    Endpoint("GET", "/wait/{gate}", wait_here, returns=str),
    *sse_stream.ENDPOINTS,
)


@pytest.fixture
async def testbed(tmp_path: Path) -> AsyncIterator[StreamTestbed]:
    made = StreamTestbed(tmp_path)
    yield made
    made.streams.close()
    for session in made.registry.all_open():
        made.registry.release(session.id)


@pytest.fixture
async def path(testbed: StreamTestbed, tmp_path: Path) -> AsyncIterator[str]:
    found = str(tmp_path / "rpc.sock")
    server = RpcServer(testbed.streams, RpcBridge(ENDPOINTS, _services(testbed)), found)
    await server.start()
    yield found
    await server.close()
    assert not os.path.exists(found)


def _services(testbed: StreamTestbed) -> Any:
    class Services(msgspec.Struct):
        registry: Any
        audit: Any
        refusals: Any

    return Services(testbed.registry, NoAuditLog(), Refusals(NoAuditLog()))


class Peer:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self.writer = writer
        self.events: list[dict[str, Any]] = []
        self._replies: list[Any] = []
        self._id = 0

    async def send(self, line: bytes | dict[str, Any] | list[Any]) -> None:
        self.writer.write(line if isinstance(line, bytes) else msgspec.json.encode(line) + b"\n")
        await self.writer.drain()

    async def receive(self) -> Any:
        line = await asyncio.wait_for(self._reader.readline(), DEADLINE)
        assert line.endswith(b"\n"), line
        message = msgspec.json.decode(line)
        if isinstance(message, dict) and "method" in message:
            assert "id" not in message
            self.events.append(message["params"])
        return message

    async def reply(self) -> Any:
        while True:
            message = await self.receive()
            if isinstance(message, list) or "id" in message:
                return message

    async def call(self, method: str, params: Any = None) -> Any:
        self._id += 1
        await self.send({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params})
        message = await self.reply()
        assert message["id"] == self._id
        return message

    async def event(self, kind: str) -> dict[str, Any]:
        while True:
            for event in self.events:
                if event.get("type") == kind:
                    return event
            await self.receive()

    async def ended(self) -> bool:
        with suppress(ConnectionError):
            while await asyncio.wait_for(self._reader.read(65536), DEADLINE):
                pass
        return True


@pytest.fixture
async def peer(path: str) -> AsyncIterator[Peer]:
    reader, writer = await asyncio.open_unix_connection(path, limit=1 << 24)
    yield Peer(reader, writer)
    writer.close()
    with suppress(ConnectionError):
        await writer.wait_closed()


async def test_an_endpoint_is_called_by_its_place_or_by_its_name(testbed: StreamTestbed, peer: Peer) -> None:
    """S000-57."""
    session = testbed.begin()
    by_path = await peer.call(f"GET /sessions/{session.id}")
    assert by_path["result"]["id"] == session.id
    assert await peer.call(f"GET /api/v1/sessions/{session.id}") | {"id": 1} == by_path
    assert (await peer.call("GET /sessions/{id}", {"path": {"id": session.id}}))["result"] == by_path["result"]
    assert (await peer.call("read_session", {"path": {"id": session.id}}))["result"] == by_path["result"]
    message = await peer.call("POST /sessions/a%20b/words?limit=3", {"body": {"text": "ü"}, "headers": {"X-Key": "k"}})
    assert message["result"] == {"id": "a b", "text": "ü", "by": "owner", "limit": 3, "key": "k"}
    made = await peer.call("make_session", {"body": {"x": 1}})
    assert made["result"] == {"path": "/api/v1/sessions", "raw": '{"x":1}'}


async def test_what_is_no_json_is_told_as_it_is(peer: Peer) -> None:
    assert (await peer.call("GET /text/text"))["result"] == "ü"
    assert (await peer.call("GET /text/bytes"))["result"] == {"base64": "/w==", "type": "image/png"}
    assert (await peer.call("GET /text/stream"))["error"]["data"]["code"] == "not_supported"


async def test_all_methods_are_listed_but_those_that_stream(peer: Peer) -> None:
    methods = (await peer.call("rpc.methods"))["result"]
    names = [method["method"] for method in methods]
    assert "GET /sessions/{id}" in names
    assert "subscribe" in names
    assert "GET /stream" not in names
    assert {"method": "GET /sessions/{id}", "name": "read_session", "summary": "Show a session."} in methods


BAD: list[tuple[Any, int]] = [
    (b"{\n", -32700),
    (b"\xff\n", -32700),
    (b"[1,\n", -32700),
    (b"{" * 5000 + b"\n", -32700),
    (b"[]\n", -32600),
    (b"7\n", -32600),
    (b"{}\n", -32600),
    ([{}] * (MOST_IN_BATCH + 1), -32600),
    ({"jsonrpc": "1.0", "id": 5, "method": "ping"}, -32600),
    ({"jsonrpc": "2.0", "id": 5, "method": 7}, -32600),
    ({"jsonrpc": "2.0", "id": 5, "method": "ping", "params": "x"}, -32600),
    ({"jsonrpc": "2.0", "id": 5, "method": ""}, -32601),
    ({"jsonrpc": "2.0", "id": 5, "method": "DELETE /sessions/x"}, -32601),
    ({"jsonrpc": "2.0", "id": 5, "method": "GET /../etc/passwd"}, -32601),
    ({"jsonrpc": "2.0", "id": 5, "method": "x" * 100_000}, -32601),
    ({"jsonrpc": "2.0", "id": 5, "method": "read_session"}, -32602),
    ({"jsonrpc": "2.0", "id": 5, "method": "read_session", "params": {"id": "x"}}, -32602),
    ({"jsonrpc": "2.0", "id": 5, "method": "read_session", "params": ["x"]}, -32602),
    ({"jsonrpc": "2.0", "id": 5, "method": "POST /sessions/x/words"}, -32602),
    ({"jsonrpc": "2.0", "id": 5, "method": "POST /sessions/x/words?limit=y", "params": {"body": {"text": ""}}}, -32602),
    ({"jsonrpc": "2.0", "id": 5, "method": "subscribe"}, -32602),
    ({"jsonrpc": "2.0", "id": 5, "method": "subscribe", "params": {"topic": 7}}, -32602),
    ({"jsonrpc": "2.0", "id": 5, "method": "read_session", "params": {"path": {"id": "none"}}}, -32000),
    ({"jsonrpc": "2.0", "id": 5, "method": "refuse"}, -32000),
    ({"jsonrpc": "2.0", "id": 5, "method": "break_down"}, -32603),
]


async def test_whatever_comes_is_answered_and_the_connection_stays(peer: Peer) -> None:
    for line, code in BAD:
        await peer.send(line)
        message = await peer.reply()
        assert message["error"]["code"] == code, (str(line)[:100], message)
        assert message["id"] == (5 if isinstance(line, dict) else None)
        assert "Traceback" not in message["error"]["message"]
    assert (await peer.call("ping"))["result"] == "pong"


async def test_an_error_of_the_api_keeps_its_code_and_details(peer: Peer) -> None:
    error = (await peer.call("refuse"))["error"]
    assert error["message"] == "Not now."
    assert error["data"] == {"code": "wrong_state", "status": 409, "details": {"status": "running"}}
    missing = (await peer.call("GET /sessions/none"))["error"]
    assert (missing["data"]["code"], missing["data"]["status"]) == ("not_found", 404)


async def test_a_line_without_end_is_refused_and_the_next_one_read(peer: Peer) -> None:
    """FM-57."""
    await peer.send(b"x" * LONGEST_LINE)
    await peer.send(b"y" * 1000)
    assert (await peer.reply())["error"]["code"] == -32600
    await peer.send(b'zzz\n{"jsonrpc":"2.0","id":9,"method":"ping"}\n')
    assert (await peer.reply())["id"] == 9


async def test_answers_find_their_questions_in_any_order(peer: Peer) -> None:
    """S000-57: ids are matched, and a slow request holds up no other."""
    GATES["slow"] = asyncio.Event()
    await peer.send({"jsonrpc": "2.0", "id": "slow", "method": "GET /wait/slow"})
    await peer.send({"jsonrpc": "2.0", "id": 1.5, "method": "ping"})
    await peer.send({"jsonrpc": "2.0", "id": None, "method": "ping"})
    assert [(await peer.reply())["id"], (await peer.reply())["id"]] == [1.5, None]
    GATES["slow"].set()
    assert await peer.reply() == {"jsonrpc": "2.0", "id": "slow", "result": "slow"}


async def test_a_batch_is_answered_as_one_and_notifications_not_at_all(peer: Peer) -> None:
    await peer.send({"jsonrpc": "2.0", "method": "ping"})
    await peer.send([{"jsonrpc": "2.0", "method": "ping"}, {"jsonrpc": "2.0", "method": "nonsense"}])
    await peer.send(
        [{"jsonrpc": "2.0", "id": 1, "method": "ping"}, 7, {"jsonrpc": "2.0", "id": 2, "method": "nonsense"}]
    )
    replies = await peer.reply()
    assert [(reply["id"], "result" in reply) for reply in replies] == [(1, True), (None, False), (2, False)]


async def test_topics_are_followed_with_notifications(testbed: StreamTestbed, peer: Peer) -> None:
    """S000-57: subscriptions, with the same frames and cursors as elsewhere."""
    session = testbed.begin()
    fill(session, 300)
    topic = f"session:{session.id}"
    assert (await peer.call("subscribe", {"topic": topic, "after": 250}))["result"] == {"topic": topic}
    await peer.event("stream.synchronized")
    session.append(Noted("new"))
    assert (await peer.event("notice"))["data"]["text"] == "new"
    assert [event["seq"] for event in peer.events if "seq" in event] == list(range(251, 302))
    assert (await peer.call("unsubscribe", {"topic": topic}))["result"] == {"topic": topic, "followed": True}
    assert (await peer.call("unsubscribe", {"topic": topic}))["result"]["followed"] is False
    assert not testbed.hub.is_wanted(topic)
    await peer.call("subscribe", {"topic": "session:none"})
    assert (await peer.event("error"))["data"]["code"] == "not_found"


async def test_too_many_requests_wait_their_turn(peer: Peer) -> None:
    GATES["many"] = asyncio.Event()
    for number in range(3 * MOST_RUNNING):
        await peer.send({"jsonrpc": "2.0", "id": number, "method": "GET /wait/many"})
    running = [task for task in asyncio.all_tasks() if "_answer" in repr(task.get_coro())]
    assert len(running) <= MOST_RUNNING
    GATES["many"].set()
    assert sorted([(await peer.reply())["id"] for _ in range(3 * MOST_RUNNING)]) == list(range(3 * MOST_RUNNING))


async def test_whoever_shuts_its_side_first_still_gets_its_answers(path: str) -> None:
    """As `echo … | nc -U` does."""
    reader, writer = await asyncio.open_unix_connection(path)
    writer.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n' * 50)
    writer.write_eof()
    message = await asyncio.wait_for(reader.read(), DEADLINE)
    assert message.count(b'"pong"') == 50
    writer.close()


async def test_a_reader_that_stalls_is_closed(testbed: StreamTestbed, peer: Peer) -> None:
    """FM-3."""
    session = testbed.begin()
    await peer.call("subscribe", {"topic": f"session:{session.id}"})
    await peer.event("stream.synchronized")
    while testbed.hub.clients():
        session.append(Noted("x" * 16_000))
        await asyncio.sleep(0)
    assert await peer.ended()


async def test_the_socket_is_for_its_owner_only(testbed: StreamTestbed, path: str, tmp_path: Path) -> None:
    """FM-55."""
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    other = RpcServer(
        testbed.streams, RpcBridge((), _services(testbed)), str(tmp_path / "other.sock"), uid=os.geteuid() + 1
    )
    await other.start()
    reader, writer = await asyncio.open_unix_connection(str(tmp_path / "other.sock"))
    writer.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    with suppress(ConnectionError):
        assert await asyncio.wait_for(reader.read(), DEADLINE) == b""
    writer.close()
    await other.close()


async def test_a_dead_server_s_socket_is_replaced_a_living_one_s_is_not(testbed: StreamTestbed, tmp_path: Path) -> None:
    path = str(tmp_path / "again.sock")
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(path)
    server = RpcServer(testbed.streams, RpcBridge((), _services(testbed)), path)
    await server.start()
    with pytest.raises(FileExistsError, match="Another server"):
        listening_socket(path)
    await server.close()
    Path(path).write_text("a file")
    with pytest.raises(FileExistsError, match="not a socket"):
        listening_socket(path)
    with pytest.raises(OSError, match="too long"):
        listening_socket("/" + "x" * 200)


async def test_ending_the_server_ends_its_connections(testbed: StreamTestbed, tmp_path: Path) -> None:
    server = RpcServer(testbed.streams, RpcBridge((), _services(testbed)), str(tmp_path / "end.sock"))
    await server.start()
    reader, writer = await asyncio.open_unix_connection(str(tmp_path / "end.sock"))
    await until(lambda: bool(testbed.hub.clients()))
    await server.close()
    await server.close()
    with suppress(ConnectionError):
        await asyncio.wait_for(reader.read(), DEADLINE)
    assert not testbed.hub.clients()
    writer.close()


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(some.binary(max_size=60) | some.from_regex(rb'\[?\{"id":[0-9a"\[]{0,5},"method":.{0,20}', fullmatch=True))
def test_any_line_is_read_as_something(line: bytes) -> None:
    message = parse_line(line.replace(b"\n", b""))
    if isinstance(message, bytes):
        assert "error" in msgspec.json.decode(message)
