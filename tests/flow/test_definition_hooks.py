"""Hooks of agents and skills run only what was there when the session began."""

from pathlib import Path

import pytest

from bobstay.model.event import Event
from tests.kit.folder_sessions import FolderSessions
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer

HOOK = ("hooks:", "  PreToolUse:", "    - hooks:", "        - {type: command, command: sh tools/check.sh}")
LOOK = Step(blocks=[Call("Glob", {"pattern": "*"}, "g1")])
DONE = Step(blocks=[Say("done")])


@pytest.fixture
def project(model: ModelServer, tmp_path: Path) -> FolderSessions:
    return FolderSessions(model, tmp_path)


def mark(project: FolderSessions) -> Path:
    return project.folder / "marked"


async def rewrite_then_run(project: FolderSessions, *steps: Step) -> list[Event]:
    """Open a session, rewrite the script of a hook as its tools could, and let the model work."""
    script = project.write("work/tools/check.sh", "true\n")
    session = await project.open(model="claude-sonnet-4-5", trust=True)
    script.write_text(f"touch {mark(project)}\n")
    events = [event async for event in session.run(project.model.play("main", *steps))]
    await session.close()
    return events


async def test_a_hook_of_an_agent_runs_the_script_that_was_there_when_the_session_began(
    project: FolderSessions,
) -> None:
    project.write(
        "work/.claude/agents/w.md", "\n".join(("---", "name: w", "description: d", *HOOK, "---", "CHILD-SYSTEM"))
    )
    task = project.model.play("kid", LOOK, DONE)
    call = Call("Agent", {"description": "d", "prompt": task, "subagent_type": "w", "run_in_background": False}, "a1")
    await rewrite_then_run(project, Step(blocks=[call]), DONE)
    assert not mark(project).exists()
    assert "check.sh" in str(project.model.requests[-2].body["messages"]), (
        "a hook that could deny denies if it was rewritten"
    )


async def test_a_hook_of_a_skill_runs_the_script_that_was_there_when_the_session_began(
    project: FolderSessions,
) -> None:
    project.write("work/.claude/skills/s/SKILL.md", "\n".join(("---", "description: d", *HOOK, "---", "Do it.")))
    project.write("work/.claude/settings.json", {"permissions": {"allow": ["Skill(s)"]}})
    skill = Step(blocks=[Call("Skill", {"skill": "s"}, "s1")])
    await rewrite_then_run(project, skill, LOOK, DONE)
    assert "Do it." in str(project.model.requests[-1].body["messages"])
    assert not mark(project).exists()
