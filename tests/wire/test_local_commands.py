"""Built-in commands in print mode: answered without the model (H9-1, H9-2)."""

import json
import sys

import pytest

from tests.kit import scripted_mcp_server
from tests.kit.installed_command import InstalledCommand
from tests.kit.program import Frame, initialize, kind_of, prompt
from tests.modelserver import Call, ModelServer, Step
from tests.wire.flows import say

SERVER = {"command": sys.executable, "args": [scripted_mcp_server.__file__]}


def answer(command: InstalledCommand, text: str, *arguments: str) -> Frame:
    return command.frames(text, *arguments)[-1]


@pytest.mark.parametrize(
    ("typed", "name", "said"),
    [
        ("/help", "help", "/clear: begin a new conversation"),
        ("/status", "status", "Permission mode: default"),
        ("/config", "config", "Output style: default"),
        ("/mcp", "mcp", "There are no MCP servers."),
        ("/skills", "skills", "There are none."),
        ("/tasks", "tasks", "There are none."),
        ("/mode", "mode", "The permission mode is default."),
        ("/mode nonsense", "mode", "Unknown permission mode"),
        ("/mode bypassPermissions", "mode", "was not started with"),
        ("/plan", "plan", "Set permission mode to plan."),
    ],
)
def test_a_command_is_answered_without_the_model(
    model: ModelServer, command: InstalledCommand, typed: str, name: str, said: str
) -> None:
    done = answer(command, typed)
    assert (done["local_command"], done["num_turns"], done["is_error"]) == (name, 0, False)
    assert said in done["result"]
    assert model.requests == []


def test_what_needs_a_terminal_says_so(command: InstalledCommand) -> None:
    done = answer(command, "/theme")
    assert "not available in this environment" in done["result"]
    assert (done["num_turns"], done["is_error"]) == (0, False)


async def test_the_states_of_servers_are_shown(command: InstalledCommand, model: ModelServer) -> None:
    config = json.dumps({"mcpServers": {"srv": SERVER, "gone": {"command": "/does/not/exist"}}})
    program = await command.host("--mcp-config", config)
    try:
        program.send(prompt(model.play("a", say("One."))))
        await program.until("result")
        program.send(prompt("/mcp"))
        done = await program.until("result", 2)
        await program.end()
    finally:
        await program.kill()
    assert "srv: connected" in done["result"]
    assert "gone: " in done["result"]
    assert "gone: connected" not in done["result"]


async def test_plugins_are_read_again_and_hosts_are_told(command: InstalledCommand, model: ModelServer) -> None:
    command.write("plug/.claude-plugin/plugin.json", {"name": "plug"})
    program = await command.host("--trust", "--plugin-dir", str(command.folder / "plug"))
    try:
        program.send(initialize(), prompt("/reload-plugins"))
        await program.until("result")
        command.write("plug/commands/later.md", "LATER-BODY")
        command.write("work/.claude/agents/later.md", "---\nname: later\ndescription: LATER-AGENT\n---\nx")
        program.send(prompt("/reload-plugins"))
        await program.until("commands_changed")
        program.send(prompt("/plug:later " + model.play("a", say("One."))))
        await program.until("result", 3)
        await program.end()
    finally:
        await program.kill()
    (changed,) = [frame for frame in program.frames if kind_of(frame) == "commands_changed"]
    assert "plug:later" in [row["name"] for row in changed["commands"]]
    sent = str(model.requests[-1].body["messages"])
    assert "LATER-BODY" in sent
    assert "LATER-AGENT" in sent


async def test_hosts_are_told_of_skills_that_a_file_brings(command: InstalledCommand, model: ModelServer) -> None:
    command.write("work/sub/.claude/skills/nested/SKILL.md", "---\ndescription: d\n---\nx")
    command.write("work/sub/f.txt", "x")
    read = Step(blocks=[Call("Read", {"file_path": str(command.work / "sub/f.txt")}, "r1")])
    program = await command.host("--trust")
    try:
        program.send(prompt(model.play("a", read, say("One."))))
        await program.until("result")
        await program.end()
    finally:
        await program.kill()
    (changed,) = [frame for frame in program.frames if kind_of(frame) == "commands_changed"]
    assert "nested" in [row["name"] for row in changed["commands"]]
    (init,) = [frame for frame in program.frames if kind_of(frame) == "init"]
    assert "nested" not in init["slash_commands"]


async def test_servers_that_a_folder_without_trust_names_are_announced(
    command: InstalledCommand, model: ModelServer
) -> None:
    server = f"command: {sys.executable}, args: [{scripted_mcp_server.__file__}]"
    command.write(
        "work/.claude/agents/w.md", f"---\nname: w\ndescription: d\nmcpServers:\n  - own: {{{server}}}\n---\nW"
    )
    task = model.play("kid", say("Report."))
    given = {"description": "d", "prompt": task, "subagent_type": "w", "run_in_background": False}
    program = await command.host()
    try:
        program.send(prompt(model.play("a", Step(blocks=[Call("Agent", given, "a1")]), say("Done."))))
        done = await program.until("result")
        await program.end()
    finally:
        await program.kill()
    (told,) = [frame for frame in program.frames if kind_of(frame) == "notification"]
    assert told["key"] == "agent-mcp-blocked-w"
    assert "trust" in told["text"]
    stats = done["subagent_stats"]
    assert (stats["spawned"], stats["completed"], stats["failed"], stats["by_type"]) == (1, 1, 0, {"w": 1})
    assert stats["requested"] == {"background": 0, "foreground": 1, "unset": 0}


async def test_the_initial_prompt_of_the_sessions_agent_has_a_result_of_its_own(
    command: InstalledCommand, model: ModelServer
) -> None:
    first = model.play("initial", say("READY"))
    command.write("work/.claude/agents/w.md", f"---\nname: w\ndescription: d\ninitialPrompt: {first}\n---\nW")
    program = await command.host("--trust", "--agent", "w")
    try:
        program.send(prompt(model.play("a", say("One."))))
        await program.until("result", 2)
        await program.end()
    finally:
        await program.kill()
    assert [frame["result"] for frame in program.frames if frame["type"] == "result"] == ["READY", "One."]
    assert command.run("-p", model.play("b", say("Two.")), "--trust", "--agent", "w").stdout == "Two.\n"
