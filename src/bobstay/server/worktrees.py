"""Worktrees of sessions: creates them with a branch of their own, commits, merges and removes them on request.

Commits are never lost here: a branch is deleted only if all its commits are in the branch it was merged into. Hooks,
signing programs and filters that a repository names are not run.
"""

import os
import re
from collections.abc import Collection, Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from bobstay.repositories.git_process import Git, GitResult, Repo, git_error
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
from bobstay.server.errors import ApiError
from bobstay.server.files.path_names import encode_path
from bobstay.server.files.repository_lookup import check_branch, check_revision, open_repo

Strategy: TypeAlias = Literal["merge", "squash", "fast_forward"]
LONGEST_MESSAGE = 64 * 1024
MOST_NAMES = 1_000
PREFIX = "bobstay/"
_UNUSUAL = re.compile(r"[^A-Za-z0-9._-]+")
_GITLINK = b"160000 "


class WorktreeState(Struct, frozen=True):
    branch: str
    base: str
    head: str
    target: str
    """The branch it would be merged into: the one checked out in the project. Empty if there is none."""
    ahead: int
    behind: int
    dirty: tuple[str, ...]
    """Files with changes that are not committed."""
    conflicts: tuple[str, ...]
    """Files with changes on both sides that git cannot merge."""
    merged: bool
    """All its commits, or all their changes, are in the target."""


class Worktrees:
    """Worktrees below one folder, each named after its project and session."""

    def __init__(self, folder: str, environment: Mapping[str, str]) -> None:
        self.folder = os.path.realpath(folder)
        self._environment = environment

    async def add(self, directory: str, session_id: str, branch: str = "", base: str = "") -> Worktree:
        """Create a worktree of the repository of `directory`, a real path.

        Raises:
            ApiError: not_supported, invalid, not_found, conflict.
        """
        repo = open_repo(directory, self._environment)
        short = _UNUSUAL.sub("", session_id)[:8] or "session"
        branch = check_branch(branch or PREFIX + short)
        commit = await repo.commit(check_revision(base) if base else "HEAD")
        if not commit:
            text = f"There is no commit {base}." if base else "The repository has no commit yet: create one first."
            raise ApiError("not_found" if base else "wrong_state", text)
        return await add_worktree(repo, self._new_path(os.path.basename(repo.top), short), branch, commit)

    async def undo_add(self, made: Worktree) -> None:
        """Undo `add` if no session was created. A worktree that was changed meanwhile is kept.

        Raises:
            ApiError: it does not exist, or is not a worktree.
        """
        keeper = git_outside(self._repo(made.path))
        if (await keeper.run("worktree", "remove", made.path)).code == 0:
            await delete_branch(keeper, made.branch, made.base)

    async def state(self, path: str, project: str, base: str) -> WorktreeState:
        """The state of a worktree relative to the branch it would be merged into.

        Raises:
            ApiError: it does not exist, or is not a worktree.
        """
        repo = self._repo(path)
        head, branch = await repo.commit("HEAD"), await _branch(repo)
        dirty = await _dirty(repo, head)
        target, tip = "", ""
        outer = self._project(project, repo)
        if outer is not None:
            target, tip = await _branch(outer), await outer.commit("HEAD")
        if not head or not tip:
            return WorktreeState(branch, base, head, target, 0, 0, dirty, (), merged=False)
        async with repo.isolated(head) as git:
            counted = await git.output("rev-list", "--left-right", "--count", f"{tip}...{head}")
            behind, ahead = map(int, counted.split())
            tree, conflicts = await _merge_trees(git, tip, head)
            same = ahead == 0 or (not conflicts and tree == await _tree(git, tip))
        return WorktreeState(branch, base, head, target, ahead, behind, dirty, conflicts, merged=same)

    async def commit(self, path: str, message: str) -> str:
        """Commit all changes in a worktree; returns the commit.

        Raises:
            ApiError: invalid, wrong_state (nothing to commit), conflict (git's own message).
        """
        _check_message(message)
        repo = self._repo(path)
        await repo.check_filters()
        if _is_merging(repo):
            raise ApiError("wrong_state", "A merge is in progress in this worktree. Finish it in a terminal first.")
        git, head = repo.writable(repo.top), await repo.commit("HEAD")
        listed = await git.output("ls-files", "-z", "--stage")
        # Git would start another git in each submodule, with that one's configuration.
        links = [row.partition(b"\t")[2] for row in listed.split(b"\0") if row.startswith(_GITLINK)]
        await git.output("add", "--all", "--", ".", *(b":(exclude,literal,top)" + link for link in links))
        tree = (await git.output("write-tree")).decode().strip()
        if head and tree == await _tree(git, head):
            raise ApiError("wrong_state", "There is nothing to commit: no file has changed.")
        parents = ("-p", head) if head else ()
        commit = await _new_commit(git, tree, parents, message)
        await git.output("update-ref", "-m", "commit by the console", "HEAD", commit, *([head] if head else []))
        return commit

    async def merge(self, path: str, project: str, strategy: Strategy, message: str = "") -> str:
        """Merge a worktree's commits into the branch checked out in its project; returns the resulting commit.

        Raises:
            ApiError: wrong_state (not committed, nothing to merge), conflict (with the files).
        """
        repo = self._repo(path)
        outer = self._project(project, repo)
        if outer is None:
            raise ApiError("wrong_state", "The project is no longer the repository this worktree was made from.")
        state = await self.state(path, project, "")
        tip = await outer.commit("HEAD")
        _check_mergeable(state, strategy)
        await repo.check_filters()
        git = outer.writable(outer.top)
        commit = state.head
        if strategy != "fast_forward":
            tree, conflicts = await _merge_trees(git, tip, state.head)
            if conflicts:
                raise _conflict_error(conflicts)
            text = message or f"Merge branch '{state.branch}' into {state.target}"
            _check_message(text)
            parents = ("-p", tip) if strategy == "squash" else ("-p", tip, "-p", state.head)
            commit = await _new_commit(git, tree, parents, text)
        options = ("--ff-only", "--quiet", "--no-stat", "--no-autostash", "--no-verify-signatures")
        result = await git.run("merge", *options, commit)
        if result.code:
            raise _git_error(result)
        return commit

    async def remove(self, path: str, project: str, *, force: bool = False) -> None:
        """Remove a worktree, and its branch if all of it was merged.

        Raises:
            ApiError: wrong_state, if changes would be lost and `force` is not set.
        """
        state = await self.state(path, project, "")
        if not force and state.dirty:
            names = ", ".join(state.dirty[:5])
            text = (
                f"{len(state.dirty)} files have changes that are not committed ({names}). Commit them first, or force"
            )
            raise ApiError("wrong_state", f"{text} the removal to lose them.", dirty=list(state.dirty[:50]))
        if not force and not state.merged:
            text = (
                f"{state.ahead} commits of {state.branch} are not in {state.target or 'the project'} yet. Merge first,"
            )
            raise ApiError("wrong_state", f"{text} or force the removal: the branch stays then.", ahead=state.ahead)
        repo = self._repo(path)
        await remove_worktree(repo)
        if state.merged and state.branch.startswith(PREFIX):
            await delete_branch(git_outside(repo), state.branch, state.head)

    async def prune(self, known: Collection[str]) -> tuple[list[str], list[str]]:
        """Remove worktrees whose paths are not in `known`. Returns the removed and the kept ones."""
        gone: list[str] = []
        kept: list[str] = []
        for name in sorted(_folders(self.folder)):
            path = os.path.join(self.folder, name)
            if path in known:
                continue
            try:
                repo = self._repo(path)
                head, branch = await repo.commit("HEAD"), await _branch(repo)
                keeper = git_outside(repo)
                done = not await dirty_files(repo, head, MOST_NAMES)
                if done:
                    await remove_worktree(repo)
                if done and branch.startswith(PREFIX) and not await count_own_commits(keeper, branch, head):
                    await delete_branch(keeper, branch, head)
            except ApiError:
                done = False  # not a worktree, or its repository is gone: people may still want its files
            (gone if done else kept).append(path)
        return gone, kept

    def _repo(self, path: str) -> Repo:
        """Raises:
        ApiError: not_found, if it was not made for a session.
        """
        real = os.path.realpath(path)
        if os.path.dirname(real) != self.folder or not os.path.isdir(real):
            raise ApiError("not_found", "This session has no worktree of its own, or it is gone.")
        repo = open_repo(real, self._environment)
        if repo.top != real or not is_linked_worktree(repo):
            raise ApiError("not_found", "This directory is not a worktree that was made for a session.")
        return repo

    def _project(self, project: str, repo: Repo) -> Repo | None:
        """The worktree that `repo` was created from; None if it is gone or belongs to another repository now."""
        if not os.path.isdir(project):
            return None
        outer = open_repo(os.path.realpath(project), self._environment)
        return outer if outer.repository.common == repo.repository.common else None

    def _new_path(self, project: str, short: str) -> str:
        stem = f"{_UNUSUAL.sub('-', project).strip('-.')[:60] or 'project'}-{short}"
        path = free_path(self.folder, stem)
        if not path:
            raise ApiError("conflict", f"There are too many worktrees called {stem}. Remove some.")
        return path


def _check_message(message: str) -> None:
    if not message.strip() or "\0" in message or len(message) > LONGEST_MESSAGE:
        raise ApiError("invalid", f"Give a message of 1 to {LONGEST_MESSAGE} characters, without NUL.")


def _check_mergeable(state: WorktreeState, strategy: Strategy) -> None:
    if not state.target:
        raise ApiError("wrong_state", "The project has no branch checked out to merge into. Check one out there first.")
    if state.dirty:
        text = f"{len(state.dirty)} files have changes that are not committed. Commit them first."
        raise ApiError("wrong_state", text, dirty=list(state.dirty[:50]))
    if state.merged:
        raise ApiError("wrong_state", f"There is nothing to merge: {state.target} has all of it already.")
    if state.conflicts:
        raise _conflict_error(state.conflicts)
    if strategy == "fast_forward" and state.behind:
        text = f"{state.target} has {state.behind} commits that {state.branch} lacks, so it cannot be fast-forwarded."
        raise ApiError("conflict", f"{text} Choose merge or squash.", behind=state.behind)


def _conflict_error(names: tuple[str, ...]) -> ApiError:
    text = f"Both sides changed the same lines in {', '.join(names[:5])}. Resolve them in the session, then merge."
    return ApiError("conflict", text, conflicts=list(names[:MOST_NAMES]))


def _is_merging(repo: Repo) -> bool:
    return os.path.exists(os.path.join(repo.repository.directory, "MERGE_HEAD"))


async def _branch(repo: Repo) -> str:
    return encode_path(await checked_out_branch(repo))


async def _dirty(repo: Repo, head: str) -> tuple[str, ...]:
    return tuple(map(encode_path, await dirty_files(repo, head, MOST_NAMES)))


def _git_error(result: GitResult) -> Exception:
    return git_error(result, ApiError)


async def _merge_trees(git: Git, ours: str, theirs: str) -> tuple[str, tuple[str, ...]]:
    """The merged tree of both commits, and the files with conflicts."""
    result = await git.run("merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", ours, theirs)
    if result.code not in (0, 1):
        raise _git_error(result)
    tree, *names = result.out.split(b"\0")
    conflicts = tuple(encode_path(name) for name in dict.fromkeys(names) if name) if result.code else ()
    return tree.decode("ascii", "replace"), conflicts


async def _tree(git: Git, commit: str) -> str:
    return (await git.output("rev-parse", "--verify", f"{commit}^{{tree}}")).decode("ascii", "replace").strip()


async def _new_commit(git: Git, tree: str, parents: tuple[str, ...], message: str) -> str:
    result = await git.run("commit-tree", tree, *parents, stdin=message.strip().encode("utf-8", "replace") + b"\n")
    if result.code and "tell me who you are" in result.errors:
        text = "Git does not know the author of this commit. Set user.name and user.email with `git config --global`."
        raise ApiError("not_supported", text)
    if result.code:
        raise _git_error(result)
    return result.out.decode("ascii", "replace").strip()


def _folders(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
