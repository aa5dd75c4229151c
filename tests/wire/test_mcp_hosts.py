"""MCP servers and the host of a session over the wire: questions, permissions, lists that change (H8-3, H8-4)."""

import json
from typing import Any

import pytest

from tests.kit.installed_command import InstalledCommand
from tests.kit.mcp_sessions import scripted_entry
from tests.kit.program import Frame, Program, initialize, prompt
from tests.modelserver.script import Call, Step
from tests.wire.flows import say

ALLOWED = ("--allowedTools", "mcp__srv")


def configured(**variables: str) -> tuple[str, str]:
    return ("--mcp-config", json.dumps({"mcpServers": {"srv": scripted_entry(**variables)}}))


def calling(command: InstalledCommand, *calls: Call) -> Frame:
    steps = (*(Step(blocks=[call]) for call in calls), say("Done."))
    return prompt(command.model.play("calls", *steps))


def tool(name: str, identity: str = "c1", **given: Any) -> Call:
    return Call(f"mcp__srv__{name}", given, identity)


def results(command: InstalledCommand) -> list[str]:
    """What the model read as results of its calls, in order."""
    found: list[str] = []
    for message in command.model.requests[-1].body["messages"]:
        for block in message["content"] if isinstance(message["content"], list) else ():
            if block["type"] == "tool_result":
                found.append(json.dumps(block["content"]))
    return found


class Host:
    """Answers the requests of one kind, and remembers them."""

    def __init__(self, subtype: str, answer: dict[str, Any] | None) -> None:
        self.asked: list[dict[str, Any]] = []
        self._subtype = subtype
        self._answer = answer

    def __call__(self, request: Frame) -> Frame | None:
        if request["subtype"] != self._subtype:
            return {}
        self.asked.append(request)
        return self._answer


async def work(program: Program, *frames: Frame) -> None:
    try:
        program.send(initialize(), *frames)
        await program.until("result", 1)
        assert await program.end() == 0
    finally:
        await program.kill()


@pytest.mark.parametrize(
    ("answer", "heard"),
    [
        ({"action": "accept", "content": {"name": "Ada"}}, '{"action": "accept", "content": {"name": "Ada"}}'),
        ({"action": "decline"}, '{"action": "decline"}'),
        ({"action": "cancel"}, '{"action": "cancel"}'),
        ({}, '{"action": "cancel"}'),
        ({"action": ["accept"]}, '{"action": "cancel"}'),
    ],
)
async def test_a_host_answers_the_question_of_a_server(
    command: InstalledCommand, answer: dict[str, Any], heard: str
) -> None:
    """H8-4"""
    host = Host("elicitation", answer)
    program = await command.host(*configured(), *ALLOWED, answer=host)
    await work(program, calling(command, tool("ask")))
    (question,) = host.asked
    assert question == {
        "subtype": "elicitation",
        "mcp_server_name": "srv",
        "message": "Your name?",
        "mode": "form",
        "requested_schema": {"type": "object", "properties": {"name": {"type": "string"}}},
        "property_order": ["name"],
    }
    assert json.dumps(heard)[1:-1] in results(command)[0]


async def test_without_a_host_a_question_is_cancelled(command: InstalledCommand) -> None:
    """H8-4"""
    token = command.model.play("calls", Step(blocks=[tool("ask")]), say("Done."))
    ended = command.run("-p", token, *configured(), *ALLOWED)
    assert ended.returncode == 0, ended.stderr
    assert "cancel" in results(command)[0]


async def test_a_host_learns_whose_tool_it_is_asked_about(command: InstalledCommand) -> None:
    """H8-4"""
    host = Host("can_use_tool", {"behavior": "allow"})
    program = await command.host(*configured(), "--permission-prompt-tool", "stdio", answer=host)
    await work(program, calling(command, tool("shout", s="hey"), Call("Bash", {"command": "touch made"}, "b1")))
    assert [asked.get("mcp_server") for asked in host.asked] == [{"name": "srv", "source": "dynamic"}, None]
    assert "HEY!" in results(command)[0]


async def test_a_hook_learns_whose_tool_it_is_asked_about(command: InstalledCommand) -> None:
    """H8-4"""
    seen = command.work / "seen.json"
    deny = '{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny"}}}'
    hook = {"type": "command", "command": f"cat > {seen}; echo '{deny}'"}
    settings = json.dumps({"hooks": {"PermissionRequest": [{"hooks": [hook]}]}})
    token = command.model.play("calls", Step(blocks=[tool("shout", s="hey")]), say("Done."))
    ended = command.run("-p", token, *configured(), "--settings", settings)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(seen.read_text())["mcp_server"] == {"name": "srv", "source": "dynamic"}
    assert "HEY!" not in results(command)[0]


@pytest.mark.parametrize(
    ("decision", "made", "why"),
    [
        ({"behavior": "allow", "updatedInput": {"command": "touch changed"}}, "changed", ""),
        ({"behavior": "allow"}, "asked", ""),
        ({"behavior": "deny", "message": "not on a Sunday"}, "", "not on a Sunday"),
        ({"behavior": "perhaps"}, "", "unknown behavior"),
        ("no JSON at all", "", "gave no valid answer"),
        ("[1]", "", "gave no valid answer"),
        ("die", "", "ended"),
    ],
)
def test_a_tool_of_a_server_may_answer_permission_requests(
    command: InstalledCommand, decision: Any, made: str, why: str
) -> None:
    """H8-4"""
    text = decision if isinstance(decision, str) else json.dumps(decision)
    steps = (Step(blocks=[Call("Bash", {"command": "touch asked"}, "b1")]), say("Done."))
    ended = command.run(
        *("-p", command.model.play("calls", *steps), *configured(MCP_DECISION=text)),
        *("--permission-prompt-tool", "mcp__srv__decide"),
    )
    assert ended.returncode == 0, ended.stderr
    assert [name for name in ("asked", "changed") if (command.work / name).exists()] == ([made] if made else [])
    assert why in results(command)[0]


def test_a_permission_tool_that_does_not_exist_allows_nothing(command: InstalledCommand) -> None:
    """H8-4"""
    steps = (Step(blocks=[Call("Bash", {"command": "touch asked"}, "b1")]), say("Done."))
    ended = command.run(
        "-p", command.model.play("calls", *steps), *configured(), "--permission-prompt-tool", "mcp__srv__nosuch"
    )
    assert ended.returncode == 0, ended.stderr
    assert not (command.work / "asked").exists()
    assert "There is no MCP tool" in results(command)[0]


@pytest.mark.parametrize(
    ("answer", "heard"), [({"action": "accept"}, "(no scenario)"), ({"action": "decline"}, "refused"), ({}, "refused")]
)
async def test_a_server_uses_the_model_only_after_the_person_agreed(
    command: InstalledCommand, answer: dict[str, Any], heard: str
) -> None:
    """H8-4"""
    host = Host("elicitation", answer)
    program = await command.host(*configured(), *ALLOWED, answer=host)
    await work(program, calling(command, tool("sample")))
    (question,) = host.asked
    assert "wants to use the model" in question["message"]
    assert "hi" in question["message"]
    assert heard in results(command)[0]


async def test_new_tools_of_a_server_are_in_the_next_request(command: InstalledCommand) -> None:
    """H8-3"""
    program = await command.host(*configured(), *ALLOWED)
    await work(program, calling(command, tool("more"), tool("shout", "c2", s="a"), tool("extra0", "c3")))
    assert "called <extra0>" in results(command)[-1]


async def test_roots_progress_and_a_server_that_dies_reach_the_host_and_the_model(command: InstalledCommand) -> None:
    """H8-3, H8-4"""
    program = await command.host(*configured(), *ALLOWED)
    calls = (
        tool("roots"),
        tool("progress", "c2"),
        tool("die", "c3"),
        tool("shout", "c4", s="again"),
        tool("a__b", "c5"),
    )
    await work(program, calling(command, *calls))
    roots, progress, died, again, odd = results(command)
    assert f"file://{command.work}" in roots
    assert "called <progress>" in progress
    assert "I was asked to die" in died
    assert "AGAIN!" in again, "it is started again for the next call"
    assert "called <a__b>" in odd
