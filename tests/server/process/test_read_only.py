"""Read-only workflows with real engines: no file changes, whatever was allowed before (S000-43)."""

import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bobstay.engine.engine_ports import Answer
from bobstay.model.event import InteractionClosed, InteractionOpened, RunDone, ToolDone
from tests.kit.process_sessions import ProcessSession, ProcessSessions
from tests.kit.program import BOBSTAY, ORACLE
from tests.modelserver import Call, ModelServer, Say, Step

pytestmark = pytest.mark.skipif(not os.path.exists(ORACLE), reason=f"the SDK's wheel brought no program at {ORACLE}")
ENGINES = [pytest.param((ORACLE,), id="claude"), pytest.param((BOBSTAY,), id="bobstay")]
WORKFLOWS = ["research", "plan", "review_plan"]
ALLOWED = ("Bash", "Bash(*)", "Write", "Edit", "NotebookEdit", "Monitor", "Task", "Read", "mcp__files__write")
DENIED = {
    "redirect": "echo x > made.txt",
    "appended": "echo x >> kept.txt",
}
ASKED = {
    "sed": "sed -i s/a/b/ kept.txt",
    "tee": "echo x | tee made.txt",
    "nested": "bash -c 'echo x > made.txt'",
    "python": "python3 -c \"open('made.txt', 'w').write('x')\"",
    "touch": "touch made.txt",
    "git": "git init -q .",
    "hidden": "eval $(echo dG91Y2ggbWFkZS50eHQ= | base64 -d)",
}


@pytest.fixture
async def real(model: ModelServer, tmp_path: Path) -> AsyncIterator[ProcessSessions]:
    """The person's own settings allow everything, too."""
    home = tmp_path / "home"
    rules = {"permissions": {"allow": ["Bash", "Bash(*)", "Write", "Edit"]}}
    for folder in (".claude", ".bobstay"):
        (home / folder).mkdir(parents=True)
        (home / folder / "settings.json").write_text(
            json.dumps(rules if folder == ".claude" else {**rules, "disableAllHooks": False})
        )
    made = ProcessSessions(tmp_path, model)
    (made.cwd / "kept.txt").write_text("a\n")
    notebook = {"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (made.cwd / "kept.ipynb").write_text(json.dumps(notebook))
    yield made
    await made.close()


def contents(sessions: ProcessSessions) -> dict[str, str]:
    return {path.name: path.read_text() for path in sessions.cwd.iterdir() if path.is_file()}


def deeds(cwd: Path) -> list[Call]:
    commands = [*DENIED.values(), *ASKED.values()]
    calls = [Call("Bash", {"command": text, "description": "x"}, f"toolu_{n}") for n, text in enumerate(commands)]
    edit = {"file_path": str(cwd / "kept.txt"), "old_string": "a", "new_string": "b"}
    cell = {"notebook_path": str(cwd / "kept.ipynb"), "new_source": "x", "edit_mode": "insert", "cell_type": "code"}
    watch = {"command": "touch made.txt", "description": "x", "timeout_ms": 1000, "persistent": False}
    return [
        *calls,
        Call("Write", {"file_path": str(cwd / "made.txt"), "content": "x"}, "toolu_write"),
        Call("Read", {"file_path": str(cwd / "kept.txt")}, "toolu_read"),
        Call("Edit", edit, "toolu_edit"),
        Call("NotebookEdit", cell, "toolu_cell"),
        Call("Monitor", watch, "toolu_watch"),
    ]


async def refusing(case: ProcessSession, text: str) -> RunDone:
    """One turn, in which a person says no to whatever is asked."""
    turns = len(case.events(RunDone))
    case.say(text)
    while True:
        await case.holds(lambda: len(case.events(RunDone)) > turns or bool(case.view.interactions))
        if len(case.events(RunDone)) > turns:
            return case.events(RunDone)[turns]
        waiting = {entry.id for entry in case.view.interactions}
        for opened in case.events(InteractionOpened):
            if opened.id in waiting:
                await case.answer(opened, Answer(False, "no", by="ada"))


@pytest.mark.parametrize("command", ENGINES)
@pytest.mark.parametrize("workflow", WORKFLOWS)
async def test_a_workflow_that_only_looks_changes_no_file(
    real: ProcessSessions, model: ModelServer, command: tuple[str, ...], workflow: str
) -> None:
    before = contents(real)
    case = real.create(command, config={"workflow": workflow, "allowed_tools": ALLOWED})
    await case.worker.start()
    for call in deeds(real.cwd):  # each in a turn of its own: engines stop after many refusals in one
        prompt = model.play(call.id, Step(blocks=[call]), Step(blocks=[Say("Done.")]))
        assert (await refusing(case, f"{prompt} go")).text == "Done."
    assert contents(real) == before
    assert not (real.cwd / ".git").exists()
    asked = [opened.call.input.get("command") for opened in case.events(InteractionOpened)]
    assert [text for text in asked if text] == list(ASKED.values()), "what surely writes is not even asked about"
    replies = {done.reply.call_id: done.reply for done in case.events(ToolDone)}
    assert not replies["toolu_read"].is_error
    assert all(reply.is_error for id, reply in replies.items() if id != "toolu_read")


@pytest.mark.parametrize("command", ENGINES)
@pytest.mark.parametrize("workflow", WORKFLOWS)
async def test_a_command_that_only_reads_needs_nobody(
    real: ProcessSessions, model: ModelServer, command: tuple[str, ...], workflow: str
) -> None:
    call = Call("Bash", {"command": "cat kept.txt | wc -l", "description": "Count"}, "toolu_1")
    prompt = model.play("look", Step(blocks=[call]), Step(blocks=[Say("Seen.")]))
    case = real.create(command, config={"workflow": workflow})
    await case.worker.start()
    assert (await refusing(case, f"{prompt} go")).text == "Seen."
    assert not case.events(InteractionOpened)
    assert case.events(ToolDone)[0].reply.text.strip() == "1"


async def test_a_sub_agent_writes_as_little(real: ProcessSessions, model: ModelServer) -> None:
    before = contents(real)
    inner = model.play("inner", *(Step(blocks=[call]) for call in deeds(real.cwd)), Step(blocks=[Say("Done.")]))
    task = Call("Task", {"description": "x", "prompt": f"{inner} go", "subagent_type": "general-purpose"}, "toolu_t")
    prompt = model.play("outer", Step(blocks=[task]), Step(blocks=[Say("Over.")]))
    case = real.create((ORACLE,), config={"workflow": "research", "allowed_tools": ALLOWED})
    await case.worker.start()
    await refusing(case, f"{prompt} go")
    assert contents(real) == before
    assert "toolu_0" in {done.reply.call_id for done in case.events(ToolDone)}, "it was tried"


async def test_a_person_may_allow_a_command_once_but_not_change_it_into_writing(
    real: ProcessSessions, model: ModelServer
) -> None:
    """Bash is asked about, and each time anew: a rule that was kept does not lift the question."""
    steps = [Step(blocks=[Call("Bash", {"command": "mkdir made", "description": "x"}, f"toolu_{n}")]) for n in (1, 2)]
    prompt = model.play("allowed", *steps, Step(blocks=[Say("Done.")]))
    case = real.create((ORACLE,), config={"workflow": "research"})
    await case.worker.start()
    case.say(f"{prompt} go")
    rule = {"type": "addRules", "rules": [{"toolName": "Bash"}], "behavior": "allow", "destination": "session"}
    await case.answer(await case.asked(), Answer(True, updates=(rule, {"type": "setMode", "mode": "acceptEdits"})))
    second = await case.asked(2)
    assert (real.cwd / "made").is_dir()
    await case.answer(second, Answer(True, input={**second.call.input, "command": "echo x > made.txt"}, by="ada"))
    await case.until(RunDone)
    assert not (real.cwd / "made.txt").exists()
    assert [closed.outcome for closed in case.events(InteractionClosed)] == ["allowed", "allowed"]
    assert case.events(ToolDone)[1].reply.is_error
    assert case.view.permission_mode != "acceptEdits"
