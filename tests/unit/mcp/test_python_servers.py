"""A server of the official SDK over each transport, and what happens when a remote one goes away (H8-1, H8-3)."""

import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from bobstay.mcp.mcp_ports import Backoff
from bobstay.mcp.mcp_servers import McpRequestError
from bobstay.tools.base import ToolError
from tests.kit import python_mcp_server
from tests.kit.mcp_sessions import McpSession, configure, mcp_session
from tests.kit.processes import marked_processes
from tests.kit.python_mcp_server import free_port, http_mcp_server, websocket_mcp_server
from tests.kit.tool_context import Reports, make_context
from tests.kit.waiting import until

Serving = Callable[[], AbstractAsyncContextManager[dict[str, Any]]]


@asynccontextmanager
async def over_stdio() -> AsyncIterator[dict[str, Any]]:
    yield {"command": sys.executable, "args": [python_mcp_server.__file__]}


@asynccontextmanager
async def over_http() -> AsyncIterator[dict[str, Any]]:
    async with http_mcp_server("http") as (_, entry):
        yield entry


@asynccontextmanager
async def over_http_without_streams() -> AsyncIterator[dict[str, Any]]:
    async with http_mcp_server("http", json_response=True) as (_, entry):
        yield entry


@asynccontextmanager
async def over_sse() -> AsyncIterator[dict[str, Any]]:
    async with http_mcp_server("sse") as (_, entry):
        yield entry


def over(*serving: Serving) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("serving", serving, ids=lambda each: each.__name__)


@over(over_stdio, over_http, over_http_without_streams, over_sse, websocket_mcp_server)
async def test_a_server_works_over_every_transport(serving: Serving, tmp_path: Path) -> None:
    """H8-1, H8-4"""
    async with serving() as entry, mcp_session(tmp_path, py=entry) as session:
        assert session.state("py") == "connected", session.error("py")
        assert await session.text("mcp__py__add", a=2, b=3) == "5"
        assert len(await session.text("mcp__py__big", n=500_000)) == 500_000
        assert "the page" in await session.text("ReadMcpResourceTool", server="py", uri="doc://two")
        parts = await session.servers.run_prompt("mcp__py__review", ("x = 1",), tmp_path)
        assert [getattr(part, "text", "") for part in parts] == ["Review this: x = 1"]
        assert session.servers.instructions() == (("py", "Add numbers with it."),)
        result = await session.call("mcp__py__add", a="no number", b=3)
        assert result.is_error


@over(over_stdio, over_http, over_sse, websocket_mcp_server)
async def test_progress_and_new_tools_arrive_over_every_transport(serving: Serving, tmp_path: Path) -> None:
    """H8-3, H8-4"""
    async with serving() as entry, mcp_session(tmp_path, py=entry) as session:
        context = make_context(tmp_path)
        await session.call("mcp__py__count", context)
        assert isinstance(context.report, Reports)
        assert context.report.texts == ["1/3\n", "2/3\n", "3/3\n"]
        await session.text("mcp__py__grow")
        await until(lambda: "mcp__py__grown" in session.names)
        assert await session.text("mcp__py__grown") == "grown"


@over(over_stdio, over_http, websocket_mcp_server)
async def test_ten_megabytes_come_over_every_transport_that_has_no_limit_of_its_own(
    serving: Serving, tmp_path: Path
) -> None:
    """H8-4"""
    async with serving() as entry, mcp_session(tmp_path, py=entry) as session:
        assert len(await session.text("mcp__py__big", n=10_000_000)) == 10_000_000


async def test_headers_of_the_configuration_are_sent(tmp_path: Path) -> None:
    """H8-2"""
    async with http_mcp_server("http") as (_, entry):
        entry["headers"] = {"X-Static": "one"}
        async with mcp_session(tmp_path, py=entry) as session:
            assert "'x-static': 'one'" in await session.text("mcp__py__headers")


async def test_a_server_that_was_restarted_is_reached_again(tmp_path: Path) -> None:
    """H8-3"""
    async with http_mcp_server("http") as (running, entry), mcp_session(tmp_path, py=entry) as session:
        await running.stop()
        await running.start()
        assert await session.text("mcp__py__add", a=1, b=1) == "2"


async def test_a_server_that_is_not_there_yet_is_tried_again_with_growing_pauses(tmp_path: Path) -> None:
    """H8-3"""
    backoff = Backoff()
    assert [backoff.delay(attempt) for attempt in range(1, 8)] == [1, 2, 4, 8, 16, 30, 30]
    async with http_mcp_server("http") as (running, entry):
        await running.stop()
        options = {"backoff": Backoff(first=0.05, attempts=10_000)}
        async with mcp_session(tmp_path, {}, options, py=entry) as session:
            assert session.state("py") in ("failed", "pending")
            await running.start()
            await until(lambda: session.state("py") == "connected")


async def test_a_server_that_stays_away_is_given_up_and_its_error_is_kept(tmp_path: Path) -> None:
    """H8-3"""
    entry = {"type": "http", "url": f"http://127.0.0.1:{free_port()}/mcp"}
    session = McpSession(tmp_path, configure(py=entry), {})
    states: list[str] = []
    session.servers.subscribe(lambda: states.append(session.state("py")))
    session.servers.start()
    try:
        await until(lambda: states.count("failed") == 6)
        assert "could not be connected" in session.error("py")
        with pytest.raises(McpRequestError, match="could not be connected"):
            await session.servers.reconnect("py")
        assert states.count("failed") >= 7, "only a person tries again now"
    finally:
        await session.servers.close()


def requiring(token: str) -> Callable[[Any], Any]:
    """Middleware that wants a token."""

    def wrap(app: Any) -> Any:
        async def check(scope: Any, receive: Any, send: Any) -> None:
            headers = dict(scope.get("headers", ()))
            if scope["type"] == "http" and headers.get(b"authorization") != f"Bearer {token}".encode():
                await send({"type": "http.response.start", "status": 401, "headers": []})
                await send({"type": "http.response.body", "body": b""})
                return
            await app(scope, receive, send)

        return check

    return wrap


@pytest.mark.parametrize("kind", ["http", "sse"])
async def test_a_server_that_wants_a_sign_in_says_so_at_once_and_is_not_tried_again(kind: str, tmp_path: Path) -> None:
    """H8-3"""
    async with http_mcp_server(kind, requiring("right")) as (_, entry), mcp_session(tmp_path, py=entry) as session:
        assert session.state("py") == "needs-auth"
        assert session.names == []


async def test_a_token_that_ends_during_a_session_turns_the_state_at_once(tmp_path: Path) -> None:
    """H8-3"""
    import httpx2

    class Token(httpx2.Auth):
        value = "right"

        def auth_flow(self, request: httpx2.Request) -> Any:
            request.headers["Authorization"] = f"Bearer {self.value}"
            yield request

    token = Token()
    async with (
        http_mcp_server("http", requiring("right")) as (_, entry),
        mcp_session(tmp_path, {"auth": lambda _: token}, py=entry) as session,
    ):
        assert await session.text("mcp__py__add", a=1, b=1) == "2"
        token.value = "expired"
        with pytest.raises(ToolError, match="sign in"):
            await session.text("mcp__py__add", a=1, b=1)
        assert session.state("py") == "needs-auth"
        token.value = "right"
        assert await session.text("mcp__py__add", a=1, b=1) == "2", "a token that was refreshed meanwhile is enough"
        assert session.state("py") == "connected"
        await session.servers.reconnect("py")
        assert await session.text("mcp__py__add", a=1, b=1) == "2"


async def test_authentication_that_gives_up_is_a_wish_for_a_sign_in_and_no_failure(tmp_path: Path) -> None:
    """H8-3: nobody waits for a browser."""
    import httpx2

    class NoBrowserError(Exception):
        needs_authentication = True

    class Refusing(httpx2.Auth):
        is_ready = True

        def auth_flow(self, request: httpx2.Request) -> Any:
            if not self.is_ready:
                raise NoBrowserError
            yield request

    auth = Refusing()
    async with (
        http_mcp_server("http") as (_, entry),
        mcp_session(tmp_path, {"auth": lambda _: auth}, py=entry) as session,
    ):
        assert session.state("py") == "connected"
        auth.is_ready = False
        with pytest.raises(ToolError):
            await session.text("mcp__py__add", a=1, b=1)
        await until(lambda: session.state("py") == "needs-auth")
        with pytest.raises(McpRequestError, match="sign in"):
            await session.servers.reconnect("py")
        auth.is_ready = True
        await session.servers.reconnect("py")
        assert await session.text("mcp__py__add", a=1, b=1) == "2"


async def test_a_websocket_that_is_refused_says_so(tmp_path: Path) -> None:
    """H8-3"""

    def refuse(status: HTTPStatus) -> Any:
        return lambda connection, _request: connection.respond(status, "")

    async with (
        websocket_mcp_server(refuse(HTTPStatus.UNAUTHORIZED)) as entry,
        mcp_session(tmp_path, py=entry) as session,
    ):
        assert session.state("py") == "needs-auth"
    async with websocket_mcp_server(refuse(HTTPStatus.FORBIDDEN)) as entry, mcp_session(tmp_path, py=entry) as session:
        assert session.state("py") in ("failed", "pending")


async def test_no_process_is_left_after_the_session(tmp_path: Path) -> None:
    """H8-1"""
    async with over_stdio() as entry:
        entry["env"] = {"LEFT_OVER": str(tmp_path)}
        async with mcp_session(tmp_path, py=entry):
            assert marked_processes(f"LEFT_OVER={tmp_path}")
    assert not marked_processes(f"LEFT_OVER={tmp_path}")


async def test_an_entry_that_answers_with_a_page_is_a_failure_with_a_reason(tmp_path: Path) -> None:
    """H8-3"""
    async with http_mcp_server("http") as (_, entry):
        entry["url"] = entry["url"].replace("/mcp", "/nothing")
        session: McpSession
        async with mcp_session(tmp_path, {}, {"backoff": Backoff(attempts=0)}, py=entry) as session:
            assert session.state("py") == "failed"
            assert "404" in session.error("py")


class WithoutStream:
    """Middleware of a server that knows no stream of its own (404), and never answers the calls of its tools."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, app: Any) -> Any:
        async def answer(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            if scope["method"] == "GET":
                await send({"type": "http.response.start", "status": 404, "headers": []})
                await send({"type": "http.response.body", "body": b""})
                return
            first = await receive()
            if b'"tools/call"' in first.get("body", b""):
                self.calls += 1
                await receive()  # until the client goes away
                return
            waiting = [first]

            async def replay() -> Any:
                return waiting.pop() if waiting else await receive()

            await app(scope, replay, send)

        return answer


async def test_a_call_without_an_answer_is_not_sent_again_because_another_request_found_nothing(tmp_path: Path) -> None:
    """H8-3: only a request that the server itself refused may be sent again."""
    silent = WithoutStream()
    async with (
        http_mcp_server("http", silent, json_response=True) as (_, entry),
        # Longer than the pause after which the SDK asks for the stream again.
        mcp_session(tmp_path, {}, {"tool_timeout": 2.0}, py=entry) as session,
    ):
        with pytest.raises(ToolError, match="did not answer within 2 seconds"):
            await session.text("mcp__py__add", a=1, b=1)
    assert silent.calls == 1
