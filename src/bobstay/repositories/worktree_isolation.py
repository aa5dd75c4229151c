"""Worktrees in which an agent works apart from the checked-out one: created, kept if something changed, else removed.

By default they lie beside the repository and never inside the checked-out tree, where searches, builds and watchers of
the main worktree would find every file twice. The settings may name another folder.
"""

import os
import re
from collections.abc import Mapping
from secrets import token_hex
from typing import Literal

from msgspec import Struct

from bobstay.config.settings import WorktreeSettings
from bobstay.repositories.find_repo import find_repo, require_branch_name
from bobstay.repositories.git_failure import GitError
from bobstay.repositories.git_process import Repo
from bobstay.repositories.worktree import (
    Worktree,
    add_worktree,
    checked_out_branch,
    count_own_commits,
    delete_branch,
    dirty_files,
    free_path,
    git_outside,
    is_linked_worktree,
    remove_worktree,
)

BRANCH_PREFIX = "worktree-"
_UNUSUAL = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST_NAME = 60


class WorktreeWork(Struct, frozen=True):
    """What a worktree holds that exists nowhere else."""

    branch: str
    head: str
    dirty: tuple[str, ...]
    """Files with changes that are not committed."""
    commits: int
    """Commits that no other branch contains."""

    @property
    def is_unchanged(self) -> bool:
        return not self.dirty and not self.commits


async def create_worktree(
    directory: str,
    name: str,
    environment: Mapping[str, str],
    *,
    settings: WorktreeSettings | None = None,
    branch: str = "",
) -> Worktree:
    """Create a worktree of the repository of `directory`, with a branch that begins at its current commit.

    `name` becomes part of its path and branch, such as `agent-3f2a`; the empty one is replaced by a random name.

    Raises:
        GitError: there is no repository or no commit, the name is taken, or the system refused. Nothing is left.
    """
    settings = settings or WorktreeSettings()
    repo = _repository(directory, environment)
    stem = worktree_name(name)
    branch = require_branch_name(branch or f"{_prefix(settings)}{stem}")
    commit = await repo.commit("HEAD")
    if not commit:
        raise GitError(
            "wrong_state", "The repository has no commit yet, so there is nothing to check out. Commit first."
        )
    return await add_worktree(repo, _new_path(repo, settings, stem), branch, commit)


async def inspect_worktree(path: str, environment: Mapping[str, str]) -> WorktreeWork:
    """What would be lost with the worktree at `path`.

    Raises:
        GitError: it is gone, or is not a worktree that was added.
    """
    repo = _open(path, environment)
    head = await repo.commit("HEAD")
    branch = os.fsdecode(await checked_out_branch(repo))
    dirty = tuple(os.fsdecode(each) for each in await dirty_files(repo, head))
    commits = await count_own_commits(git_outside(repo), branch or "HEAD", head) if head else 0
    return WorktreeWork(branch, head, dirty, commits)


async def finish_worktree(path: str, environment: Mapping[str, str]) -> Literal["kept", "removed"]:
    """Remove the worktree at `path` and its branch if nothing was changed in it; otherwise leave it.

    Raises:
        GitError: it is gone, or git failed.
    """
    work = await inspect_worktree(path, environment)
    if not work.is_unchanged:
        return "kept"
    await discard_worktree(path, environment, work)
    return "removed"


async def discard_worktree(path: str, environment: Mapping[str, str], work: WorktreeWork) -> None:
    """Remove a worktree with what is not committed. Its branch stays if it has commits that exist nowhere else.

    Raises:
        GitError: git failed.
    """
    repo = _open(path, environment)
    await remove_worktree(repo)
    if work.branch and not work.commits:
        await delete_branch(git_outside(repo), work.branch, work.head)


def worktree_name(name: str) -> str:
    """The part of paths and branches for a worktree of this name."""
    return _UNUSUAL.sub("-", name).strip("-.")[:_LONGEST_NAME].rstrip("-.") or token_hex(4)


def worktree_folder(top: str, settings: WorktreeSettings | None) -> str:
    """The folder for worktrees of the repository at `top`."""
    named = settings.folder if settings is not None and settings.folder else ""
    if named == "~" or named.startswith("~/"):
        named = os.path.expanduser(named)
    return os.path.normpath(os.path.join(top, named)) if named else f"{top.rstrip('/')}.worktrees"


def _prefix(settings: WorktreeSettings) -> str:
    return BRANCH_PREFIX if settings.branch_prefix is None else settings.branch_prefix


def _new_path(repo: Repo, settings: WorktreeSettings, stem: str) -> str:
    folder = worktree_folder(repo.top, settings)
    try:
        path = free_path(folder, stem)
        ignore = os.path.join(folder, ".gitignore")
        if f"{folder}/".startswith(f"{repo.top.rstrip('/')}/") and not os.path.lexists(ignore):
            # It was asked for inside the tree: git is not to list it there as new files.
            with open(ignore, "x") as file:
                file.write("*\n")
    except OSError as error:
        text = f"The folder {folder} for worktrees cannot be used: {error.strerror}."
        raise GitError("not_supported", f"{text} Name another one in the settings (worktree.folder).") from None
    if not path:
        raise GitError("conflict", f"There are too many worktrees called {stem} in {folder}. Remove some.")
    return path


def _repository(directory: str, environment: Mapping[str, str]) -> Repo:
    return find_repo(os.path.realpath(directory), environment)


def _open(path: str, environment: Mapping[str, str]) -> Repo:
    real = os.path.realpath(path)
    if not os.path.isdir(real):
        raise GitError("not_found", f"The worktree {path} is gone.")
    repo = find_repo(real, environment)
    if repo.top != real or not is_linked_worktree(repo):
        raise GitError("not_found", f"{path} is not the top of a worktree that was added to a repository.")
    return repo
