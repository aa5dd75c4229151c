"""Deferred tools in a session: found by name and by words, called, and known again after a resume (H1-5, H1-6)."""

import json
from pathlib import Path
from typing import Any

import pytest

from bobstay.assembly import session_servers
from bobstay.model.event import Event, ToolDone
from tests.kit.folder_sessions import SESSION, FolderSessions
from tests.kit.mcp_sessions import scripted_entry
from tests.kit.waiting import DEADLINE
from tests.modelserver.script import Call, Part, Say, Step
from tests.modelserver.server import ModelServer

SHOUT = "mcp__srv__shout"
CONFIG = json.dumps({"mcpServers": {"srv": scripted_entry()}})
OPTIONS: dict[str, Any] = {"mcp_config": (CONFIG,), "allowed_tools": ("mcp__srv",)}
DONE = Step(blocks=[Say("done")])


@pytest.fixture
def project(model: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FolderSessions:
    """A busy machine must not decide whether a server is there in time."""
    monkeypatch.setattr(session_servers, "NAMED_WAIT", DEADLINE)
    found = FolderSessions(model, tmp_path)
    found.variables["ENABLE_TOOL_SEARCH"] = "true"
    return found


def search(query: str, **more: Any) -> Step:
    return Step(blocks=[Call("ToolSearch", {"query": query, **more}, "s1")])


def replies(events: list[Event]) -> list[ToolDone]:
    return [event for event in events if isinstance(event, ToolDone)]


def sent(project: FolderSessions, request: int) -> dict[str, bool]:
    """The tools of servers in a request, and whether they are deferred."""
    tools = project.model.requests[request].body["tools"]
    return {tool["name"]: tool.get("defer_loading", False) for tool in tools if tool["name"].startswith("mcp__")}


async def test_a_tool_is_named_first_found_and_then_called(project: FolderSessions) -> None:
    """H1-6"""
    steps = (search(f"select:{SHOUT}"), Step(blocks=[Call(SHOUT, {"s": "hey"}, "c1")]), DONE)
    found, called = replies(await project.ask("one", steps=steps, **OPTIONS))
    assert found.reply.loads == (SHOUT,)
    assert called.reply.text == "HEY!"
    assert sent(project, 0) == {}
    assert any(SHOUT in text for text in project.blocks(0)), "the names are told"
    assert sent(project, 1) == {SHOUT: True}
    result = project.model.requests[1].body["messages"][-1]["content"][0]
    assert result["content"] == [{"type": "tool_reference", "tool_name": SHOUT}]
    assert project.model.refused == []


async def test_loading_a_tool_changes_nothing_of_what_the_server_has_cached(project: FolderSessions) -> None:
    """H1-5"""
    await project.ask("one", steps=(search(f"select:{SHOUT}"), DONE), **OPTIONS)
    first, second = (request.raw for request in project.model.requests[:2])
    prefix = first[: first.index(b'"cache_control"')]
    assert second.startswith(prefix)
    assert b"ToolSearch" in prefix


@pytest.mark.parametrize(
    ("query", "found"),
    [("repeats loudly", SHOUT), ("+shout text", SHOUT), ("+nowhere shout", ""), ("select:mcp__srv__nosuch", "")],
)
async def test_a_tool_is_found_by_words_and_by_those_it_must_have(
    project: FolderSessions, query: str, found: str
) -> None:
    """H1-6"""
    (reply,) = replies(await project.ask("one", steps=(search(query, max_results=1), DONE), **OPTIONS))
    assert reply.reply.loads == ((found,) if found else ())
    assert not reply.reply.is_error
    assert found or "No matching" in reply.reply.text
    assert sent(project, 1) == ({found: True} if found else {})


async def test_a_tool_that_was_not_loaded_runs_and_its_errors_carry_the_schema(project: FolderSessions) -> None:
    """H1-6"""
    calls: list[Part] = [Call(SHOUT, {"s": "hey"}, "c1"), Call(SHOUT, {"s": {"no": "text"}}, "c2")]
    good, bad = replies(await project.ask("one", steps=(Step(blocks=calls), DONE), **OPTIONS))
    assert good.reply.text == "HEY!"
    assert bad.reply.is_error
    assert '"properties":{"s":' in bad.reply.text


async def test_a_resumed_session_sends_what_it_had_found(project: FolderSessions) -> None:
    """H1-6"""
    steps = (search(f"select:{SHOUT}"), DONE)
    await project.ask("one", steps=steps, session_id=SESSION, **OPTIONS)
    await project.ask("two", resume=SESSION, **OPTIONS)
    assert sent(project, -1) == {SHOUT: True}
    assert project.model.refused == []


async def test_other_vendors_get_the_schema_beside_the_other_tools(project: FolderSessions) -> None:
    """H1-6"""
    project.variables |= {"OPENROUTER_API_KEY": "k", "OPENROUTER_BASE_URL": f"{project.model.url}/openrouter/api/v1"}
    steps = (search(f"select:{SHOUT}"), DONE)
    await project.ask("one", steps=steps, model="openrouter/google/gemini-3-pro", **OPTIONS)
    names = [json.dumps(tool) for tool in project.model.requests[-1].body["tools"]]
    assert sum(SHOUT in name for name in names) == 1
    assert "tool_reference" not in project.model.requests[-1].raw.decode()


async def test_a_server_without_its_tools_makes_no_request_fail(project: FolderSessions) -> None:
    """H1-6: the tool that a result refers to is gone, because its server is."""
    steps = (search(f"select:{SHOUT}"), DONE)
    await project.ask("one", steps=steps, session_id=SESSION, **OPTIONS)
    await project.ask("two", resume=SESSION)
    assert project.model.refused == []
    assert "tool_reference" not in project.model.requests[-1].raw.decode()


async def test_what_a_sub_agent_finds_is_its_own(project: FolderSessions) -> None:
    """H1-6"""
    inner = project.model.play("inner", search(f"select:{SHOUT}"), Step(blocks=[Call(SHOUT, {"s": "in"}, "c1")]), DONE)
    given = {"description": "d", "prompt": inner, "run_in_background": False}
    steps = (Step(blocks=[Call("Agent", given, "a1")]), DONE)
    await project.ask("one", steps=steps, **OPTIONS)
    found = [sent(project, number) for number in range(len(project.model.requests))]
    assert found == [{}, {}, {SHOUT: True}, {SHOUT: True}, {}]
    assert project.model.refused == []
