"""Worktrees for work apart from the checked-out one: where they lie, what is kept, and what is never lost."""

from pathlib import Path

import pytest

from bobstay.config.settings import WorktreeSettings
from bobstay.repositories.git_failure import GitError
from bobstay.repositories.worktree_isolation import (
    create_worktree,
    discard_worktree,
    finish_worktree,
    inspect_worktree,
    worktree_name,
)
from tests.kit.repositories import PATH, git, repository

ENVIRONMENT = {"PATH": PATH, "HOME": "/nonexistent"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return repository(tmp_path / "project")


async def test_a_worktree_lies_beside_the_repository_on_a_branch_of_its_own(project: Path) -> None:
    """H7-6"""
    made = await create_worktree(str(project), "agent-1f", ENVIRONMENT)
    assert made.path == f"{project}.worktrees/agent-1f"
    assert (Path(made.path) / "readme").read_text() == "first\n"
    assert git(Path(made.path), "branch", "--show-current").strip() == made.branch == "worktree-agent-1f"
    assert made.base == git(project, "rev-parse", "HEAD").strip()
    assert git(project, "status", "--porcelain") == ""


async def test_the_settings_choose_the_folder_and_the_branch(project: Path, tmp_path: Path) -> None:
    """H7-6"""
    apart = WorktreeSettings(folder=str(tmp_path / "apart"), branch_prefix="agents/")
    made = await create_worktree(str(project), "one", ENVIRONMENT, settings=apart)
    assert (made.path, made.branch) == (f"{tmp_path}/apart/one", "agents/one")
    again = await create_worktree(str(project), "one", ENVIRONMENT, settings=apart, branch="feature/x")
    assert (again.path, again.branch) == (f"{tmp_path}/apart/one-2", "feature/x")


async def test_a_folder_inside_the_tree_is_used_if_asked_for_and_git_does_not_list_it(project: Path) -> None:
    """H7-6"""
    inside = WorktreeSettings(folder=".claude/worktrees")
    made = await create_worktree(str(project), "one", ENVIRONMENT, settings=inside)
    assert made.path == f"{project}/.claude/worktrees/one"
    assert git(project, "status", "--porcelain") == ""
    assert await finish_worktree(made.path, ENVIRONMENT) == "removed"


async def test_a_worktree_without_changes_is_removed_with_its_branch(project: Path) -> None:
    """H7-6"""
    made = await create_worktree(str(project), "one", ENVIRONMENT)
    assert await finish_worktree(made.path, ENVIRONMENT) == "removed"
    assert not Path(made.path).exists()
    assert git(project, "branch", "--format=%(refname:short)").split() == ["main"]
    assert len(git(project, "worktree", "list").splitlines()) == 1


@pytest.mark.parametrize("change", ["edited", "new", "committed"])
async def test_a_worktree_with_changes_is_kept(project: Path, change: str) -> None:
    """H7-6"""
    made = await create_worktree(str(project), "one", ENVIRONMENT)
    work = Path(made.path)
    (work / ("new" if change == "new" else "readme")).write_text("changed\n")
    if change == "committed":
        git(work, "commit", "-qam", "mine")
    assert await finish_worktree(made.path, ENVIRONMENT) == "kept"
    assert work.exists()
    assert "worktree-one" in git(project, "branch")


async def test_a_worktree_whose_commits_were_merged_is_removed(project: Path) -> None:
    """H7-6"""
    made = await create_worktree(str(project), "one", ENVIRONMENT)
    (Path(made.path) / "readme").write_text("changed\n")
    git(Path(made.path), "commit", "-qam", "mine")
    git(project, "merge", "-q", made.branch)
    assert await finish_worktree(made.path, ENVIRONMENT) == "removed"


async def test_commits_that_are_nowhere_else_survive_the_removal_of_their_worktree(project: Path) -> None:
    """H7-6"""
    made = await create_worktree(str(project), "one", ENVIRONMENT)
    (Path(made.path) / "readme").write_text("changed\n")
    git(Path(made.path), "commit", "-qam", "mine")
    (Path(made.path) / "readme").write_text("not committed\n")
    work = await inspect_worktree(made.path, ENVIRONMENT)
    assert (work.branch, work.dirty, work.commits) == (made.branch, ("readme",), 1)
    await discard_worktree(made.path, ENVIRONMENT, work)
    assert not Path(made.path).exists()
    assert git(project, "show", f"{made.branch}:readme") == "changed\n"


async def test_what_cannot_be_made_says_why(project: Path, tmp_path: Path) -> None:
    """H7-6"""
    plain = tmp_path / "plain"
    plain.mkdir()
    with pytest.raises(GitError, match="not in a git repository"):
        await create_worktree(str(plain), "one", ENVIRONMENT)
    git(plain, "init", "-q")
    with pytest.raises(GitError, match="no commit yet"):
        await create_worktree(str(plain), "one", ENVIRONMENT)
    with pytest.raises(GitError, match="cannot name a branch"):
        await create_worktree(str(project), "one", ENVIRONMENT, branch="--upload-pack=x")
    with pytest.raises(GitError, match="already a branch main"):
        await create_worktree(str(project), "one", ENVIRONMENT, branch="main")
    settings = WorktreeSettings(folder=str(project / "readme" / "x"))
    with pytest.raises(GitError, match=r"cannot be used: Not a directory.*worktree\.folder"):
        await create_worktree(str(project), "one", ENVIRONMENT, settings=settings)
    taken = WorktreeSettings(folder=str(project / "readme"))
    with pytest.raises(GitError, match=r"cannot be used: File exists"):
        await create_worktree(str(project), "one", ENVIRONMENT, settings=taken)
    with pytest.raises(GitError, match="not the top of a worktree"):
        await inspect_worktree(str(project), ENVIRONMENT)
    with pytest.raises(GitError, match="is gone"):
        await inspect_worktree(str(tmp_path / "nothing"), ENVIRONMENT)


async def test_hooks_and_filters_of_the_repository_are_not_run(project: Path, tmp_path: Path) -> None:
    """H7-6"""
    ran = tmp_path / "ran"
    hook = project / ".git/hooks/post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {ran}\n")
    hook.chmod(0o755)
    await create_worktree(str(project), "one", ENVIRONMENT)
    assert not ran.exists()
    git(project, "config", "filter.evil.smudge", f"touch {ran}")
    with pytest.raises(GitError, match=r"names programs for its files \(filter\.evil\)"):
        await create_worktree(str(project), "two", ENVIRONMENT)
    assert not ran.exists()


@pytest.mark.parametrize(
    ("name", "used"), [("a b/c", "a-b-c"), ("../../etc", "etc"), ("x" * 200, "x" * 60), ("v1.2", "v1.2")]
)
def test_any_name_becomes_part_of_a_path(name: str, used: str) -> None:
    """H7-6"""
    assert worktree_name(name) == used


def test_a_name_without_letters_is_replaced() -> None:
    assert worktree_name("...").isalnum()
    assert worktree_name("") != worktree_name("")
