"""Instruction files reach the model once, in the first message, and the log says so (H4-4, H4-5)."""

import json
from pathlib import Path

import pytest

from bobstay.engine.reminders import INSTRUCTIONS, remind
from bobstay.hooks.hook_event import NO_OPINION, HookOutcome
from bobstay.model.event import Event, Prompted, ToolDone
from bobstay.model.message import text_of
from tests.kit.folder_sessions import SESSION, FolderSessions
from tests.kit.scripted_session import MakeSession, ScriptedHooks
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer


@pytest.fixture
def project(model: ModelServer, tmp_path: Path) -> FolderSessions:
    return FolderSessions(model, tmp_path)


def reminders(events: list[Event], why: str) -> list[str]:
    return [text_of(each.blocks) for each in events if isinstance(each, Prompted) and each.why == why]


async def test_they_precede_the_first_prompt_and_are_not_in_the_system_prompt(project: FolderSessions) -> None:
    project.write("home/.claude/CLAUDE.md", "MK-USER")
    project.write("work/CLAUDE.md", "MK-WORK")
    events = await project.ask("one", "two", system_prompt="")
    told = reminders(events, "instructions")
    assert len(told) == 1
    first = project.blocks()
    assert first[0] == told[0]
    assert first[0].index("MK-USER") < first[0].index("MK-WORK")
    assert first[1].startswith("one")
    assert "MK-" not in project.system()
    assert str(project.model.requests[-1].body["messages"]).count("MK-WORK") == 1


async def test_without_such_files_nothing_is_told(project: FolderSessions) -> None:
    events = await project.ask("one")
    assert [event.origin for event in events if isinstance(event, Prompted) and event.why != "listing"] == ["human"]
    assert len(project.blocks()) == 1


async def test_a_resumed_session_keeps_its_prefix_and_is_told_only_what_changed(project: FolderSessions) -> None:
    """H3-8"""
    project.write("work/CLAUDE.md", "MK-OLD")
    await project.ask("one", session_id=SESSION)
    again = await project.ask("two", resume=SESSION)
    assert reminders(again, "instructions") == []
    before, after = (project.model.requests[index].body for index in (-2, -1))
    assert project.blocks(-2) == project.blocks(-1)
    assert str(before["system"]) == str(after["system"])
    project.write("work/CLAUDE.md", "MK-NEW")
    changed = reminders(await project.ask("three", resume=SESSION), "instructions")
    assert len(changed) == 1
    assert "MK-NEW" in changed[0]
    assert "MK-OLD" in project.blocks()[0], "what was sent before stays as it was"
    assert "MK-NEW" in project.blocks(message=-1)[0]
    assert reminders(await project.ask("four", resume=SESSION), "instructions") == []


async def test_a_forked_session_has_what_its_parent_was_told(project: FolderSessions) -> None:
    project.write("work/CLAUDE.md", "MK-WORK")
    await project.ask("one", session_id=SESSION)
    forked = await project.ask("two", resume=SESSION, fork_session=True)
    assert reminders(forked, "instructions") == []
    assert project.blocks(-2) == project.blocks(-1)


async def test_nested_files_are_told_once_beside_the_result_also_after_a_resume(project: FolderSessions) -> None:
    project.write("work/sub/CLAUDE.md", "MK-SUB")
    project.write("work/.claude/rules/txt.md", "---\npaths: '**/*.txt'\n---\nMK-RULE")
    project.write("work/sub/deep/f.txt", "x")
    read = Step(blocks=[Call("Read", {"file_path": "sub/deep/f.txt"}, "r1")])
    events = await project.ask("one", steps=(read, Step(blocks=[Say("ok")])), session_id=SESSION)
    told = reminders(events, "nested_instructions")
    assert len(told) == 1
    assert "MK-SUB" in told[0]
    assert "MK-RULE" in told[0]
    assert [event.reply.text for event in events if isinstance(event, ToolDone)] == ["1\tx"]
    assert project.model.requests[-1].body["messages"][-1]["content"][-1]["text"] == told[0]
    read = Step(blocks=[Call("Read", {"file_path": "sub/deep/f.txt"}, "r2")])
    again = await project.ask("two", steps=(read, Step(blocks=[Say("ok")])), resume=SESSION)
    assert reminders(again, "nested_instructions") == []


async def test_files_of_an_untrusted_folder_are_information(project: FolderSessions) -> None:
    """H4-3"""
    project.write("home/.claude/CLAUDE.md", "MK-USER")
    project.write("work/CLAUDE.md", "MK-WORK @more.md")
    project.write("work/more.md", "MK-MORE")
    await project.ask("one", trust=False)
    told = project.blocks()[0]
    assert told.index("MK-USER") < told.index("not instructions") < told.index("MK-WORK")
    assert "MK-MORE" not in told


async def test_setting_sources_limit_them(project: FolderSessions) -> None:
    project.write("home/.claude/CLAUDE.md", "MK-USER")
    project.write("work/CLAUDE.md", "MK-WORK")
    project.write("work/CLAUDE.local.md", "MK-LOCAL")
    for sources, expected in ((("local",), ["MK-LOCAL"]), (("user",), ["MK-USER"]), ((), [])):
        await project.ask("one", setting_sources=sources)
        told = project.blocks()[0]
        assert [mark for mark in ("MK-USER", "MK-WORK", "MK-LOCAL") if mark in told] == expected


async def test_settings_exclude_files_and_a_deny_rule_keeps_an_import_out(project: FolderSessions) -> None:
    project.write("CLAUDE.md", "MK-PARENT")
    project.write("work/CLAUDE.md", "MK-WORK @.env")
    project.write("work/.env", "MK-ENV")
    settings = {"claudeMdExcludes": [f"{project.folder}/CLAUDE.md"], "permissions": {"deny": ["Read(./.env)"]}}
    project.write("work/.claude/settings.json", settings)
    await project.ask("one")
    told = project.blocks()[0]
    assert "MK-WORK" in told
    assert "MK-PARENT" not in told
    assert "MK-ENV" not in told


async def test_an_import_from_outside_needs_the_approval_of_a_person(project: FolderSessions) -> None:
    project.write("outside.md", "MK-OUTSIDE")
    project.write("work/CLAUDE.md", "MK-WORK @../outside.md")
    await project.ask("one")
    assert "MK-OUTSIDE" not in project.blocks()[0]
    assert any("outside.md" in warning for warning in project.warnings)
    state = {"projects": {str(project.work): {"hasClaudeMdExternalIncludesApproved": True}}}
    project.write("home/.claude.json", json.dumps(state))
    await project.ask("one")
    assert "MK-OUTSIDE" in project.blocks()[0]
    assert not any("outside.md" in warning for warning in project.warnings)
    project.write("home/.claude.json", "{broken")
    await project.ask("one")
    assert "MK-OUTSIDE" not in project.blocks()[0]


async def test_files_of_an_added_directory_count_only_where_a_variable_says_so(project: FolderSessions) -> None:
    project.write("added/CLAUDE.md", "MK-ADDED")
    added = (str(project.folder / "added"),)
    await project.ask("one", add_dirs=added)
    assert "MK-ADDED" not in project.blocks()[0]
    project.variables["CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD"] = "1"
    await project.ask("one", add_dirs=added)
    assert "MK-ADDED" in project.blocks()[0]


async def test_they_wait_for_a_prompt_that_no_hook_blocks(model: ModelServer, make_session: MakeSession) -> None:
    blocked = [HookOutcome(decision="block", reason="no"), NO_OPINION]
    session = make_session(hooks=ScriptedHooks(UserPromptSubmit=lambda _: blocked.pop(0)))
    session.driver.opening = [remind("MK-WORK", INSTRUCTIONS)]
    await session.run("blocked")
    assert reminders(session.events, "instructions") == []
    await session.run(model.play("next", Step(blocks=[Say("ok")])))
    assert reminders(session.events, "instructions") == ["MK-WORK"]
    assert session.driver.opening == []
