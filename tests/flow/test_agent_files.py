"""Agents that people define in files: as the session's own agent, with worktrees, hooks, skills, modes and limits."""

import json
from pathlib import Path

import pytest

from bobstay.assembly.build_session import StartError
from bobstay.assembly.session import AgentSession
from bobstay.model.agent_events import AgentEnded, AgentStarted
from tests.kit.agent_sessions import OpenSession, Person, agent_call, events_of, replies, run
from tests.kit.repositories import git, repository
from tests.modelserver.script import Call, Part, Say, Step
from tests.modelserver.server import ModelServer

WRITE = Step(blocks=[Call("Write", {"file_path": "b.txt", "content": "b\n"}, "w")])
DONE = Step(blocks=[Say("Done.")])


@pytest.fixture
def work(tmp_path: Path, embedded: None) -> Path:
    return tmp_path / "work"


def define(work: Path, name: str, body: str = "You are careful.", **fields: object) -> None:
    file = work / ".claude" / "agents" / f"{name}.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = [f"{key}: {json.dumps(value)}" for key, value in {"name": name, "description": "d", **fields}.items()]
    file.write_text("\n".join(("---", *lines, "---", body)))


async def use(model: ModelServer, session: AgentSession, /, *steps: Step, **more: str) -> None:
    """Let an agent of the type `careful` do these steps while its parent waits."""
    call = agent_call(model.play("child", *steps), "a1", subagent_type="careful", run_in_background=False, **more)
    await run(session, model.play("parent", Step(blocks=[call]), DONE))


# ---------------------------------------------------------------- the session's own agent


async def test_a_session_may_be_an_agent_of_a_file(model: ModelServer, opened: OpenSession, work: Path) -> None:
    define(work, "careful", tools="Read, Grep", model="claude-haiku-4-5")
    session = await opened(agent="Careful", model=None)
    await run(session, model.play("parent", DONE))
    (asked,) = model.requests
    assert asked.body["model"] == "claude-haiku-4-5"
    assert [tool["name"] for tool in asked.body["tools"]] == ["Read", "Grep"]
    assert "You are careful." in str(asked.body["system"])
    assert "How you work" not in str(asked.body["system"])


async def test_a_setting_names_the_agent_and_the_command_line_another(
    model: ModelServer, opened: OpenSession, work: Path
) -> None:
    define(work, "careful")
    define(work, "bold", "You are bold.")
    (work / ".claude" / "settings.json").write_text('{"agent": "careful"}')
    await run(await opened(), model.play("one", DONE))
    await run(await opened(agent="bold"), model.play("two", DONE))
    by_setting, by_flag = (str(each.body["system"]) for each in model.requests)
    assert "You are careful." in by_setting
    assert "You are bold." in by_flag
    assert "You are careful." not in by_flag


async def test_a_session_with_an_unknown_agent_does_not_start_and_names_the_known_ones(
    opened: OpenSession, work: Path
) -> None:
    define(work, "careful")
    with pytest.raises(StartError, match=r"no agent 'nobody'.*careful"):
        await opened(agent="nobody")


# ---------------------------------------------------------------- worktrees


async def test_a_worktree_with_changes_is_kept_on_a_branch_of_its_own(
    model: ModelServer, opened: OpenSession, work: Path
) -> None:
    """H7-6"""
    define(work, "careful", isolation="worktree")
    repository(work)
    session = await opened(permission_mode="acceptEdits")
    await use(model, session, WRITE, DONE)
    (started,) = events_of(session, AgentStarted)
    (ended,) = events_of(session, AgentEnded)
    tree = Path(started.worktree)
    assert ended.worktree == str(tree)
    assert (tree / "b.txt").read_text() == "b\n"
    assert not (work / "b.txt").exists()
    assert work not in tree.parents, "never inside the checked-out tree"
    assert started.branch == f"worktree-agent-{started.id}"
    assert git(tree, "branch", "--show-current").strip() == started.branch
    assert started.branch in replies(session)["a1"]


async def test_a_worktree_without_changes_is_removed_with_its_branch(
    model: ModelServer, opened: OpenSession, work: Path
) -> None:
    """H7-6"""
    define(work, "careful")
    repository(work)
    session = await opened()
    await use(model, session, Step(blocks=[Call("Read", {"file_path": "readme"}, "r")]), DONE, isolation="worktree")
    (started,) = events_of(session, AgentStarted)
    (ended,) = events_of(session, AgentEnded)
    assert started.worktree
    assert ended.worktree == ""
    assert not Path(started.worktree).exists()
    assert git(work, "branch", "--list", "--format=%(refname:short)").split() == ["main"]


async def test_folder_and_branches_of_worktrees_are_settings(
    model: ModelServer, opened: OpenSession, work: Path, tmp_path: Path
) -> None:
    """H7-6"""
    define(work, "careful")
    settings = {"worktree": {"folder": str(tmp_path / "trees"), "branchPrefix": "bot/"}}
    (work / ".claude" / "settings.json").write_text(json.dumps(settings))
    repository(work)
    session = await opened(permission_mode="acceptEdits")
    await use(model, session, WRITE, DONE, isolation="worktree")
    (started,) = events_of(session, AgentStarted)
    assert Path(started.worktree).parent == tmp_path / "trees"
    assert started.branch == f"bot/agent-{started.id}"


async def test_an_agent_that_gets_no_worktree_does_not_start(
    model: ModelServer, opened: OpenSession, work: Path
) -> None:
    """H7-6: there is no repository."""
    define(work, "careful")
    session = await opened()
    await use(model, session, DONE, isolation="worktree")
    assert "The agent gets no worktree of its own" in replies(session)["a1"]
    assert events_of(session, AgentStarted) == []


# ---------------------------------------------------------------- hooks and skills


async def test_hooks_of_an_agent_file_run_for_it_alone_and_its_stop_is_that_of_a_sub_agent(
    model: ModelServer, opened: OpenSession, work: Path, tmp_path: Path
) -> None:
    note = tmp_path / "noted"
    command = {"type": "command", "command": f"cat >> {note}; echo >> {note}"}
    hooks = {"PreToolUse": [{"matcher": "Read", "hooks": [command]}], "Stop": [{"hooks": [command]}]}
    define(work, "careful", hooks=hooks)
    session = await opened()
    read = Step(blocks=[Call("Read", {"file_path": "a.txt"}, "own")])
    await run(session, model.play("before", read, DONE))
    await use(model, session, Step(blocks=[Call("Read", {"file_path": "a.txt"}, "r")]), DONE)
    await run(session, model.play("after", read, DONE))
    noted = [json.loads(line) for line in note.read_text().splitlines() if line]
    (started,) = events_of(session, AgentStarted)
    assert [(each["hook_event_name"], each["agent_id"]) for each in noted] == [
        ("PreToolUse", started.id),
        ("SubagentStop", started.id),
    ]
    assert noted[0]["tool_use_id"] == "r"


async def test_skills_of_an_agent_file_are_told_before_its_first_prompt(
    model: ModelServer, opened: OpenSession, work: Path
) -> None:
    skill = work / ".claude" / "skills" / "lore" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: lore\ndescription: d\n---\nOld ships leak.")
    define(work, "careful", skills=["lore", "missing"])
    await use(model, await opened(), DONE)
    own, of_child, _ = (str(each.body["messages"]) for each in model.requests)
    assert "Old ships leak." in of_child
    assert of_child.index("Old ships leak.") < of_child.index("SCN:child")
    assert "Old ships leak." not in own


# ---------------------------------------------------------------- modes and limits


@pytest.mark.parametrize("may_bypass", [False, True])
async def test_an_agent_file_cannot_lift_permissions_unless_its_session_may(
    model: ModelServer, opened: OpenSession, work: Path, monkeypatch: pytest.MonkeyPatch, *, may_bypass: bool
) -> None:
    monkeypatch.setenv("IS_SANDBOX", "1")
    define(work, "careful", permissionMode="bypassPermissions")
    person = Person()
    session = await opened(person, allow_dangerously_skip_permissions=may_bypass)
    await use(model, session, WRITE, DONE)
    assert len(person.asked) == (0 if may_bypass else 1)
    assert (work / "b.txt").read_text() == "b\n"


async def test_an_agent_file_may_accept_edits(model: ModelServer, opened: OpenSession, work: Path) -> None:
    define(work, "careful", permissionMode="acceptEdits")
    person = Person()
    session = await opened(person)
    await use(model, session, WRITE, DONE)
    assert person.asked == []
    await run(session, model.play("own", Step(blocks=[Call("Write", {"file_path": "c.txt", "content": ""})]), DONE))
    assert len(person.asked) == 1, "the mode is that of the agent alone"


async def test_the_turns_of_an_agent_file_bound_it_and_its_text_so_far_is_its_report(
    model: ModelServer, opened: OpenSession, work: Path
) -> None:
    """H7-7"""
    define(work, "careful", maxTurns=2)
    read: list[Part] = [Say("Half of it."), Call("Read", {"file_path": "a.txt"})]
    session = await opened()
    await use(model, session, Step(blocks=read), Step(blocks=read), Step(blocks=[Say("Never.")]))
    (ended,) = events_of(session, AgentEnded)
    assert ended.status == "completed"
    assert "Half of it." in ended.text
    assert "reached a limit" in ended.text
    assert len(model.requests) == 4


async def test_agents_below_agents_count_for_the_limits_of_the_session(
    model: ModelServer, opened: OpenSession, work: Path
) -> None:
    """H7-7: parent, child and grandchild make four requests, and the fifth is not made."""
    define(work, "careful")
    grandchild = model.play("grandchild", Step(blocks=[Call("Read", {"file_path": "a.txt"})]), DONE)
    call = agent_call(grandchild, "g", run_in_background=False)
    session = await opened(max_turns=4)
    await use(model, session, Step(blocks=[call]), DONE)
    assert len(model.requests) == 4
    costs = [
        event.cost for event in (each.event for each in session.driver.journal.log.read()) if hasattr(event, "cost")
    ]
    assert session.state.cost == pytest.approx(sum(costs))
    assert len([cost for cost in costs if cost]) == 4


async def test_the_agent_of_the_documentation_can_be_started(
    model: ModelServer, opened: OpenSession, work: Path
) -> None:
    page = (Path(__file__).parents[2] / "docs" / "agents.md").read_text()
    file = work / ".claude" / "agents" / "careful.md"
    file.parent.mkdir(parents=True)
    file.write_text(page.partition("```markdown\n")[2].partition("```")[0].replace("name: reviewer", "name: careful"))
    (work / ".claude" / "settings.json").write_text(page.partition("```json\n")[2].partition("```")[0])
    session = await opened()
    await use(model, session, DONE)
    own, of_child, _ = (each.body for each in model.requests)
    assert [tool["name"] for tool in own["tools"]] == ["Agent", "SendMessage", "TaskStop"]
    assert [tool["name"] for tool in of_child["tools"]] == ["Read", "Grep", "Glob", "Bash"]
    assert "You review changes in this repository." in str(of_child["system"])
    assert session.warnings == []


@pytest.mark.parametrize(
    ("of_file", "of_call", "used"),
    [
        ({}, {}, "claude-sonnet-4-5"),
        ({"model": "inherit"}, {}, "claude-sonnet-4-5"),
        ({"model": "claude-haiku-4-5"}, {}, "claude-haiku-4-5"),
        ({"model": "claude-haiku-4-5"}, {"model": "claude-opus-4-5"}, "claude-opus-4-5"),
    ],
)
async def test_the_call_chooses_the_model_before_the_file_and_the_file_before_the_parent(
    model: ModelServer, opened: OpenSession, work: Path, of_file: dict[str, str], of_call: dict[str, str], used: str
) -> None:
    """H7-1, H7-2"""
    define(work, "careful", **of_file)
    await use(model, await opened(), DONE, **of_call)
    assert [each.body["model"] for each in model.requests] == ["claude-sonnet-4-5", used, "claude-sonnet-4-5"]


async def test_an_agent_file_says_how_much_the_agent_thinks(
    model: ModelServer, opened: OpenSession, work: Path
) -> None:
    """H7-2"""
    define(work, "careful", model="claude-opus-4-5", effort="low")
    await use(model, await opened(), DONE)
    assert [each.body.get("output_config") for each in model.requests] == [None, {"effort": "low"}, None]
