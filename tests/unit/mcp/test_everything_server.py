"""The protocol's own reference server over stdio, HTTP and SSE (H8-1)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bobstay.mcp.mcp_ports import ElicitationAnswer, ElicitationRequest
from tests.kit import everything_mcp_server
from tests.kit.mcp_sessions import mcp_session
from tests.kit.tool_context import Reports, make_context


@pytest.fixture(scope="module", autouse=True)
def _installed() -> None:
    everything_mcp_server.install()


@asynccontextmanager
async def serving(kind: str) -> AsyncIterator[dict[str, Any]]:
    if kind == "stdio":
        yield everything_mcp_server.over_stdio()
    else:
        async with everything_mcp_server.over_http(kind) as entry:
            yield entry


@pytest.mark.parametrize("kind", ["stdio", "http", "sse"])
async def test_the_reference_server_works(kind: str, tmp_path: Path) -> None:
    """H8-1, H8-4"""

    async def elicit(request: ElicitationRequest) -> ElicitationAnswer:
        return ElicitationAnswer("decline")

    async with serving(kind) as entry, mcp_session(tmp_path, {"elicit": elicit}, all=entry) as session:
        assert session.state("all") == "connected", session.error("all")
        assert "hello" in await session.text("mcp__all__echo", message="hello")
        assert "5" in await session.text("mcp__all__get-sum", a=2, b=3)
        # Its image has a checksum that is wrong, so it is kept in a file and not sent to a model.
        assert "[Image (image/png, 4,033 bytes): saved as" in await session.text("mcp__all__get-tiny-image")
        assert "demo://resource" in await session.text("ListMcpResourcesTool")
        assert any(command.name == "mcp__all__simple-prompt" for command in session.servers.commands())
        assert session.notices == []
        context = make_context(tmp_path)
        await session.call("mcp__all__trigger-long-running-operation", context, duration=0.3, steps=3)
        assert isinstance(context.report, Reports)
        assert "3/3" in "".join(context.report.texts)


async def test_an_address_that_must_be_opened_first_is_shown_and_the_call_repeated(tmp_path: Path) -> None:
    """H8-4"""
    asked: list[ElicitationRequest] = []

    async def elicit(request: ElicitationRequest) -> ElicitationAnswer:
        asked.append(request)
        return ElicitationAnswer("accept")

    async with (
        serving("stdio") as entry,
        mcp_session(tmp_path, {"elicit": elicit}, all=entry) as session,
    ):
        outcome = await session.call("mcp__all__trigger-url-elicitation", url="https://example.com/", errorPath=True)
        assert not outcome.is_error
        assert {(each.server, each.mode) for each in asked} == {("all", "url")}
        assert "https://example.com/" in [each.url for each in asked]
