"""A session enters a worktree, works there, is resumed there, and leaves it."""

from pathlib import Path

import pytest

from bobstay.assembly.session import AgentSession
from bobstay.model.event import ToolDone
from bobstay.model.message import Text, ToolReply
from tests.kit.environments import model_variables
from tests.kit.repositories import git, repository
from tests.kit.user_folders import UserFolders
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer


@pytest.fixture
def user(tmp_path: Path, model: ModelServer) -> UserFolders:
    folders = UserFolders(tmp_path)
    repository(folders.work)
    folders.variables |= model_variables(model)
    return folders


async def open_session(user: UserFolders, **options: object) -> AgentSession:
    return await user.open(model="claude-test", permission_mode="acceptEdits", trust=True, **options)


async def run(session: AgentSession, model: ModelServer, name: str, *calls: Call) -> list[ToolDone]:
    prompt = model.play(name, *(Step(blocks=[call]) for call in calls), Step(blocks=[Say("Done.")]))
    return [event async for event in session.run(prompt) if isinstance(event, ToolDone)]


async def test_a_session_works_in_its_worktree_also_after_a_resume(user: UserFolders, model: ModelServer) -> None:
    """H7-6"""
    tree = Path(f"{user.work}.worktrees/fix")
    session = await open_session(user, allowed_tools=("EnterWorktree",))
    done = await run(
        session,
        model,
        "enter",
        Call("EnterWorktree", {"name": "fix"}, "e"),
        Call("Write", {"file_path": "new.txt", "content": "mine\n"}, "w"),
        Call("Bash", {"command": "pwd"}, "p"),
    )
    assert [each.reply.is_error for each in done] == [False, False, False]
    assert done[0].root == str(tree)
    assert done[2].reply.text.strip() == str(tree)
    assert (tree / "new.txt").read_text() == "mine\n"
    assert not (user.work / "new.txt").exists()
    await session.close()

    session = await open_session(user, resume=session.id)
    assert session.warnings == []
    done = await run(
        session,
        model,
        "again",
        Call("Bash", {"command": "pwd"}, "p2"),
        Call("Write", {"file_path": "more.txt", "content": "x\n"}, "w2"),
        Call("ExitWorktree", {"action": "remove"}, "x1"),
        Call("ExitWorktree", {"action": "keep"}, "x2"),
        Call("Bash", {"command": "pwd"}, "p3"),
    )
    assert done[0].reply.text.strip() == str(tree)
    assert (tree / "more.txt").exists()
    assert done[2].reply.is_error
    assert "more.txt, new.txt" in done[2].reply.text
    assert done[3].root == str(user.work)
    assert done[4].reply.text.strip() == str(user.work)
    await session.close()


async def test_a_worktree_that_is_gone_at_a_resume_is_said(user: UserFolders, model: ModelServer) -> None:
    """H7-6"""
    session = await open_session(user, allowed_tools=("EnterWorktree",))
    await run(session, model, "enter", Call("EnterWorktree", {"name": "fix"}, "e"))
    await session.close()
    git(user.work, "worktree", "remove", f"{user.work}.worktrees/fix")
    session = await open_session(user, resume=session.id)
    assert any("fix is gone or another one: the session works in" in warning for warning in session.warnings)
    done = await run(session, model, "again", Call("Bash", {"command": "pwd"}, "p"))
    assert done[0].reply.text.strip() == str(user.work)
    await session.close()


async def test_a_log_that_names_another_folder_does_not_open_it(
    user: UserFolders, model: ModelServer, tmp_path: Path
) -> None:
    """H7-6"""
    elsewhere = repository(tmp_path / "elsewhere")
    session = await open_session(user)
    moved = ToolDone(ToolReply("x", (Text("moved"),)), root=str(elsewhere))
    session.driver.journal.record(moved)
    await session.close()
    session = await open_session(user, resume=session.id)
    assert any("elsewhere is gone" in warning for warning in session.warnings)
    (done,) = await run(session, model, "go", Call("Read", {"file_path": str(elsewhere / "readme")}, "r"))
    assert done.denied
    await session.close()


async def test_the_tools_are_offered_in_repositories_only(user: UserFolders, tmp_path: Path) -> None:
    """H1-4"""
    session = await open_session(user)
    assert {"EnterWorktree", "ExitWorktree"} <= set(session.tools)
    await session.close()
    (tmp_path / "other").mkdir()
    session = await UserFolders(tmp_path / "other").open()
    assert not {"EnterWorktree", "ExitWorktree"} & set(session.tools)
    await session.close()
