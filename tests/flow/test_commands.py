"""Commands and skills in sessions: what a person types, and what the model calls (H9-1, H9-3, H9-4)."""

from contextlib import aclosing
from pathlib import Path

import pytest

from bobstay.model.event import Event, Prompted, RunDone, ToolDone
from tests.kit.folder_sessions import FolderSessions
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer


@pytest.fixture
def project(model: ModelServer, tmp_path: Path) -> FolderSessions:
    return FolderSessions(model, tmp_path)


def last(events: list[Event]) -> RunDone:
    done = events[-1]
    assert isinstance(done, RunDone)
    return done


async def test_the_model_reads_the_body_and_people_see_what_they_typed(project: FolderSessions) -> None:
    project.write("work/.claude/commands/fix.md", "Fix issue $0 with care.")
    events = await project.ask("/fix 12")
    assert "<command-name>/fix</command-name>" in project.blocks()[0]
    assert project.blocks()[1].startswith("Fix issue 12 with care.")
    (prompt,) = [event for event in events if isinstance(event, Prompted) and event.origin == "human"]
    assert prompt.typed.startswith("/fix 12")


async def test_an_insert_is_judged_like_a_call_and_ends_the_command_if_it_may_not_run(project: FolderSessions) -> None:
    project.write("work/.claude/commands/a.md", "made: !`touch made.txt`")
    done = last(await project.ask("/a"))
    assert (done.ending, done.local, done.turns) == ("completed", True, 0)
    assert "touch made.txt" in done.text
    assert project.model.requests == []
    assert not (project.folder / "work" / "made.txt").exists()


async def test_what_a_command_mentions_is_attached_but_not_what_its_inserts_print(project: FolderSessions) -> None:
    for name in ("body", "argument", "printed"):
        project.write(f"work/{name}.txt", f"MK-{name}")
    project.write("work/.claude/commands/a.md", "See @body.txt and $0. !`echo see @printed.txt`")
    await project.ask("/a @argument.txt")
    shown = "\n".join(project.blocks())
    assert "see @printed.txt" in shown
    assert ["MK-body" in shown, "MK-argument" in shown, "MK-printed" in shown] == [True, True, False]


async def test_what_a_command_grants_ends_with_its_turn(project: FolderSessions) -> None:
    project.write("work/.claude/commands/a.md", "---\nallowed-tools: Bash(touch:*)\n---\nGo.")
    touch = Call("Bash", {"command": "touch one.txt"}, "t1")
    again = Call("Bash", {"command": "touch two.txt"}, "t2")
    session = await project.open(model="claude-sonnet-4-5", trust=True)
    denied = []
    for prompt, call in (("/a", touch), ("plain", again)):
        token = project.model.play(call.id, Step(blocks=[call]), Step(blocks=[Say("ok")]))
        async with aclosing(session.run(f"{prompt} {token}")) as events:
            denied += [event.denied async for event in events if isinstance(event, ToolDone)]
    await session.close()
    assert denied == [False, True]


async def test_a_command_sets_the_effort_of_its_turn_only_and_none_leaves_that_of_the_session(
    project: FolderSessions,
) -> None:
    project.write("work/.claude/commands/hard.md", "---\neffort: high\n---\nGo.")
    project.write("work/.claude/commands/plain.md", "Go.")
    await project.ask("/hard", "/plain", "more", model="claude-opus-4-5", effort="low")
    efforts = [request.body.get("output_config", {}).get("effort") for request in project.model.requests]
    assert efforts == ["high", "low", "low"]


async def test_the_tools_that_a_skill_forbids_are_refused_from_its_call_on(project: FolderSessions) -> None:
    project.write("work/.claude/skills/careful/SKILL.md", "---\ndisallowed-tools: Bash\n---\nGo.")
    session = await project.open(model="claude-sonnet-4-5", trust=True)
    denied: list[bool] = []
    for prompt in ("before", "/careful", "after"):
        call = Call("Bash", {"command": "echo 1"}, f"c{len(denied)}")
        token = project.model.play(f"t{len(denied)}", Step(blocks=[call]), Step(blocks=[Say("ok")]))
        async with aclosing(session.run(f"{prompt} {token}")) as events:
            denied += [event.denied async for event in events if isinstance(event, ToolDone)]
    await session.close()
    assert denied == [False, True, True]


async def test_an_unknown_command_is_plain_text_and_the_model_is_told(project: FolderSessions) -> None:
    assert last(await project.ask("/nothing here")).ending == "completed"
    assert "no command or skill /nothing" in project.blocks()[0]
    assert project.blocks()[1].startswith("/nothing here")


async def test_the_model_calls_a_skill_by_name(project: FolderSessions) -> None:
    project.write("work/.claude/skills/greet/SKILL.md", "---\ndescription: Greets\n---\nSay MK-HELLO to $ARGUMENTS.")
    call = Call("Skill", {"skill": "greet", "args": "Ann"}, "s")
    events = await project.ask("go", steps=(Step(blocks=[call]), Step(blocks=[Say("done")])))
    assert any("- greet: Greets" in str(request.body["messages"]) for request in project.model.requests[:1])
    assert "MK-HELLO" not in str(project.model.requests[0].body["messages"])
    assert "Say MK-HELLO to Ann." in str(project.model.requests[1].body["messages"])
    assert [event.reply.text for event in events if isinstance(event, ToolDone)] == ["Launching skill: greet"]


async def test_nothing_of_an_untrusted_folder_is_carried_out(project: FolderSessions) -> None:
    """H4-3"""
    project.write("work/.claude/skills/evil/SKILL.md", "---\ndescription: d\n---\nMK-EVIL")
    project.write("work/.claude/commands/run.md", "---\nallowed-tools: Bash\n---\nout: !`touch made.txt`")
    call = Call("Skill", {"skill": "evil"}, "s")
    events = await project.ask("go", trust=False, steps=(Step(blocks=[call]), Step(blocks=[Say("done")])))
    (reply,) = [event.reply for event in events if isinstance(event, ToolDone)]
    assert reply.is_error
    assert "MK-EVIL" not in str(project.model.requests[-1].body["messages"])
    await project.ask("/run", trust=False)
    assert not (project.folder / "work" / "made.txt").exists()


async def test_a_built_in_command_is_answered_without_the_model(project: FolderSessions) -> None:
    """H9-2"""
    done = last(await project.ask("/model claude-haiku-4-5"))
    assert (done.local_command, done.turns) == ("model", 0)
    assert "claude-haiku-4-5" in done.text
    assert project.model.requests == []


async def test_what_an_insert_was_allowed_ends_with_the_insert(project: FolderSessions) -> None:
    """H9-3: also if a later insert ends the command."""
    project.write(
        "work/.claude/commands/a.md", "---\nallowed-tools: Bash(touch:*)\n---\n!`touch one.txt` !`rm one.txt`"
    )
    touch = Step(blocks=[Call("Bash", {"command": "touch two.txt"}, "t")])
    session = await project.open(model="claude-sonnet-4-5", trust=True)
    token = project.model.play("plain", touch, Step(blocks=[Say("ok")]))
    try:
        for prompt in ("/a", token):
            async with aclosing(session.run(prompt)) as turn:
                events = [event async for event in turn]
    finally:
        await session.close()
    assert (project.folder / "work" / "one.txt").exists(), "the first insert was allowed, the second was not"
    (done,) = [event for event in events if isinstance(event, ToolDone)]
    assert done.denied
    assert not (project.folder / "work" / "two.txt").exists()


async def test_a_skill_for_people_is_not_for_the_model(project: FolderSessions) -> None:
    """H9-1"""
    project.write("work/.claude/skills/ship/SKILL.md", "---\ndescription: d\ndisable-model-invocation: true\n---\nBODY")
    call = Step(blocks=[Call("Skill", {"skill": "ship"}, "k")])
    events = await project.ask("go", steps=(call, Step(blocks=[Say("ok")])), allowed_tools=("Skill",))
    (done,) = [event for event in events if isinstance(event, ToolDone)]
    assert (done.reply.is_error, done.reply.text) == (True, "ship can be called by people only.")
    assert "BODY" not in str(project.model.requests[-1].body)


async def test_a_skill_for_the_model_is_not_for_people(project: FolderSessions) -> None:
    """H9-1"""
    project.write("work/.claude/skills/lore/SKILL.md", "---\ndescription: d\nuser-invocable: false\n---\nBODY")
    done = last(await project.ask("/lore"))
    assert (done.local, done.turns) == (True, 0)
    assert "for the model only" in done.text
    assert project.model.requests == []


async def test_what_a_skill_grants_holds_in_the_turn_in_which_the_model_calls_it(project: FolderSessions) -> None:
    """H9-4"""
    project.write("work/.claude/skills/make/SKILL.md", "---\ndescription: d\nallowed-tools: Bash(touch:*)\n---\nGo.")
    steps = (
        Step(blocks=[Call("Skill", {"skill": "make"}, "k")]),
        Step(blocks=[Call("Bash", {"command": "touch made.txt"}, "t")]),
        Step(blocks=[Say("ok")]),
    )
    await project.ask("go", steps=steps, allowed_tools=("Skill(make)",))
    assert (project.folder / "work" / "made.txt").exists()


async def test_a_setting_turns_inserts_off(project: FolderSessions) -> None:
    """H9-3"""
    project.write("home/.claude/settings.json", {"disableSkillShellExecution": True})
    project.write("work/.claude/commands/a.md", "---\nallowed-tools: Bash(touch:*)\n---\nmade: !`touch made.txt`")
    await project.ask("/a")
    assert "turned off in the settings" in project.blocks()[1]
    assert not (project.folder / "work" / "made.txt").exists()


async def test_a_command_that_was_rewritten_in_the_session_has_no_grants_for_its_inserts(
    project: FolderSessions,
) -> None:
    """H9-3: the model could have put the insert there."""
    head = "---\nallowed-tools: Bash(touch:*)\n---\n"
    project.write("work/.claude/commands/a.md", f"{head}Go.")
    session = await project.open(model="claude-sonnet-4-5", trust=True)
    project.write("work/.claude/commands/a.md", f"{head}made: !`touch made.txt`")
    try:
        async with aclosing(session.run("/a")) as turn:
            done = last([event async for event in turn])
    finally:
        await session.close()
    assert "touch made.txt" in done.text
    assert not (project.folder / "work" / "made.txt").exists()
