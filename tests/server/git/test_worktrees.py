"""Worktrees of sessions: created, committed, merged and removed without losing work."""

import os
from pathlib import Path
from typing import Any

import pytest

from bobstay.repositories.worktree import Worktree
from bobstay.server.errors import ApiError
from bobstay.server.sessions.open_session import OpenSession
from bobstay.server.worktrees import Worktrees
from tests.kit.repositories import git, repository
from tests.server.files.files_host import FilesHost

ID = "1234abcd-5555-4666-8777-888888888888"


@pytest.fixture
def trees(host: FilesHost) -> Worktrees:
    return Worktrees(str(host.root / "bobstay" / "worktrees"), host.environment.children)


@pytest.fixture
def project(host: FilesHost) -> Path:
    return repository(host.root / "my project", file="one\ntwo\nthree\n")


def code(error: "pytest.ExceptionInfo[ApiError]") -> str:
    return error.value.problem.code


def session_in(host: FilesHost, tree: Worktree) -> OpenSession:
    return host.session(Path(tree.path), worktree=tree.path, branch=tree.branch, base=tree.base, project=tree.project)


async def test_a_work_tree_has_its_own_directory_and_branch(trees: Worktrees, project: Path) -> None:
    """Issue: worktree per session, under the server's folder, readable by its owner only."""
    tree = await trees.add(str(project), ID)

    assert Path(tree.path).parent == Path(trees.folder)
    assert Path(tree.path).name == "my-project-1234abcd"
    assert os.stat(trees.folder).st_mode & 0o077 == 0
    assert (tree.branch, tree.project) == ("bobstay/1234abcd", str(project))
    assert git(Path(tree.path), "branch", "--show-current").strip() == tree.branch
    assert git(project, "rev-parse", "HEAD").strip() == tree.base
    assert git(project, "status", "--porcelain") == ""
    again = await trees.add(str(project), ID, "feature/other", "main")
    assert (Path(again.path).name, again.branch) == ("my-project-1234abcd-2", "feature/other")


async def test_what_cannot_be_made_says_why_and_leaves_nothing(
    trees: Worktrees, project: Path, host: FilesHost
) -> None:
    git(project, "branch", "taken")
    before = git(project, "for-each-ref")
    empty = host.root / "empty"
    empty.mkdir()
    git(empty, "init", "--quiet")
    tries: list[tuple[Path, str, str, str]] = [
        (host.work, "", "", "not_supported"),
        (project, "taken", "", "conflict"),
        (project, "taken/below", "", "conflict"),
        (project, "--force", "", "invalid"),
        (project, "new", "no-such-commit", "not_found"),
        (project, "new", "--detach", "invalid"),
        (empty, "new", "", "wrong_state"),
    ]
    for place, branch, base, expected in tries:
        with pytest.raises(ApiError) as error:
            await trees.add(str(place), ID, branch, base)
        assert code(error) == expected, (branch, base)
        assert error.value.problem.message.endswith(".")

    assert git(project, "for-each-ref") == before
    assert not os.path.isdir(trees.folder) or os.listdir(trees.folder) == []


async def test_commit_takes_all_changes_and_says_when_there_are_none(
    host: FilesHost, trees: Worktrees, project: Path
) -> None:
    tree = await trees.add(str(project), ID)
    session = session_in(host, tree)
    top = Path(tree.path)
    (top / "file").write_text("changed\n")
    (top / "new\nname").write_text("x")
    (top / ".gitignore").write_text("*.log\n")
    (top / "noise.log").write_text("")
    url = f"/sessions/{session.id}/worktree"
    before = (await host.get(url)).json
    reply = await host.post(f"{url}/commit", {"message": "--amend\n\nwith ünïcode"})

    assert set(before["dirty"]) == {"file", "new\nname", ".gitignore"}
    assert reply.status == 200, reply.body
    assert git(top, "log", "-1", "--format=%B").strip() == "--amend\n\nwith ünïcode"
    assert git(top, "rev-parse", "HEAD").strip() == reply.json["commit"]
    assert (reply.json["worktree"]["ahead"], reply.json["worktree"]["dirty"]) == (1, [])
    assert git(top, "status", "--porcelain") == ""
    again = await host.post(f"{url}/commit", {"message": "again"})
    assert (again.status, again.code) == (409, "wrong_state")
    for message in ("", " \n", "a\0b", "x" * 70_000):
        assert (await host.post(f"{url}/commit", {"message": message})).status == 422


@pytest.mark.parametrize(("strategy", "parents"), [("merge", 2), ("squash", 1), ("fast_forward", 1)])
async def test_merging_brings_it_into_the_project(
    host: FilesHost, trees: Worktrees, project: Path, strategy: str, parents: int
) -> None:
    tree = await trees.add(str(project), ID)
    session = session_in(host, tree)
    for number in range(2):
        Path(tree.path, f"new{number}").write_text("x\n")
        await trees.commit(tree.path, f"commit {number}")
    (project / "untouched").write_text("somebody's own, not committed\n")
    reply = await host.post(f"/sessions/{session.id}/worktree/merge", {"strategy": strategy})

    assert reply.status == 200, reply.body
    assert (project / "new1").read_text() == "x\n"
    assert git(project, "rev-parse", "HEAD").strip() == reply.json["commit"]
    assert len(git(project, "rev-parse", "HEAD^@").split()) == parents
    assert reply.json["worktree"]["merged"]
    assert git(project, "status", "--porcelain") == "?? untouched\n"
    again = await host.post(f"/sessions/{session.id}/worktree/merge", {"strategy": strategy})
    assert (again.status, again.code) == (409, "wrong_state")
    gone = await host.ask("DELETE", f"/sessions/{session.id}/worktree")
    assert gone.status == 204
    assert not os.path.exists(tree.path)
    assert tree.branch not in git(project, "branch")
    assert host.registry.view(session.id).config.worktree == ""
    assert (await host.get(f"/sessions/{session.id}/worktree")).code == "not_found"


async def test_conflicts_are_seen_before_and_refused_after(host: FilesHost, trees: Worktrees, project: Path) -> None:
    tree = await trees.add(str(project), ID)
    session = session_in(host, tree)
    Path(tree.path, "file").write_text("one\nHERE\nthree\n")
    await trees.commit(tree.path, "here")
    (project / "file").write_text("one\nTHERE\nthree\n")
    git(project, "commit", "--all", "--quiet", "-m", "there")
    before = git(project, "for-each-ref"), (project / "file").read_text()
    url = f"/sessions/{session.id}/worktree"
    state = (await host.get(url)).json

    assert (state["ahead"], state["behind"], state["conflicts"]) == (1, 1, ["file"])
    for strategy in ("merge", "squash", "fast_forward"):
        reply = await host.post(f"{url}/merge", {"strategy": strategy})
        assert (reply.status, reply.code) == (409, "conflict")
        assert reply.json["error"]["details"]["conflicts"] == ["file"]
    assert (git(project, "for-each-ref"), (project / "file").read_text()) == before


async def test_a_merge_does_not_run_over_somebodys_changes(host: FilesHost, trees: Worktrees, project: Path) -> None:
    tree = await trees.add(str(project), ID)
    session = session_in(host, tree)
    Path(tree.path, "file").write_text("theirs\n")
    Path(tree.path, "new").write_text("theirs\n")
    await trees.commit(tree.path, "theirs")
    (project / "new").write_text("mine, not committed\n")
    reply = await host.post(f"/sessions/{session.id}/worktree/merge", {"strategy": "merge"})

    assert (reply.status, reply.code) == (409, "conflict")
    assert "new" in reply.json["error"]["message"]
    assert (project / "new").read_text() == "mine, not committed\n"
    assert git(project, "log", "--format=%s").strip() == "first"


async def test_nothing_is_merged_that_is_not_committed_nor_without_a_branch(
    host: FilesHost, trees: Worktrees, project: Path
) -> None:
    tree = await trees.add(str(project), ID)
    Path(tree.path, "new").write_text("x")
    with pytest.raises(ApiError, match="not committed"):
        await trees.merge(tree.path, tree.project, "merge")
    await trees.commit(tree.path, "x")
    git(project, "checkout", "--quiet", "--detach")
    with pytest.raises(ApiError, match="no branch checked out"):
        await trees.merge(tree.path, tree.project, "merge")


async def test_removing_refuses_to_lose_anything(host: FilesHost, trees: Worktrees, project: Path) -> None:
    """Dirty or not merged: refused; forced, the commits still stay on their branch."""
    tree = await trees.add(str(project), ID)
    session = session_in(host, tree)
    url = f"/sessions/{session.id}/worktree"
    Path(tree.path, "new").write_text("x")
    dirty = await host.ask("DELETE", url)
    await trees.commit(tree.path, "worth keeping")
    ahead = await host.ask("DELETE", url)
    Path(tree.path, "more").write_text("x")

    assert (dirty.status, dirty.code) == (409, "wrong_state")
    assert dirty.json["error"]["details"]["dirty"] == ["new"]
    assert (ahead.status, ahead.code) == (409, "wrong_state")
    assert ahead.json["error"]["details"]["ahead"] == 1
    assert (await host.ask("DELETE", url, b"force=true")).status == 204
    assert not os.path.exists(tree.path)
    assert "worth keeping" in git(project, "log", "--format=%s", tree.branch)
    assert "worktrees" not in git(project, "worktree", "list", "--porcelain")


async def test_a_work_tree_with_submodules_is_committed_and_removed(
    host: FilesHost, trees: Worktrees, project: Path
) -> None:
    """Git refuses to remove one of those without being forced; whether it is dirty we know ourselves."""
    library = repository(host.root / "library")
    allow = ("-c", "protocol.file.allow=always")
    git(project, *allow, "submodule", "--quiet", "add", str(library), "library")
    git(project, "commit", "--quiet", "-m", "library")
    tree = await trees.add(str(project), ID)
    git(Path(tree.path), *allow, "submodule", "--quiet", "update", "--init")
    Path(tree.path, "new").write_text("x")
    await trees.commit(tree.path, "new")
    await trees.merge(tree.path, tree.project, "merge")
    await trees.remove(tree.path, tree.project)

    assert not os.path.exists(tree.path)
    assert git(project, "ls-tree", "HEAD", "library").startswith("160000 commit")


async def test_orphans_are_pruned_unless_they_hold_work(trees: Worktrees, project: Path) -> None:
    kept = await trees.add(str(project), "aaaaaaaa")
    clean = await trees.add(str(project), "bbbbbbbb")
    dirty = await trees.add(str(project), "cccccccc")
    Path(dirty.path, "new").write_text("x")
    foreign = Path(trees.folder, "not-a-work-tree")
    foreign.mkdir()
    (foreign / "file").write_text("x")
    committed = await trees.add(str(project), "dddddddd")
    Path(committed.path, "new").write_text("x")
    await trees.commit(committed.path, "work")
    gone, stayed = await trees.prune({kept.path})

    assert gone == [clean.path, committed.path]
    assert set(stayed) == {dirty.path, str(foreign)}
    assert Path(kept.path).is_dir()
    assert (foreign / "file").exists()
    branches = git(project, "branch")
    assert clean.branch not in branches, "it held nothing of its own"
    assert committed.branch in branches


@pytest.mark.parametrize("of_project", [True, False])
async def test_only_work_trees_of_ours_can_be_removed(
    host: FilesHost, trees: Worktrees, project: Path, of_project: bool
) -> None:
    """A configuration that names the project itself, or a link in our folder that leads there, removes nothing."""
    target = project if of_project else host.outside
    os.makedirs(trees.folder)
    link = Path(trees.folder, "link")
    link.symlink_to(target)
    for path in (target, link, Path(trees.folder), Path(trees.folder, "..", "..", target.name)):
        with pytest.raises(ApiError) as error:
            await trees.remove(str(path), str(project), force=True)
        assert code(error) in ("not_found", "not_supported")
    assert target.is_dir()


async def test_a_session_without_one_is_told_so(host: FilesHost) -> None:
    session = host.session()
    replies: list[Any] = [
        await host.get(f"/sessions/{session.id}/worktree"),
        await host.post(f"/sessions/{session.id}/worktree/commit", {"message": "x"}),
        await host.post(f"/sessions/{session.id}/worktree/merge", {}),
        await host.ask("DELETE", f"/sessions/{session.id}/worktree"),
    ]

    assert [(reply.status, reply.code) for reply in replies] == [(404, "not_found")] * 4
    assert (await host.post(f"/sessions/{session.id}/worktree/merge", {"strategy": "ours"})).status == 422


async def test_without_a_name_git_knows_nobody_commits(host: FilesHost, trees: Worktrees, project: Path) -> None:
    tree = await trees.add(str(project), ID)
    for name in ("user.name", "user.email"):
        git(project, "config", "--unset", name)
    git(project, "config", "user.useConfigOnly", "true")
    Path(tree.path, "new").write_text("x")
    with pytest.raises(ApiError) as error:
        await trees.commit(tree.path, "x")

    assert code(error) == "not_supported"
    assert "user.name" in error.value.problem.message
