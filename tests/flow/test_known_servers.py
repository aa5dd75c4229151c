"""Servers that were connected before: a session begins with what they offered, and waits for none of them (H8-3)."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from bobstay.assembly import session_servers
from bobstay.model.event import Event, ToolDone
from tests.kit.folder_sessions import FolderSessions
from tests.kit.mcp_sessions import scripted_entry
from tests.kit.waiting import DEADLINE
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer

SHOUT = "mcp__srv__shout"
DONE = Step(blocks=[Say("done")])


class KnownServers(FolderSessions):
    """The person's own server, which does nothing while the file `hold` is there."""

    def __init__(self, model: ModelServer, folder: Path) -> None:
        super().__init__(model, folder)
        self.hold = folder / "hold"
        self.started = folder / "started"
        self.configure()

    def configure(self, **variables: str) -> None:
        own = {"MCP_HOLD": str(self.hold), "MCP_PID": str(self.started), **variables}
        self.write("home/.claude.json", {"mcpServers": {"srv": scripted_entry(**own)}})

    def offered(self, request: int = -1) -> bool:
        return SHOUT in [tool["name"] for tool in self.model.requests[request].body["tools"]]

    async def try_once(self, **more: Any) -> list[ToolDone]:
        steps = (Step(blocks=[Call(SHOUT, {"s": "hey"}, "c1")]), DONE)
        events: list[Event] = await self.ask("one", steps=steps, allowed_tools=("mcp__srv",), **more)
        return [event for event in events if isinstance(event, ToolDone)]


@pytest.fixture
def project(model: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KnownServers:
    """A busy machine must not decide whether a server is there in time."""
    monkeypatch.setattr(session_servers, "FIRST_WAIT", DEADLINE)
    return KnownServers(model, tmp_path)


async def test_a_known_server_is_offered_before_it_is_connected_and_a_call_waits_for_it(project: KnownServers) -> None:
    """H8-3"""
    (first,) = await project.try_once()
    assert first.reply.text == "HEY!"
    before = project.model.requests[0].body["tools"]
    project.hold.touch()

    def release(_: Any) -> Step:
        project.hold.unlink()
        return Step(blocks=[Call(SHOUT, {"s": "later"}, "c1")])

    events = await project.ask("two", steps=(release, DONE), allowed_tools=("mcp__srv",))
    replies = [event.reply.text for event in events if isinstance(event, ToolDone)]
    assert replies == ["LATER!"]
    assert project.model.requests[2].body["tools"] == before, "the same bytes as in the last session"


async def test_a_server_that_was_late_twice_is_not_waited_for_again(
    project: KnownServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """H8-3"""
    project.hold.touch()
    project.variables["MCP_TIMEOUT"] = "100000000"
    monkeypatch.setattr(session_servers, "FIRST_WAIT", 0.01)
    for _ in range(2):
        await project.ask("one")
    monkeypatch.setattr(session_servers, "FIRST_WAIT", 10 * DEADLINE)
    async with asyncio.timeout(DEADLINE):
        await project.ask("two")
    assert not project.offered()
    assert len(project.model.requests) == 3


async def test_a_server_whose_entry_changed_is_not_known_any_more(project: KnownServers) -> None:
    """H8-3"""
    await project.ask("one")
    assert project.offered()
    project.configure(MCP_MODE="exit")
    await project.ask("two")
    assert not project.offered()


async def test_a_known_server_that_is_not_there_any_more_fails_its_calls_and_is_offered_no_longer(
    project: KnownServers, tmp_path: Path
) -> None:
    """H8-3"""
    gone = tmp_path / "gone"
    project.configure(MCP_GONE=str(gone))
    await project.ask("one")
    gone.touch()
    (reply,) = await project.try_once()
    assert reply.reply.is_error
    assert "mcp__srv" in str(project.model.requests[1].body["tools"])
    assert not project.offered(), "the next request is without it"


async def test_what_is_remembered_may_be_damaged(project: KnownServers) -> None:
    """H8-3"""
    await project.ask("one")
    (file,) = (project.home / ".bobstay" / "mcp-listings").iterdir()
    for content in (b"", b"{", b'{"listing": 7}', b"\xff" * 100):
        file.write_bytes(content)
        await project.ask("two")
        assert project.offered()
    assert (file.stat().st_mode & 0o777) == 0o600
