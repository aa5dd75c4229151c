"""Hostile repositories that try to run programs when they are only read: nothing is ever started."""

import asyncio
import os
from pathlib import Path

import pytest

from bobstay.server.errors import ApiError
from bobstay.server.files.repository_lookup import check_branch, open_repo
from bobstay.server.worktrees import Worktrees
from tests.kit.environments import PATH
from tests.kit.repositories import git, repository
from tests.kit.waiting import DEADLINE
from tests.server.files.files_host import FilesHost

SETTINGS = {
    "core.fsmonitor": "{trap}",
    "core.hooksPath": "{folder}/hooks",
    "core.pager": "{trap}",
    "core.editor": "{trap}",
    "core.sshCommand": "{trap}",
    "core.alternateRefsCommand": "{trap}",
    "diff.external": "{trap}",
    "diff.evil.textconv": "{trap}",
    "diff.evil.command": "{trap}",
    "filter.evil.clean": "{trap}",
    "filter.evil.smudge": "{trap}",
    "filter.evil.process": "{trap}",
    "merge.evil.driver": "{trap}",
    "gpg.program": "{trap}",
    "credential.helper": "!{trap}",
    "alias.diff": "!{trap}",
    "alias.status": "!{trap}",
    "interactive.diffFilter": "{trap}",
    "submodule.recurse": "true",
    "extensions.partialClone": "origin",
    "remote.origin.promisor": "true",
    "remote.origin.url": "ext::{trap}",
    "remote.origin.uploadpack": "{trap}",
    "commit.gpgSign": "true",
}


@pytest.fixture
def trapped(host: FilesHost) -> Path:
    """A repository in which every setting that can name a program names one that leaves a trace."""
    work = repository(host.work, readme="first\n", **{".gitattributes": "* diff=evil filter=evil merge=evil\n"})
    trap = host.root / "trap"
    trap.write_text(f'#!/bin/sh\necho "$0 $*" >> {host.root}/sprung\ncat\n')
    trap.chmod(0o755)
    hooks = host.root / "hooks"
    hooks.mkdir()
    for name in (
        "pre-commit",
        "post-commit",
        "post-checkout",
        "post-merge",
        "reference-transaction",
        "post-index-change",
    ):
        (hooks / name).write_text(trap.read_text())
        (hooks / name).chmod(0o755)
        (work / ".git" / "hooks" / name).write_text(trap.read_text())
        (work / ".git" / "hooks" / name).chmod(0o755)
    with open(work / ".git" / "config", "a") as file:
        for key, value in SETTINGS.items():
            section, _, name = key.rpartition(".")
            kind, _, sub = section.partition(".")
            head = f'[{kind} "{sub}"]' if sub else f"[{kind}]"
            file.write(f"{head}\n\t{name} = {value.format(trap=trap, folder=host.root)}\n")
    (work / "readme").write_text("changed\n")
    return work


def sprung(host: FilesHost) -> str:
    trace = host.root / "sprung"
    return trace.read_text() if trace.exists() else ""


def test_the_trap_works(host: FilesHost, trapped: Path) -> None:
    """Git as everybody calls it does run what the repository names: else the tests below would show nothing."""
    git(trapped, "-c", "extensions.partialClone=", "diff", "--stat")

    assert sprung(host)


async def test_looking_at_changes_runs_nothing_the_repository_names(host: FilesHost, trapped: Path) -> None:
    """FM-47: hooks, monitors, filters, converters, external diffs, aliases, lazy fetches."""
    session = host.session()
    for path in ("diff", "files", "complete"):
        reply = await host.get(f"/sessions/{session.id}/{path}")
        assert reply.status == 200, reply.body
    found = (await host.get(f"/sessions/{session.id}/diff")).json

    assert [file["path"] for file in found["files"]] == ["readme"]
    assert found["files"][0]["hunks"][0]["text"] == "-first\n+changed"
    assert sprung(host) == ""


async def test_a_setting_brought_in_by_an_include_runs_nothing_either(host: FilesHost, trapped: Path) -> None:
    config = trapped / ".git" / "config"
    (trapped / "innocent").write_text(config.read_text())
    config.write_text("[core]\n\trepositoryformatversion = 0\n[include]\n\tpath = ../innocent\n")
    session = host.session()

    assert (await host.get(f"/sessions/{session.id}/diff")).status == 200
    assert sprung(host) == ""


async def test_a_submodule_of_bad_intent_is_not_looked_into(host: FilesHost) -> None:
    """Git would start another git in it, which obeys the submodule's configuration."""
    repository(host.work)
    inner = repository(host.work / "inner")
    git(
        host.work,
        "add",
        "inner",
        GIT_CONFIG_COUNT="1",
        GIT_CONFIG_KEY_0="advice.addEmbeddedRepo",
        GIT_CONFIG_VALUE_0="false",
    )
    git(host.work, "commit", "--quiet", "-m", "with inner")
    trap = host.root / "trap"
    trap.write_text(f"#!/bin/sh\necho sprung >> {host.root}/sprung\ncat\n")
    trap.chmod(0o755)
    (inner / ".gitattributes").write_text("* filter=evil\n")
    git(inner, "config", "core.fsmonitor", str(trap))
    git(inner, "config", "filter.evil.clean", str(trap))
    (inner / "readme").write_text("changed\n")
    session = host.session()

    assert (await host.get(f"/sessions/{session.id}/diff")).status == 200
    assert sprung(host) == ""
    git(host.work, "status")
    assert sprung(host), "git itself would have run it"


async def test_a_git_in_the_project_is_not_the_git_that_is_run(host: FilesHost, trapped: Path) -> None:
    """FM-47: a program called git in the work tree, and a PATH that leads there."""
    fake = trapped / "bin" / "git"
    fake.parent.mkdir()
    fake.write_text(f"#!/bin/sh\necho fake >> {host.root}/sprung\n")
    fake.chmod(0o755)
    host.environment.children["PATH"] = f"{fake.parent}:.:{PATH}"
    session = host.session()

    assert (await host.get(f"/sessions/{session.id}/diff")).status == 200
    assert sprung(host) == ""


@pytest.mark.parametrize("way", ["file", "link", "common"])
async def test_a_work_tree_cannot_borrow_another_repository(host: FilesHost, way: str) -> None:
    """A `.git` that leads elsewhere would show that repository's files as removed ones."""
    secret = repository(host.outside / "secret", **{"secret.txt": "a secret\n"})
    if way == "file":
        (host.work / ".git").write_text(f"gitdir: {secret}/.git\n")
    elif way == "link":
        (host.work / ".git").symlink_to(secret / ".git")
    else:
        repository(host.work)
        (host.work / ".git" / "commondir").write_text(f"{secret}/.git\n")
    session = host.session()
    reply = await host.get(f"/sessions/{session.id}/diff")

    assert b"secret" not in reply.body
    assert (reply.status, reply.code) == (422, "not_supported")


async def test_a_work_tree_setting_does_not_lead_git_elsewhere(host: FilesHost) -> None:
    repository(host.work)
    (host.outside / "private").write_text("x")
    git(host.work, "config", "core.worktree", str(host.outside))
    session = host.session()
    reply = await host.get(f"/sessions/{session.id}/diff")

    assert reply.status == 200
    assert b"private" not in reply.body


async def test_pipes_in_the_place_of_git_files_do_not_hang_the_server(host: FilesHost) -> None:
    repository(host.work)
    (host.work / "pipe").touch()
    git(host.work, "add", "pipe")
    git(host.work, "commit", "--quiet", "-m", "pipe")
    (host.work / "pipe").unlink()
    os.mkfifo(host.work / "pipe")
    os.mkfifo(host.work / "new-pipe")
    exclude = host.work / ".git" / "info" / "exclude"
    exclude.unlink(missing_ok=True)
    exclude.parent.mkdir(exist_ok=True)
    os.mkfifo(exclude)
    session = host.session()
    reply = await asyncio.wait_for(host.get(f"/sessions/{session.id}/diff"), DEADLINE)

    assert reply.status == 200
    assert "readme" not in [file["path"] for file in reply.json["files"]]


async def test_writing_runs_nothing_of_the_repository_or_refuses(host: FilesHost, trapped: Path) -> None:
    """A person asks for a work tree, a commit, a merge: still no program the repository names."""
    trees = Worktrees(str(host.root / "bobstay" / "worktrees"), host.environment.children)
    with pytest.raises(ApiError) as refused:
        await trees.add(str(trapped), "12345678", "side")
    assert refused.value.problem.code == "not_supported"
    assert "filter.evil" in refused.value.problem.message
    assert sprung(host) == ""


async def test_without_filters_a_trapped_repository_can_be_worked_with(host: FilesHost, trapped: Path) -> None:
    """Hooks, monitors and signing programs are overridden, so nothing need be refused for them."""
    for section in ("filter.evil", "merge.evil"):
        git(trapped, "config", "--remove-section", section, GIT_DIR=str(trapped / ".git"))
    git(trapped, "config", "--unset", "extensions.partialClone")
    (trapped / "readme").write_text("first\n")
    (host.root / "sprung").unlink(missing_ok=True)
    trees = Worktrees(str(host.root / "bobstay" / "worktrees"), host.environment.children)
    tree = await trees.add(str(trapped), "12345678", "side")
    (Path(tree.path) / "new").write_text("x\n")
    await trees.commit(tree.path, "new file")
    await trees.merge(tree.path, tree.project, "merge")
    await trees.remove(tree.path, tree.project)

    assert (trapped / "new").read_text() == "x\n"
    assert sprung(host) == ""


@pytest.mark.parametrize(
    "name",
    ["-x", "a..b", "a b", "a~1", "a^", "a:b", "x.lock", "a/.b", "/a", "a/", "HEAD", "@{-1}", "", "a\nb", "é", "a//b"],
)
def test_a_branch_of_a_dangerous_name_is_refused(name: str) -> None:
    """FM-48: never an option, and nothing git would take for more than a name."""
    with pytest.raises(ApiError):
        check_branch(name)


def test_a_submodule_is_a_repository_of_its_own(host: FilesHost) -> None:
    inner = repository(host.root / "library")
    repository(host.work)
    git(host.work, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "library")

    assert open_repo(str(host.work / "library"), {"PATH": PATH}).top == str(host.work / "library")
