"""Servers inside the program that runs the session: every message is one request to that program (H8-1)."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from bobstay.tools.base import ToolError
from tests.kit.mcp_sessions import mcp_session
from tests.kit.waiting import until

ENTRY = {"type": "sdk", "name": "calc"}


class Host:
    """A program with a server called `calc`, whose tool `add` adds, and whose tool `wait` never ends."""

    def __init__(self) -> None:
        self.received: list[tuple[str, dict[str, Any]]] = []
        self.broken = False

    @property
    def methods(self) -> list[str]:
        return [message["method"] for _, message in self.received]

    async def send(self, server: str, message: dict[str, Any]) -> Any:
        self.received.append((server, message))
        if self.broken:
            raise ConnectionError("the host hung up")
        if "id" not in message:
            return {"jsonrpc": "2.0", "result": {}}
        return {"jsonrpc": "2.0", "id": message["id"], "result": await self.answer(message)}

    async def answer(self, message: dict[str, Any]) -> dict[str, Any]:
        match message["method"]:
            case "initialize":
                info = {"name": "calc", "version": "1"}
                version = message["params"]["protocolVersion"]
                return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
            case "tools/list":
                schema = {"type": "object", "properties": {"a": {"type": "number"}}}
                return {"tools": [{"name": "add", "inputSchema": schema}, {"name": "wait", "inputSchema": schema}]}
            case _:
                if message["params"]["name"] == "wait":
                    await asyncio.Event().wait()
                total = message["params"]["arguments"]["a"] + message["params"]["arguments"]["b"]
                return {"content": [{"type": "text", "text": str(total)}]}


async def test_the_host_is_asked_in_the_order_it_knows(tmp_path: Path) -> None:
    """H8-1"""
    host = Host()
    async with mcp_session(tmp_path, {"send_to_host": host.send}, calc=ENTRY) as session:
        assert session.servers.summary() == [{"name": "calc", "status": "connected", "source": "sdk"}]
        assert await session.text("mcp__calc__add", a=2, b=3) == "5"
    assert host.methods[:4] == ["initialize", "notifications/initialized", "tools/list", "tools/call"]
    assert {server for server, _ in host.received} == {"calc"}
    assert host.received[0][1]["params"]["protocolVersion"] == "2025-11-25"
    call = host.received[3][1]["params"]
    assert (call["name"], call["arguments"]) == ("add", {"a": 2, "b": 3})
    assert call["_meta"]["claudecode/toolUseId"] == "call_1"


async def test_a_call_that_waits_does_not_hold_up_another_and_can_be_cancelled(tmp_path: Path) -> None:
    """H8-4"""
    host = Host()
    async with mcp_session(tmp_path, {"send_to_host": host.send}, calc=ENTRY) as session:
        waiting = asyncio.create_task(session.text("mcp__calc__wait"))
        await until(lambda: "tools/call" in host.methods)
        assert await session.text("mcp__calc__add", a=1, b=1) == "2"
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await until(lambda: "notifications/cancelled" in host.methods)


async def test_a_host_that_fails_fails_the_call_only(tmp_path: Path) -> None:
    """H8-3"""
    host = Host()
    async with mcp_session(tmp_path, {"send_to_host": host.send}, calc=ENTRY) as session:
        host.broken = True
        with pytest.raises(ToolError, match="the host hung up"):
            await session.text("mcp__calc__add", a=1, b=1)
        host.broken = False
        assert await session.text("mcp__calc__add", a=1, b=1) == "2"


@pytest.mark.parametrize("answer", [None, 5, {}, {"result": object()}, {"result": {"tools": 5}}, {"error": "x"}])
async def test_an_answer_that_makes_no_sense_is_a_failure_with_a_reason(answer: Any, tmp_path: Path) -> None:
    """H8-3"""

    async def send(server: str, message: dict[str, Any]) -> Any:
        return answer

    options = {"connect_timeout": 5.0}
    async with mcp_session(tmp_path, {"send_to_host": send}, options, calc=ENTRY) as session:
        assert session.state("calc") == "failed"
        assert "could not be connected" in session.error("calc")


async def test_without_a_host_such_a_server_fails(tmp_path: Path) -> None:
    """H8-3"""
    async with mcp_session(tmp_path, calc=ENTRY) as session:
        assert "not connected" in session.error("calc")
        await session.servers.toggle("calc", enabled=False)
        assert session.state("calc") == "disabled"
