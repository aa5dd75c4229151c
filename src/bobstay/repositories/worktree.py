"""Worktrees of a repository: adds and removes them, and says what would be lost with one.

Hooks, signing programs and filters that a repository names are not run.
"""

import asyncio
import os
import shutil

from msgspec import Struct

from bobstay.repositories.git_process import Git, Repo, git_error


class Worktree(Struct, frozen=True):
    """A new worktree; these fields become part of the configuration of a session that works in it."""

    path: str
    branch: str
    base: str
    """The commit it began from."""
    project: str
    """The worktree it was made from."""


async def add_worktree(repo: Repo, path: str, branch: str, commit: str) -> Worktree:
    """Create a worktree at `path`, which must not exist, with a new branch that begins at `commit`.

    Raises:
        GitError: the branch exists, the repository names programs for its files, or git failed. Nothing is left.
    """
    if await has_branch(repo, branch):
        raise repo.failure("conflict", f"There is already a branch {branch}. Choose another name.")
    await repo.check_filters()
    result = await repo.writable(network=True).run("worktree", "add", "--no-track", "-b", branch, path, commit)
    if result.code:
        await asyncio.to_thread(shutil.rmtree, path, True)
        await repo.writable().run("worktree", "prune")
        await repo.writable().run("update-ref", "-d", f"refs/heads/{branch}", commit)
        raise git_error(result, repo.failure)
    return Worktree(path, branch, commit, repo.top)


async def remove_worktree(repo: Repo) -> None:
    """Remove the worktree that `repo` is seen from, with all that is not committed. Its branch stays.

    Raises:
        GitError: git failed.
    """
    result = await git_outside(repo).run("worktree", "remove", "--force", repo.top)
    if result.code:
        raise git_error(result, repo.failure)


def is_linked_worktree(repo: Repo) -> bool:
    """Whether `repo` is seen from a worktree that was added, and not from the repository's own."""
    return repo.repository.common != repo.repository.directory


def git_outside(repo: Repo) -> Git:
    """Git that runs outside the worktree, which is about to be removed."""
    git = repo.writable(repo.repository.common)
    environment = {name: value for name, value in git.environment.items() if name != "GIT_WORK_TREE"}
    return git.with_environment({**environment, "GIT_DIR": repo.repository.common})


async def has_branch(repo: Repo, branch: str) -> bool:
    result = await repo.plain().run("show-ref", "--verify", "--quiet", f"refs/heads/{branch}")
    return result.code == 0


async def checked_out_branch(repo: Repo) -> bytes:
    """The name of the branch, or nothing if a commit is checked out."""
    result = await repo.plain().run("symbolic-ref", "--quiet", "--short", "HEAD")
    return result.out.strip() if result.code == 0 else b""


async def delete_branch(git: Git, branch: str, head: str) -> None:
    """Delete a branch if it is still at `head`."""
    await git.run("update-ref", "-d", f"refs/heads/{branch}", head)


async def dirty_files(repo: Repo, head: str, most: int = 1_000) -> tuple[bytes, ...]:
    """Files changed or new since the last commit.

    Raises:
        GitError: git failed.
    """
    async with repo.isolated(head) as git:
        options = ("--porcelain=v1", "-z", "--untracked-files=normal", "--ignore-submodules=dirty", "--no-renames")
        result = await git.run("status", *options)
    if result.code and not result.cut:
        raise git_error(result, repo.failure)
    return tuple(row[3:] for row in result.out.split(b"\0") if len(row) > 3)[:most]


async def count_own_commits(git: Git, branch: str, head: str) -> int:
    """How many commits only this branch contains; they are lost when it is deleted."""
    others = (f"--exclude={branch}", "--branches", "--remotes", "--tags")
    counted = await git.output("rev-list", "--count", head, "--not", *others)
    return int(counted)


def free_path(folder: str, stem: str) -> str:
    """A path in `folder`, which is created, that does not exist yet; "" if there are too many of that name."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    for number in range(1, 100):
        path = os.path.join(folder, stem if number == 1 else f"{stem}-{number}")
        if not os.path.lexists(path):
            return path
    return ""
