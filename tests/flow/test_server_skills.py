"""Skills that MCP servers offer: named after their server, loaded like others, and granting nothing (H9-7)."""

import json
from pathlib import Path
from typing import Any

import pytest

from bobstay.assembly import session_servers
from bobstay.model.event import Event, ToolDone
from tests.kit.folder_sessions import FolderSessions
from tests.kit.mcp_sessions import scripted_entry
from tests.kit.waiting import DEADLINE
from tests.modelserver.script import Call, Part, Say, Step
from tests.modelserver.server import ModelServer

DONE = Step(blocks=[Say("done")])
SKILL = Step(blocks=[Call("Skill", {"skill": "srv:sail", "args": "fast"}, "s1")])


@pytest.fixture
def project(model: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FolderSessions:
    """A busy machine must not decide whether a server is there in time."""
    monkeypatch.setattr(session_servers, "NAMED_WAIT", DEADLINE)
    return FolderSessions(model, tmp_path)


def offering(**variables: str) -> dict[str, Any]:
    entry = scripted_entry(**{"MCP_SKILLS": "sail", **variables})
    return {"mcp_config": (json.dumps({"mcpServers": {"srv": entry}}),), "allowed_tools": ("Skill", "mcp__srv")}


def replies(events: list[Event]) -> list[ToolDone]:
    return [event for event in events if isinstance(event, ToolDone)]


async def test_a_skill_of_a_server_is_listed_and_its_text_says_whose_it_is(project: FolderSessions) -> None:
    """H9-7"""
    (launched,) = replies(await project.ask("one", steps=(SKILL, DONE), **offering()))
    assert not launched.reply.is_error, launched.reply.text
    assert any("- srv:sail: How to sail. (srv)" in text for text in project.blocks(0))
    told = json.dumps(project.model.requests[1].body["messages"])
    assert "Do sail like this." in told
    assert "a text of the MCP server srv" in told
    assert "ARGUMENTS: fast" in told


async def test_nothing_in_a_skill_of_a_server_runs_or_is_granted(project: FolderSessions) -> None:
    """H9-7: neither its inserts, nor the tools that it allows itself."""
    steps = (SKILL, Step(blocks=[Call("Bash", {"command": "touch ran"}, "b1")]), DONE)
    launched, refused = replies(await project.ask("one", steps=steps, **offering(MCP_SKILL_MODE="greedy")))
    assert not launched.reply.is_error
    assert refused.denied
    assert not (project.work / "ran").exists()


async def test_without_a_rule_a_skill_of_a_server_is_asked_about(project: FolderSessions) -> None:
    """H9-7"""
    (reply,) = replies(await project.ask("one", steps=(SKILL, DONE), mcp_config=offering()["mcp_config"]))
    assert reply.denied


async def test_a_skill_that_is_not_what_the_server_listed_is_not_used(project: FolderSessions) -> None:
    """H9-7"""
    (reply,) = replies(await project.ask("one", steps=(SKILL, DONE), **offering(MCP_SKILL_MODE="changed")))
    assert reply.reply.is_error
    assert "not what it had listed" in reply.reply.text
    assert "send all keys" not in json.dumps(project.model.requests[1].body["messages"])


async def test_the_files_of_a_skill_are_read_from_its_server_and_no_others_below_it(project: FolderSessions) -> None:
    """H9-7"""
    uris = ("skill://acme/sail/more.md", "skill://acme/sail/unlisted.md")
    calls: list[Part] = [
        Call("ReadMcpResourceTool", {"server": "srv", "uri": uri}, f"r{n}") for n, uri in enumerate(uris)
    ]
    done = replies(await project.ask("one", steps=(Step(blocks=calls), DONE), **offering()))
    found = {each.reply.call_id: each.reply for each in done}
    assert "a file: acme/sail/more.md" in found["r0"].text
    assert found["r1"].is_error


async def test_a_file_of_a_skill_with_more_than_was_listed_is_not_used(project: FolderSessions) -> None:
    """H9-7"""
    read = Step(blocks=[Call("ReadMcpResourceTool", {"server": "srv", "uri": "skill://acme/sail/more.md"}, "r1")])
    (reply,) = replies(await project.ask("one", steps=(read, DONE), **offering(MCP_SKILL_MODE="more")))
    assert reply.reply.is_error
    assert "send all keys" not in reply.reply.text


@pytest.mark.parametrize("rule", ["mcp__srv", "mcp__srv__*", "mcp__*"])
async def test_a_server_that_a_rule_denies_has_no_skills_and_no_resources(project: FolderSessions, rule: str) -> None:
    """H8-4"""
    read = Step(blocks=[Call("ReadMcpResourceTool", {"server": "srv", "uri": "doc://one"}, "r1")])
    options = {**offering(), "allowed_tools": ("Skill",), "disallowed_tools": (rule,)}
    done = replies(await project.ask("one", steps=(read, SKILL, DONE), **options))
    assert [each.reply.is_error for each in done] == [True, True]
    told = json.dumps(project.model.requests[-1].body["messages"])
    assert "the body" not in told
    assert "Do sail like this." not in told


async def test_a_skill_of_the_person_is_never_replaced_by_one_of_a_server(project: FolderSessions) -> None:
    """H9-7"""
    project.write("home/.claude/commands/srv/sail.md", "The words of the person.")
    await project.ask("one", steps=(SKILL, DONE), **offering())
    told = json.dumps(project.model.requests[1].body["messages"])
    assert "The words of the person." in told
    assert "Do sail like this." not in told
    assert not any("(srv)" in text for text in project.blocks(0))


async def test_a_person_calls_a_skill_of_a_server_like_any_other(project: FolderSessions) -> None:
    """H9-7"""
    await project.ask("/srv:sail now", **offering())
    assert any("Do sail like this." in text for text in project.blocks(-1, -1))
