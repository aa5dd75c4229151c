"""Servers that run as processes: what they offer, how calls go, and that nothing of them is left (H8-1, H8-4)."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bobstay.mcp.mcp_ports import ElicitationAnswer, ElicitationRequest
from bobstay.mcp.mcp_servers import McpRequestError
from bobstay.model.message import Image
from bobstay.permissions.access import Effect
from bobstay.permissions.rule import Rule
from bobstay.system.process_marker import has_tag
from bobstay.system.process_tree import has_mark, marks_of
from bobstay.system.watchdog import mark_of_this_process
from bobstay.tools.base import ToolError
from bobstay.tools.output_limit import limit_output
from bobstay.tools.tool_registry import ToolRegistry
from tests.kit.mcp_sessions import mcp_session, scripted_entry
from tests.kit.processes import is_alive, resident_memory
from tests.kit.tool_context import Reports, make_context
from tests.kit.waiting import until


def received(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


async def test_the_tools_of_a_server_are_named_after_it_and_called_by_their_own_names(tmp_path: Path) -> None:
    """H8-4, H1-5"""
    entries = {"t": scripted_entry(), "my server": scripted_entry()}
    async with mcp_session(tmp_path, **entries) as session:
        assert session.names == sorted(session.names)
        assert {"mcp__t__shout", "mcp__my_server__shout", "mcp__t__we_ird_name", "mcp__t__a__b"} <= set(session.names)
        assert await session.text("mcp__my_server__shout", s="hey") == "HEY!"
        assert "called <we ird.name>" in await session.text("mcp__t__we_ird_name")
        assert "called <a__b>" in await session.text("mcp__t__a__b")
        registry = ToolRegistry.load(extra=session.servers.tools())
        assert registry.get("mcp__t__shout") is not None
        assert [name for name in registry.names if name.startswith("mcp__")] == [
            name for name in session.names if name.startswith("mcp__")
        ]


async def test_a_server_is_told_which_call_it_is(tmp_path: Path) -> None:
    """H8-4"""
    async with mcp_session(tmp_path, t=scripted_entry()) as session:
        assert '"call_1"' in await session.text("mcp__t__a__b")


async def test_every_kind_of_result_reaches_the_model(tmp_path: Path) -> None:
    """H8-4"""
    async with mcp_session(tmp_path, t=scripted_entry()) as session:
        assert (await session.call("mcp__t__fail")).is_error
        assert await session.text("mcp__t__struct") == '{"n":42}'
        shown = (await session.call("mcp__t__img")).content
        assert [type(part) for part in shown][1] is Image
        saved = str(getattr(shown[2], "text", "")).partition("saved as ")[2].rstrip("]")
        assert Path(saved).read_bytes().startswith(b"\x89PNG")


async def test_a_result_of_ten_megabytes_is_cut_and_kept_in_a_file(tmp_path: Path) -> None:
    """H8-4"""
    async with mcp_session(tmp_path, {}, {"output_tokens": 1000}, t=scripted_entry()) as session:
        tool = next(tool for tool in session.servers.tools() if tool.name == "mcp__t__big")
        outcome = await session.call("mcp__t__big")
        parts, path = limit_output(outcome.content, tool.cap, tmp_path / "spill", "call")
        assert sum(len(getattr(part, "text", "")) for part in parts) <= 4500
        assert Path(path).stat().st_size == 10_000_000
        assert outcome.display == "10,000,000 characters"


async def test_nothing_a_server_says_about_a_tool_spares_the_question(tmp_path: Path) -> None:
    """H8-4"""
    async with mcp_session(tmp_path, t=scripted_entry()) as session:
        tool = next(tool for tool in session.servers.tools() if tool.name == "mcp__t__shout")
        context = make_context(tmp_path)
        args = tool.args(value={})
        assert tool.access(args, context) == ()
        assert not tool.read_only(args, context)
        assert [claim.name for claim in tool.claims(args, context)] == ["mcp:t"]
        assert Rule.parse("mcp__t", Effect.DENY).names(tool.name)


async def test_a_server_gets_the_project_folder_its_own_variables_and_no_others(tmp_path: Path) -> None:
    """H8-1"""
    async with mcp_session(tmp_path, t=scripted_entry(TOKEN="given")) as session:
        assert await session.text("mcp__t__env", k="CLAUDE_PROJECT_DIR") == str(tmp_path)
        assert await session.text("mcp__t__env", k="TOKEN") == "given"
        assert await session.text("mcp__t__env", k="ANTHROPIC_API_KEY") == "(not set)"


async def test_progress_is_shown(tmp_path: Path) -> None:
    """H8-4"""
    async with mcp_session(tmp_path, t=scripted_entry()) as session:
        context = make_context(tmp_path)
        await session.call("mcp__t__progress", context)
        assert isinstance(context.report, Reports)
        assert "".join(context.report.texts) == "1/2 step\n2/2 step\n"


async def test_a_server_may_ask_the_person_and_hears_the_answer(tmp_path: Path) -> None:
    """H8-4"""
    asked: list[ElicitationRequest] = []

    async def elicit(request: ElicitationRequest) -> ElicitationAnswer:
        asked.append(request)
        return ElicitationAnswer("accept", {"name": "Zed"})

    async with mcp_session(tmp_path, {"elicit": elicit}, t=scripted_entry()) as session:
        answer = json.loads(await session.text("mcp__t__ask"))
        assert (answer["action"], answer["content"]) == ("accept", {"name": "Zed"})
        assert [(each.server, each.message, each.mode) for each in asked] == [("t", "Your name?", "form")]
        assert "name" in asked[0].schema["properties"]


async def test_a_question_that_nobody_answers_is_cancelled(tmp_path: Path) -> None:
    """H8-4"""

    async def fail(request: ElicitationRequest) -> ElicitationAnswer:
        raise ConnectionError

    for ports in ({}, {"elicit": fail}):
        async with mcp_session(tmp_path, ports, t=scripted_entry()) as session:
            assert json.loads(await session.text("mcp__t__ask"))["action"] == "cancel"


async def test_a_server_sees_the_working_directories_as_roots(tmp_path: Path) -> None:
    """H8-4"""
    async with mcp_session(tmp_path, t=scripted_entry()) as session:
        roots = json.loads(await session.text("mcp__t__roots"))["roots"]
        assert [root["uri"] for root in roots] == [tmp_path.as_uri()]


async def test_a_server_uses_the_model_only_if_somebody_agrees(tmp_path: Path) -> None:
    """H8-4"""
    answers: list[dict[str, Any] | None] = [
        None,
        {"role": "assistant", "content": {"type": "text", "text": "hello"}, "model": "m"},
    ]

    async def sample(server: str, params: dict[str, Any]) -> dict[str, Any] | None:
        assert (server, params["maxTokens"]) == ("t", 5)
        return answers.pop(0)

    async with mcp_session(tmp_path, t=scripted_entry()) as session:
        assert "not supported" in await session.text("mcp__t__sample")
    async with mcp_session(tmp_path, {"sample": sample}, t=scripted_entry()) as session:
        refused = json.loads(await session.text("mcp__t__sample"))
        assert (refused["code"], "refused" in refused["message"]) == (-1, True)
        assert "hello" in await session.text("mcp__t__sample")


@pytest.mark.parametrize(
    "more",
    [
        {"tools": [{"name": "look", "inputSchema": {"type": "object"}}]},
        {"toolChoice": {"mode": "required"}},
        {"messages": [{"role": "user", "content": [{"type": "tool_result", "toolUseId": "a", "content": []}]}]},
    ],
)
async def test_a_server_that_wants_the_model_to_use_tools_is_told_that_it_cannot(
    tmp_path: Path, more: dict[str, Any]
) -> None:
    """H8-4: that is another capability, which is not offered; an answer without the tools would be a wrong one."""
    asked: list[str] = []

    async def sample(server: str, params: dict[str, Any]) -> dict[str, Any] | None:
        asked.append(server)
        return {"role": "assistant", "content": {"type": "text", "text": "hello"}, "model": "m"}

    async with mcp_session(tmp_path, {"sample": sample}, t=scripted_entry()) as session:
        answer = json.loads(await session.text("mcp__t__sample", **more))
    assert (answer["code"], asked) == (-32602, []), answer


async def test_resources_can_be_listed_and_read_while_a_server_has_some(tmp_path: Path) -> None:
    """H8-4"""
    async with mcp_session(tmp_path, t=scripted_entry()) as session:
        assert "doc://one" in await session.text("ListMcpResourcesTool")
        assert "the body" in await session.text("ReadMcpResourceTool", server="t", uri="doc://one")
        with pytest.raises(ToolError, match="Servers with resources: t"):
            await session.text("ReadMcpResourceTool", server="x", uri="doc://one")
        registry = ToolRegistry.load(extra=session.servers.tools())
        entry = registry.entry("ReadMcpResource")
        assert entry is not None
        await session.servers.toggle("t", enabled=False)
        assert session.names == []


async def test_prompts_are_commands_with_arguments_by_position(tmp_path: Path) -> None:
    """H8-4"""
    async with mcp_session(tmp_path, t=scripted_entry()) as session:
        commands = session.servers.commands()
        assert [(command.name, command.argument_hint) for command in commands] == [("mcp__t__greet", "<who> [how]")]
        parts = await session.servers.run_prompt("mcp__t__greet", ("Ann", "very", "loud"), tmp_path)
        assert [getattr(part, "text", "") for part in parts] == ['greeting {"how": "very loud", "who": "Ann"}']
        with pytest.raises(McpRequestError, match="needs who"):
            await session.servers.run_prompt("mcp__t__greet", (), tmp_path)
        with pytest.raises(McpRequestError, match="no MCP prompt"):
            await session.servers.run_prompt("mcp__t__none", (), tmp_path)


async def test_new_tools_are_there_after_the_server_says_so(tmp_path: Path) -> None:
    """H8-3"""
    async with mcp_session(tmp_path, t=scripted_entry()) as session:
        before = session.servers.revision
        changes: list[int] = []
        session.servers.subscribe(lambda: changes.append(session.servers.revision))
        await session.text("mcp__t__more")
        await until(lambda: "mcp__t__extra0" in session.names)
        assert changes
        assert session.servers.revision > before
        assert "called <extra0>" in await session.text("mcp__t__extra0")


async def test_a_call_that_is_cancelled_is_cancelled_at_the_server(tmp_path: Path) -> None:
    """H8-4"""
    log = tmp_path / "log"
    async with mcp_session(tmp_path, t=scripted_entry(MCP_LOG=str(log))) as session:
        call = asyncio.create_task(session.text("mcp__t__wait"))
        await until(lambda: any(message.get("method") == "tools/call" for message in received(log)))
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await until(lambda: any(message.get("method") == "notifications/cancelled" for message in received(log)))
        number = next(message["id"] for message in received(log) if message.get("method") == "tools/call")
        cancelled = next(message for message in received(log) if message.get("method") == "notifications/cancelled")
        assert cancelled["params"]["requestId"] == number


async def test_a_call_that_takes_too_long_is_an_error_that_names_the_limit(tmp_path: Path) -> None:
    """H8-4"""
    async with mcp_session(tmp_path, {}, {"tool_timeout": 0.2}, t=scripted_entry()) as session:
        with pytest.raises(ToolError, match=r"0\.2 seconds.*MCP_TOOL_TIMEOUT"):
            await session.text("mcp__t__hang")


async def test_a_server_that_dies_fails_its_call_and_is_started_again_for_the_next(tmp_path: Path) -> None:
    """H8-3"""
    async with mcp_session(tmp_path, t=scripted_entry()) as session:
        with pytest.raises(ToolError, match="exit code 3: I was asked to die"):
            await session.text("mcp__t__die")
        assert "mcp__t__shout" in session.names, "the list of tools stays the same"
        assert await session.text("mcp__t__shout", s="back") == "BACK!"
        assert session.state("t") == "connected"


async def test_all_processes_of_a_server_end_with_the_session(tmp_path: Path) -> None:
    """H8-1: also one that left its process group."""
    pids = tmp_path / "pids"
    async with mcp_session(tmp_path, t=scripted_entry(MCP_PID=str(pids))) as session:
        child = int(await session.text("mcp__t__child"))
        server = int(pids.read_text())
        assert is_alive(child)
        assert is_alive(server)
    await until(lambda: not is_alive(child) and not is_alive(server))


async def test_a_server_can_be_switched_off_and_on_and_connected_anew(tmp_path: Path) -> None:
    """H8-3"""
    pids = tmp_path / "pids"
    async with mcp_session(tmp_path, t=scripted_entry(MCP_PID=str(pids))) as session:
        await session.servers.toggle("t", enabled=False)
        assert (session.state("t"), session.names) == ("disabled", [])
        assert not is_alive(int(pids.read_text()))
        with pytest.raises(McpRequestError, match="disabled"):
            await session.servers.reconnect("t")
        await session.servers.toggle("t", enabled=True)
        await until(lambda: session.state("t") == "connected")
        await session.servers.reconnect("t")
        assert await session.text("mcp__t__shout", s="x") == "X!"
        assert len(pids.read_text().split()) == 3
        with pytest.raises(McpRequestError, match="Server not found: nosuch"):
            await session.servers.reconnect("nosuch")


async def test_a_host_replaces_the_servers_it_set_and_no_others(tmp_path: Path) -> None:
    """H8-3"""
    async with mcp_session(tmp_path, mine=scripted_entry()) as session:
        set_servers = session.servers.set_servers
        first = await set_servers({"a": scripted_entry(), "mine": scripted_entry(), "bad": {"type": "z"}}, {})
        assert (first["added"], first["removed"], set(first["errors"])) == (["a"], [], {"mine", "bad"})
        await until(lambda: session.state("a") == "connected")
        assert (await set_servers({"a": scripted_entry(), "b": scripted_entry()}, {}))["added"] == ["b"]
        last = await set_servers({}, {})
        assert (last["added"], last["removed"]) == ([], ["a", "b"])
        assert [server["name"] for server in session.servers.summary()] == ["mine"]


async def test_what_a_server_says_about_itself_is_known(tmp_path: Path) -> None:
    """H8-4"""
    async with mcp_session(tmp_path, t=scripted_entry(), u=scripted_entry()) as session:
        assert session.servers.instructions() == (("t", "Shout when you can."), ("u", "Shout when you can."))
        status = session.servers.status()[0]
        assert (status["status"], status["serverInfo"]["name"], status["scope"]) == ("connected", "scripted", "user")
        assert status["tools"][0] == {"name": "shout", "annotations": {}}
        assert "env" not in status["config"]


async def test_a_server_that_knows_only_the_newest_protocol_is_spoken_to_in_it(tmp_path: Path) -> None:
    """H8-1"""
    async with mcp_session(tmp_path, t=scripted_entry(MCP_MODE="modern")) as session:
        assert session.state("t") == "connected", session.error("t")
        assert await session.text("mcp__t__shout", s="new") == "NEW!"


async def test_the_session_itself_may_call_a_tool(tmp_path: Path) -> None:
    """H8-4: as for answers to permission requests."""
    async with mcp_session(tmp_path, t=scripted_entry()) as session:
        assert await session.servers.call("mcp__t__shout", {"s": "yes"}) == ("YES!", False)
        assert await session.servers.call("mcp__t__fail", {}) == ("it failed", True)
        for name, why in (("mcp__t__none", "no MCP tool"), ("mcp__t__die", "exit code 3")):
            with pytest.raises(McpRequestError, match=why):
                await session.servers.call(name, {})


async def test_a_server_that_does_not_want_to_end_is_killed(tmp_path: Path) -> None:
    """H8-1"""
    pids = tmp_path / "pids"
    async with mcp_session(tmp_path, t=scripted_entry(MCP_MODE="clinging", MCP_PID=str(pids))) as session:
        assert session.state("t") == "connected"
        assert is_alive(int(pids.read_text()))
    assert not is_alive(int(pids.read_text()))


async def test_a_server_that_never_stops_talking_holds_up_nobody(tmp_path: Path) -> None:
    """H8-3: it has to wait when nobody reads so fast."""
    entries = {"loud": scripted_entry(MCP_MODE="talking"), "t": scripted_entry()}
    async with mcp_session(tmp_path, **entries) as session:
        before = resident_memory()
        for _ in range(20):
            assert await session.text("mcp__t__shout", s="hey") == "HEY!"
            assert await session.text("mcp__loud__shout", s="hey") == "HEY!"
        assert resident_memory() - before < 100 << 20


async def test_no_command_of_the_session_takes_a_server_for_its_own(tmp_path: Path) -> None:
    """H8-1: commands end with all processes that carry their mark."""
    pids = tmp_path / "pids"
    async with mcp_session(tmp_path, t=scripted_entry(MCP_PID=str(pids))) as session:
        server = int(pids.read_text())
        mark = f"{mark_of_this_process()}:{session.session_id}"
        assert not any(has_tag(server, f"{mark}:{number}") for number in range(3_000))
        assert not has_mark(server, f"{mark}:1")
        assert f":{session.session_id}:".encode() in marks_of(server), "but it belongs to the session"


PROGRAM = """
import asyncio, os, signal, sys
from pathlib import Path
from tests.kit.mcp_sessions import mcp_session, scripted_entry

async def main(folder):
    async with mcp_session(folder, t=scripted_entry(MCP_PID=str(folder / "pids"))) as session:
        (folder / "child").write_text(await session.text("mcp__t__child"))
        os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main(Path(sys.argv[1])))
"""


async def test_all_processes_of_a_server_end_when_the_session_is_killed(tmp_path: Path) -> None:
    """H8-1"""
    program = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    root = str(Path(__file__).parents[3])
    done = await asyncio.to_thread(subprocess.run, program, cwd=root, env={**os.environ, "PYTHONPATH": root})
    assert done.returncode == -signal.SIGKILL
    pids = [int((tmp_path / name).read_text()) for name in ("pids", "child")]
    await until(lambda: not any(is_alive(pid) for pid in pids))
