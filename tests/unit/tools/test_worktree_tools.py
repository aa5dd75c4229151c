"""EnterWorktree and ExitWorktree: where the session works afterwards, and what they refuse."""

from pathlib import Path

import msgspec
import pytest

from bobstay.config.settings import WorktreeSettings
from bobstay.permissions.access import Access
from bobstay.tools.base import Context, ToolError
from bobstay.tools.builtin.enter_worktree import EnterWorktree, EnterWorktreeArgs
from bobstay.tools.builtin.exit_worktree import ExitWorktree, ExitWorktreeArgs
from tests.kit.repositories import git, repository
from tests.kit.tool_context import make_context


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return make_context(repository(tmp_path / "project"))


async def entered(context: Context, name: str = "fix") -> Context:
    """The context of the calls after EnterWorktree."""
    outcome = await EnterWorktree().run(EnterWorktreeArgs(name), context)
    root = Path(outcome.root)
    inside = make_context(root)
    inside.origin = context.root
    return inside


async def test_the_session_goes_on_in_the_worktree(context: Context, tmp_path: Path) -> None:
    """H7-6"""
    outcome = await EnterWorktree().run(EnterWorktreeArgs("fix login"), context)
    path = f"{tmp_path}/project.worktrees/fix-login"
    assert outcome.root == path
    assert outcome.display == {"worktreePath": path, "worktreeBranch": "worktree-fix-login", "root": path}
    assert "on the new branch worktree-fix-login" in str(outcome.content)


async def test_a_session_in_a_folder_of_the_repository_goes_on_in_the_same_folder(tmp_path: Path) -> None:
    """H7-6"""
    project = repository(tmp_path / "project")
    (project / "sub").mkdir()
    (project / "sub/file").write_text("x")
    git(project, "add", "--all")
    git(project, "commit", "-qm", "sub")
    (project / "untracked").mkdir()
    outcome = await EnterWorktree().run(EnterWorktreeArgs("a"), make_context(project / "sub"))
    assert outcome.root == f"{tmp_path}/project.worktrees/a/sub"
    outcome = await EnterWorktree().run(EnterWorktreeArgs("b"), make_context(project / "untracked"))
    assert outcome.root == f"{tmp_path}/project.worktrees/b"


async def test_a_second_worktree_is_not_entered_from_the_first(context: Context) -> None:
    """H7-6"""
    inside = await entered(context)
    with pytest.raises(ToolError, match=r"already\. Leave it with ExitWorktree"):
        await EnterWorktree().check(EnterWorktreeArgs("two"), inside)


async def test_what_git_refuses_is_told(context: Context) -> None:
    """H7-6"""
    with pytest.raises(ToolError, match=r"No worktree was made\. There is already a branch main"):
        await EnterWorktree().run(EnterWorktreeArgs("x", "main"), context)


def test_the_folder_that_is_written_is_stated(context: Context, tmp_path: Path) -> None:
    """H7-6"""
    args = EnterWorktreeArgs("fix")
    assert EnterWorktree().access(args, context) == (Access("write", f"{tmp_path}/project.worktrees/fix"),)
    context.services.worktree = WorktreeSettings(folder="/srv/trees")
    assert EnterWorktree().access(args, context) == (Access("write", "/srv/trees/fix"),)
    assert EnterWorktree().access(args, make_context(tmp_path)) == ()


async def test_keeping_leaves_everything(context: Context) -> None:
    """H7-6"""
    inside = await entered(context)
    outcome = await ExitWorktree().run(ExitWorktreeArgs("keep"), inside)
    assert outcome.root == str(context.root)
    assert inside.root.exists()
    assert ExitWorktree().access(ExitWorktreeArgs("keep"), inside) == (Access("none"),)


async def test_removing_is_refused_while_something_is_not_committed(context: Context) -> None:
    """H7-6"""
    inside = await entered(context)
    (inside.root / "readme").write_text("mine\n")
    with pytest.raises(ToolError, match=r"not committed: readme\. Nothing was removed"):
        await ExitWorktree().run(ExitWorktreeArgs("remove"), inside)
    assert (inside.root / "readme").read_text() == "mine\n"
    outcome = await ExitWorktree().run(ExitWorktreeArgs("remove", discard_changes=True), inside)
    assert outcome.root == str(context.root)
    assert not inside.root.exists()
    assert "worktree-fix" not in git(context.root, "branch")


async def test_a_branch_with_commits_of_its_own_is_kept_and_named(context: Context) -> None:
    """H7-6"""
    inside = await entered(context)
    (inside.root / "readme").write_text("mine\n")
    git(inside.root, "commit", "-qam", "mine")
    outcome = await ExitWorktree().run(ExitWorktreeArgs("remove"), inside)
    assert "Its branch worktree-fix is kept: it has 1 commit that is in no other branch" in str(outcome.content)
    assert "worktree-fix" in git(context.root, "branch")


def test_only_discarding_is_destructive_and_no_mode_allows_it(context: Context) -> None:
    """H7-6"""
    tool, discard = ExitWorktree(), ExitWorktreeArgs("remove", discard_changes=True)
    assert tool.destructive(discard, context)
    assert tool.access(discard, context) == ()
    assert not tool.destructive(ExitWorktreeArgs("remove"), context)
    assert not tool.destructive(msgspec.structs.replace(discard, action="keep"), context)
    assert tool.access(ExitWorktreeArgs("remove"), context) == (Access("write", str(context.root)),)


async def test_there_is_nothing_to_leave_outside_a_worktree(context: Context) -> None:
    """H7-6"""
    with pytest.raises(ToolError, match="no worktree to leave"):
        await ExitWorktree().check(ExitWorktreeArgs("keep"), context)
