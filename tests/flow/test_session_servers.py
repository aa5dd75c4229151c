"""MCP servers in a session: their tools are offered, called and judged like any other (H8-2, H8-4, H1-6)."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

from bobstay.assembly import session_servers
from bobstay.assembly.build_session import StartError
from bobstay.model.event import Event, ToolDone
from tests.kit import scripted_mcp_server
from tests.kit.agent_sessions import agent_call, run
from tests.kit.folder_sessions import FolderSessions
from tests.kit.waiting import DEADLINE, until
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer

SERVER = {"command": sys.executable, "args": [scripted_mcp_server.__file__]}
SHOUT = Call("mcp__srv__shout", {"s": "hey"}, "m1")


@pytest.fixture
def project(model: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FolderSessions:
    """A busy machine must not decide whether a server is there in time."""
    for name in ("FIRST_WAIT", "NAMED_WAIT"):
        monkeypatch.setattr(session_servers, name, DEADLINE)
    return FolderSessions(model, tmp_path)


def replies(events: list[Event]) -> list[ToolDone]:
    return [event for event in events if isinstance(event, ToolDone)]


async def test_a_server_of_the_project_needs_trust_and_an_approval(project: FolderSessions) -> None:
    project.write("work/.mcp.json", {"mcpServers": {"srv": SERVER}})
    steps = (Step(blocks=[SHOUT]), Step(blocks=[Say("done")]))
    (refused,) = replies(await project.ask("one", steps=steps, allowed_tools=("mcp__srv",)))
    assert "No such tool" in refused.reply.text
    assert any("not started: srv" in warning for warning in project.warnings)
    project.write("work/.claude/settings.json", {"enableAllProjectMcpServers": True})
    (done,) = replies(await project.ask("two", steps=steps, allowed_tools=("mcp__srv",)))
    assert (done.reply.is_error, done.reply.text) == (False, "HEY!")
    (untrusted,) = replies(await project.ask("three", steps=steps, allowed_tools=("mcp__srv",), trust=False))
    assert "No such tool" in untrusted.reply.text


async def test_without_a_rule_a_tool_of_a_server_is_asked_about(project: FolderSessions) -> None:
    config = json.dumps({"mcpServers": {"srv": SERVER}})
    (reply,) = replies(
        await project.ask("one", steps=(Step(blocks=[SHOUT]), Step(blocks=[Say("done")])), mcp_config=(config,))
    )
    assert reply.denied
    offered = [tool["name"] for tool in project.model.requests[0].body["tools"]]
    assert "mcp__srv__shout" in offered
    assert offered.index("mcp__srv__shout") > offered.index("Write"), "tools of servers come after the built-in ones"


@pytest.mark.parametrize(("given", "named"), [("nosuch.json", "was not found"), ("{", "is not an MCP configuration")])
async def test_a_configuration_that_cannot_be_read_is_told_to_whoever_named_it(
    project: FolderSessions, given: str, named: str
) -> None:
    with pytest.raises(StartError, match=named):
        await project.ask("one", mcp_config=(given,))


async def test_an_interrupt_ends_the_wait_for_servers_and_the_next_prompt_waits_again(
    project: FolderSessions, tmp_path: Path
) -> None:
    """H1-6"""
    hold, started = tmp_path / "hold", tmp_path / "started"
    hold.touch()
    entry = {**SERVER, "env": {"MCP_HOLD": str(hold), "MCP_PID": str(started)}}
    session = await project.open(
        model="claude-sonnet-4-5", trust=True, mcp_config=(json.dumps({"mcpServers": {"srv": entry}}),)
    )
    try:
        first = asyncio.ensure_future(run(session, project.model.play("one", Step(blocks=[Say("one")]))))
        await until(started.exists)
        await until(lambda: session.busy)
        await session.interrupt()
        assert (await first).ending == "interrupted_streaming"
        assert project.model.requests == []
        second = asyncio.ensure_future(run(session, project.model.play("two", Step(blocks=[Say("two")]))))
        hold.unlink()
        assert (await second).text == "two"
        assert "mcp__srv__shout" in [tool["name"] for tool in project.model.requests[0].body["tools"]]
    finally:
        await session.close()


async def test_a_coordinator_has_no_tools_of_servers_and_its_workers_have_them(project: FolderSessions) -> None:
    """H7-3"""
    worker = project.model.play("worker", Step(blocks=[SHOUT]), Step(blocks=[Say("It shouts.")]))
    steps = (Step(blocks=[agent_call(worker, run_in_background=False)]), Step(blocks=[SHOUT]), Step(blocks=[Say("k")]))
    config = json.dumps({"mcpServers": {"srv": SERVER}})
    options = {"mcp_config": (config,), "allowed_tools": ("mcp__srv",), "coordinator": True}
    started, refused = replies(await project.ask("one", steps=steps, **options))
    assert "It shouts." in started.reply.text
    assert "No such tool available" in refused.reply.text
    offered = [[tool["name"] for tool in request.body["tools"]] for request in project.model.requests]
    assert ["mcp__srv__shout" in names for names in offered] == [False, True, True, False, False]
