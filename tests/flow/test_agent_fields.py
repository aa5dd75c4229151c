"""Fields of agent files: servers, a memory, and what an agent says first (H7-2, H8-2)."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from bobstay.assembly import session_servers
from bobstay.model.agent_events import AgentEnded
from bobstay.model.event import Event, Noted, Prompted, RunDone
from tests.kit import scripted_mcp_server
from tests.kit.folder_sessions import FolderSessions
from tests.kit.processes import is_alive
from tests.kit.waiting import DEADLINE
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer

SERVER = f"command: {sys.executable}, args: [{scripted_mcp_server.__file__}]"
SHOUT = Step(blocks=[Call("mcp__own__shout", {"s": "hey"}, "m1")])
REPORT = Step(blocks=[Say("REPORT")])
DONE = Step(blocks=[Say("done")])


@pytest.fixture
def project(model: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FolderSessions:
    """A busy machine must not decide whether a server is there in time."""
    for name in ("FIRST_WAIT", "NAMED_WAIT"):
        monkeypatch.setattr(session_servers, name, DEADLINE)
    return FolderSessions(model, tmp_path)


def agent_file(*fields: str, body: str = "CHILD-SYSTEM") -> str:
    return "\n".join(("---", "name: w", "description: d", *fields, "---", body))


async def delegate(project: FolderSessions, *steps: Step, prompt: str = "one", **options: Any) -> list[Event]:
    """Let the model start the agent `w` in the foreground, which works through `steps`."""
    task = project.model.play("kid", *steps)
    call = Call("Agent", {"description": "d", "prompt": task, "subagent_type": "w", "run_in_background": False}, "a1")
    return await project.ask(prompt, steps=(Step(blocks=[call]), DONE), **options)


def of_child(project: FolderSessions) -> list[dict[str, Any]]:
    return [each.body for each in project.model.requests if "CHILD-SYSTEM" in str(each.body["system"])]


def names(body: dict[str, Any]) -> list[str]:
    return [tool["name"] for tool in body["tools"]]


# ---------------------------------------------------------------- servers


async def test_a_server_of_an_agent_file_is_there_for_that_agent_only(project: FolderSessions) -> None:
    project.write("work/.claude/agents/w.md", agent_file("tools: Read", "mcpServers:", f"  - own: {{{SERVER}}}"))
    await delegate(project, SHOUT, REPORT, allowed_tools=("mcp__own",))
    child = of_child(project)
    assert names(child[0])[0] == "Read"
    assert "mcp__own__shout" in names(child[0])
    assert "HEY!" in str(child[1]["messages"])
    others = [each.body for each in project.model.requests if each.body not in child]
    assert not any("mcp__own__shout" in names(body) for body in others)


async def test_its_server_ends_with_the_agent(project: FolderSessions) -> None:
    pids = project.folder / "pids"
    server = f"{SERVER}, env: {{MCP_PID: {pids}}}"
    project.write("work/.claude/agents/w.md", agent_file("mcpServers:", f"  - own: {{{server}}}"))
    running: list[bool] = []
    session = await project.open(model="claude-sonnet-4-5", trust=True)

    def look(_: object, event: Event) -> None:
        if isinstance(event, AgentEnded):
            running.extend(is_alive(int(pid)) for pid in pids.read_text().split())

    session.agents.listeners.append(look)
    task = project.model.play("kid", REPORT)
    call = Call("Agent", {"description": "d", "prompt": task, "subagent_type": "w", "run_in_background": False}, "a1")
    async for _ in session.run(project.model.play("main", Step(blocks=[call]), DONE)):
        pass
    await session.close()
    assert running == [False], "the process of its server is gone when the agent has ended"


async def test_a_known_server_is_named_and_needs_no_tool_list(project: FolderSessions) -> None:
    config = json.dumps({"mcpServers": {"known": {"command": sys.executable, "args": [scripted_mcp_server.__file__]}}})
    project.write("work/.claude/agents/w.md", agent_file("tools: Read", "mcpServers: [known]"))
    shout = Step(blocks=[Call("mcp__known__shout", {"s": "hey"}, "m1")])
    await delegate(project, shout, REPORT, mcp_config=(config,), allowed_tools=("mcp__known",))
    assert "HEY!" in str(of_child(project)[1]["messages"])


async def test_without_trust_no_server_is_started_and_the_person_is_told(project: FolderSessions) -> None:
    project.write("work/.claude/agents/w.md", agent_file("mcpServers:", f"  - own: {{{SERVER}}}"))
    events = await delegate(project, SHOUT, REPORT, trust=False, allowed_tools=("mcp__own",))
    assert "No such tool" in str(of_child(project)[1]["messages"])
    (note,) = [event for event in events if isinstance(event, Noted) and event.tag == "agent_mcp_blocked"]
    assert (note.subject, "trust" in note.text) == ("w", True)


async def test_a_server_that_does_not_start_leaves_the_agent_without_it(project: FolderSessions) -> None:
    project.write("work/.claude/agents/w.md", agent_file("mcpServers:", "  - own: {command: /does/not/exist}"))
    events = await delegate(project, REPORT)
    assert isinstance(events[-1], RunDone)
    assert events[-1].text == "done"
    assert any(isinstance(event, Noted) and "own is not connected" in event.text for event in events)


async def test_the_model_key_is_not_for_the_server_of_a_project(project: FolderSessions) -> None:
    server = f"{SERVER}, env: {{SCRIPTED_ECHO: '${{ANTHROPIC_API_KEY}}'}}"
    project.write("work/.claude/agents/w.md", agent_file("mcpServers:", f"  - own: {{{server}}}"))
    events = await delegate(project, REPORT)
    assert any(isinstance(event, Noted) and "model key" in event.text for event in events)


async def test_a_server_whose_script_was_rewritten_is_not_started(project: FolderSessions) -> None:
    script = project.write("work/server.py", Path(scripted_mcp_server.__file__).read_text())
    server = f"command: {sys.executable}, args: [server.py]"
    project.write("work/.claude/agents/w.md", agent_file("mcpServers:", f"  - own: {{{server}}}"))
    await delegate(project, SHOUT, REPORT, allowed_tools=("mcp__own",))
    assert "HEY!" in str(of_child(project)[1]["messages"])
    session = await project.open(model="claude-sonnet-4-5", trust=True, allowed_tools=("mcp__own",))
    script.write_text(script.read_text() + "\n# rewritten")
    task = project.model.play("kid2", SHOUT, REPORT)
    call = Call("Agent", {"description": "d", "prompt": task, "subagent_type": "w", "run_in_background": False}, "a1")
    prompt = project.model.play("main2", Step(blocks=[call]), DONE)
    events = [event async for event in session.run(prompt)]
    await session.close()
    assert "No such tool" in str(of_child(project)[-1]["messages"])
    assert any(isinstance(event, Noted) and "server.py was changed" in event.text for event in events)


async def test_a_plugin_cannot_bring_servers_with_its_agents(project: FolderSessions) -> None:
    project.write("plug/.claude-plugin/plugin.json", {"name": "plug"})
    project.write("plug/agents/w.md", agent_file("mcpServers:", f"  - own: {{{SERVER}}}"))
    task = project.model.play("kid", SHOUT, REPORT)
    given = {"description": "d", "prompt": task, "subagent_type": "plug:w", "run_in_background": False}
    await project.ask(
        "one",
        steps=(Step(blocks=[Call("Agent", given, "a1")]), DONE),
        plugin_dirs=(str(project.folder / "plug"),),
        allowed_tools=("mcp__own",),
    )
    assert "No such tool" in str(of_child(project)[1]["messages"])


# ---------------------------------------------------------------- memory


@pytest.mark.parametrize(
    ("scope", "folder"),
    [
        ("project", "work/.claude/agent-memory/w"),
        ("local", "work/.claude/agent-memory-local/w"),
        ("user", "home/.claude/agent-memory/w"),
    ],
)
async def test_an_agent_with_a_memory_is_told_its_folder_and_what_it_knows(
    project: FolderSessions, scope: str, folder: str
) -> None:
    project.write("work/.claude/agents/w.md", agent_file("tools: Bash", f"memory: {scope}"))
    await delegate(project, REPORT)
    path = project.folder / folder
    assert path.is_dir(), "it is made at once"
    (body,) = of_child(project)
    assert str(path) in str(body["system"])
    assert names(body) == ["Bash", "Read", "Write", "Edit"]
    (path / "MEMORY.md").write_text("KNOWN-BEFORE")
    await delegate(project, REPORT, prompt="two")
    assert "KNOWN-BEFORE" in str(of_child(project)[-1]["system"])


async def test_notes_are_written_where_edits_are_accepted_and_nothing_else_there_is(project: FolderSessions) -> None:
    project.write("work/.claude/agents/w.md", agent_file("memory: project"))
    folder = project.folder / "work/.claude/agent-memory/w"
    note = Call("Write", {"file_path": str(folder / "MEMORY.md"), "content": "LEARNT"}, "w1")
    script = Call("Write", {"file_path": str(folder / "run.sh"), "content": "x"}, "w2")
    other = Call("Write", {"file_path": str(folder.parent / "other.md"), "content": "x"}, "w3")
    steps = Step(blocks=[note]), Step(blocks=[script]), Step(blocks=[other]), REPORT
    await delegate(project, *steps, permission_mode="acceptEdits")
    assert (folder / "MEMORY.md").read_text() == "LEARNT"
    assert not (folder / "run.sh").exists()
    assert not (folder.parent / "other.md").exists()
    await delegate(project, Step(blocks=[Call("Write", {**note.input, "content": "NOT-ASKED"}, "w4")]), REPORT)
    assert (folder / "MEMORY.md").read_text() == "LEARNT", "in the default mode a person decides"


async def test_a_memory_that_leads_elsewhere_is_not_used(project: FolderSessions) -> None:
    project.write("work/.claude/agents/w.md", agent_file("memory: project"))
    project.write("elsewhere/MEMORY.md", "SECRET-NOTES")
    (project.folder / "work/.claude/agent-memory").mkdir()
    (project.folder / "work/.claude/agent-memory/w").symlink_to(project.folder / "elsewhere")
    await delegate(project, REPORT)
    assert "SECRET-NOTES" not in str(of_child(project)[0])
    assert any("leads elsewhere" in warning for warning in project.warnings)


async def test_the_agent_of_the_session_has_its_memory_too(project: FolderSessions) -> None:
    project.write("work/.claude/agents/w.md", agent_file("tools: Bash", "memory: project"))
    project.write("work/.claude/agent-memory/w/MEMORY.md", "KNOWN-BEFORE")
    await project.ask("one", agent="w")
    assert "KNOWN-BEFORE" in project.system()
    assert names(project.model.requests[-1].body) == ["Bash", "Read", "Write", "Edit"]


async def test_without_trust_an_agent_has_no_memory(project: FolderSessions) -> None:
    project.write("work/.claude/agents/w.md", agent_file("memory: project"))
    project.write("work/.claude/agent-memory/w/MEMORY.md", "PLANTED")
    await delegate(project, REPORT, trust=False)
    assert "PLANTED" not in str(of_child(project)[0])


# ---------------------------------------------------------------- the first turn


async def test_the_initial_prompt_is_a_turn_of_its_own_before_the_first_prompt(project: FolderSessions) -> None:
    first = project.model.play("initial", Step(blocks=[Say("READY")]))
    project.write("work/.claude/agents/w.md", agent_file(f"initialPrompt: LOOK-AROUND {first}"))
    events = await project.ask("one", "two", agent="w")
    prompts = [event for event in events if isinstance(event, Prompted) and event.origin == "human"]
    assert ["LOOK-AROUND" in str(each.blocks) for each in prompts] == [True, False, False]
    assert [event.text for event in events if isinstance(event, RunDone)] == ["READY", "ok", "ok"]
    assert "READY" in str(project.model.requests[1].body["messages"])


async def test_a_resumed_session_and_a_sub_agent_have_no_initial_prompt(project: FolderSessions) -> None:
    project.write("work/.claude/agents/w.md", agent_file("initialPrompt: LOOK-AROUND"))
    await delegate(project, REPORT)
    assert not any("LOOK-AROUND" in str(each.body["messages"]) for each in project.model.requests)
    session = await project.open(model="claude-sonnet-4-5", trust=True)
    async for _ in session.run(project.model.play("b", DONE)):
        pass
    await session.close()
    await project.ask("again", agent="w", resume=session.id)
    assert not any("LOOK-AROUND" in str(each.body["messages"]) for each in project.model.requests)


async def test_an_agent_is_told_of_the_skills_and_calls_them_with_its_own_permissions(project: FolderSessions) -> None:
    """H9-4"""
    project.write("work/.claude/skills/lore/SKILL.md", "---\ndescription: Old lore\n---\nMK-LORE is the word.")
    project.write("work/.claude/agents/w.md", agent_file())
    await delegate(project, Step(blocks=[Call("Skill", {"skill": "lore"}, "k1")]), REPORT)
    first, second = of_child(project)[:2]
    assert "lore: Old lore" in str(first["messages"])
    assert "MK-LORE is the word." in str(second["messages"])


async def test_an_agent_without_the_tool_is_not_told_of_skills(project: FolderSessions) -> None:
    project.write("work/.claude/skills/lore/SKILL.md", "---\ndescription: Old lore\n---\nMK-LORE is the word.")
    project.write("work/.claude/agents/w.md", agent_file("tools: Read"))
    await delegate(project, REPORT)
    assert "Old lore" not in str(of_child(project)[0]["messages"])
