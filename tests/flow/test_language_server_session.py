"""A session with a language server: asked about before it starts, told of by edits, ended with the session."""

import os
import sys
from pathlib import Path

import pytest

from bobstay.assembly.session import AgentSession
from bobstay.model.event import ToolDone
from bobstay.system.process_tree import marks_of
from tests.kit import scripted_language_server
from tests.kit.environments import model_variables
from tests.kit.user_folders import UserFolders
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer


@pytest.fixture
def user(tmp_path: Path, model: ModelServer) -> UserFolders:
    folders = UserFolders(tmp_path)
    command = [sys.executable, scripted_language_server.__file__, "children"]
    server = {"command": command, "languages": {".txt": "text"}}
    folders.write("home/.claude/settings.json", {"lsp": {"servers": {"scripted": server}}})
    folders.write("work/a.txt", "fine\nBAD\n")
    folders.variables |= model_variables(model)
    return folders


async def run(session: AgentSession, model: ModelServer, name: str, *calls: Call) -> list[ToolDone]:
    prompt = model.play(name, *(Step(blocks=[call]) for call in calls), Step(blocks=[Say("Done.")]))
    return [event async for event in session.run(prompt) if isinstance(event, ToolDone)]


def processes_of(session: AgentSession) -> int:
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return sum(session.id.encode() in marks_of(pid) for pid in pids)


DIAGNOSE = Call("Lsp", {"operation": "diagnostics", "file_path": "a.txt"}, "d")
WRITE = Call("Write", {"file_path": "b.txt", "content": "BAD new\n"}, "w")


async def test_an_edit_is_diagnosed_once_its_server_runs(user: UserFolders, model: ModelServer) -> None:
    """H1-4"""
    session = await user.open(model="claude-test", permission_mode="acceptEdits", trust=True, allowed_tools=("Lsp",))
    diagnosed, written = await run(session, model, "go", DIAGNOSE, WRITE)
    assert diagnosed.reply.text == f"{user.work}/a.txt:2:1: error: bad: BAD (scripted)"
    assert written.reply.text.endswith(f"in the file:\n{user.work}/b.txt:1:1: error: bad: BAD new (scripted)")
    assert processes_of(session) == 2
    await session.close()
    assert processes_of(session) == 0


async def test_a_server_that_may_run_code_of_the_project_is_not_started_unasked(
    user: UserFolders, model: ModelServer
) -> None:
    """H1-4, H5-1"""
    session = await user.open(model="claude-test", permission_mode="acceptEdits", trust=True)
    diagnosed, written = await run(session, model, "go", DIAGNOSE, WRITE)
    assert diagnosed.denied
    assert written.reply.text == f"Created {user.work}/b.txt (1 line)."
    assert processes_of(session) == 0
    await session.close()
