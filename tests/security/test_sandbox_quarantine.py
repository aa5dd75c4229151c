"""Files that a sandboxed command creates and programs outside would execute or load are quarantined (H5-8)."""

import hashlib
import os
import struct
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bobstay.git_files.gitlinks import gitlinks
from bobstay.permissions.sandbox.launch import Sandbox
from bobstay.permissions.sandbox.mount_plan import SandboxSpec
from bobstay.permissions.sandbox.safe_repository import is_safe_repository
from bobstay.tools.base import Context
from bobstay.tools.builtin.bash import Bash, BashArgs, require_shells
from bobstay.tools.builtin.bash_output import BashOutput, BashOutputArgs
from bobstay.tools.shell_session import ShellSession
from tests.kit.repositories import git
from tests.kit.tool_context import make_context
from tests.kit.waiting import until

HASH = "1234567890123456789012345678901234567890"


def repository(folder: Path, *more: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", *more)
    git(folder, "commit", "-q", "--allow-empty", "-m", "x")
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return repository(tmp_path / "work")


@pytest.fixture
async def context(root: Path) -> AsyncIterator[Context]:
    shells = ShellSession()
    shells.grace = 0.1
    home = root.parent / "home"
    shells.sandbox = Sandbox(SandboxSpec(root=str(root), home=str(home), state=str(home / ".bobstay/sandbox")))
    yield make_context(root, shells=shells)
    await shells.close()


async def run_command(context: Context, command: str, **more: Any) -> str:
    outcome = await Bash().run(BashArgs(command, **more), context)
    assert isinstance(outcome.content, str)
    return outcome.content


# ---------------------------------------------------------------- commands


async def test_what_was_made_is_kept_under_another_name_and_the_model_is_told(context: Context, root: Path) -> None:
    text = await run_command(context, "mkdir -p a/b && echo one > a/b/.envrc && echo two > a/b/file && echo done")
    assert text.startswith("done\n")
    assert f"{root}/a/b/.envrc -> .envrc.from-sandbox" in text
    assert "outside_sandbox" in text
    assert sorted(path.name for path in (root / "a/b").iterdir()) == [".envrc.from-sandbox", "file"]
    await run_command(context, "echo three > a/b/.envrc")
    assert (root / "a/b/.envrc.from-sandbox-2").read_text() == "three\n"


async def test_a_safe_repository_stays_and_can_be_used(context: Context, root: Path) -> None:
    commit = "git -C new -c user.name=a -c user.email=a@b commit -q --allow-empty -m x"
    assert await run_command(context, f"git init -q new && {commit} && echo done") == "done"
    assert await run_command(context, "git clone -q new copy && git -C copy log --format=%s") == "x"
    assert (root / "new/.git").is_dir()
    assert (root / "copy/.git").is_dir()


async def test_a_repository_that_was_there_before_stays_whatever_is_in_it(context: Context, root: Path) -> None:
    sub = repository(root / "sub")
    git(sub, "config", "core.fsmonitor", "true")
    assert await run_command(context, "mv sub moved; mkdir sub; ls -A moved sub") == "moved:\n.git\n\nsub:"
    assert (root / "moved/.git/config").exists()


async def test_git_outside_runs_nothing_of_what_was_made_inside(context: Context, root: Path) -> None:
    """A gitlink in the index is a repository to git: `git status` enters it and reads its configuration."""
    outside = root.parent / "owned"
    attack = (
        "git init -q node_modules/x; "
        "git -C node_modules/x -c user.name=a -c user.email=a@b commit -q --allow-empty -m x; "
        f"git -C node_modules/x config core.fsmonitor 'touch {outside}; false'; "
        f"git update-index --add --cacheinfo 160000,{HASH},node_modules/x"
    )
    subprocess.run(["bash", "-c", attack], cwd=root, check=True, capture_output=True)
    git(root, "status")
    assert outside.exists()
    subprocess.run(["rm", "-rf", str(outside), "node_modules"], cwd=root, check=True)
    git(root, "reset", "-q")
    text = await run_command(context, attack)
    assert "node_modules/x/.git -> .git.from-sandbox" in text
    git(root, "status")
    assert not outside.exists()


async def test_of_what_came_while_a_command_ran_in_the_background_only_hostile_repositories_are_renamed(
    context: Context, root: Path
) -> None:
    """Other files may have been created by a person meanwhile."""
    command = "git init -q hostile; git -C hostile config core.fsmonitor x; mkdir a; touch a/.envrc; echo ready; cat"
    text = await run_command(context, f"mkfifo way; {command} < way", run_in_background=True)
    shells = require_shells(context)
    (job,) = shells.jobs.values()
    await until((root / "a/.envrc").exists)
    repository(root / "decent")
    (root / "way").write_text("")
    await job.finished
    assert job.id in text
    shown = await BashOutput().run(BashOutputArgs(job.id), context)
    assert "hostile/.git -> .git.from-sandbox" in str(shown.content)
    assert (root / "a/.envrc").exists()
    assert (root / "decent/.git").is_dir()
    assert not (root / "hostile/.git").exists()


# ---------------------------------------------------------------- safe repositories


def test_what_git_itself_makes_is_safe(tmp_path: Path) -> None:
    one = repository(tmp_path / "one")
    git(tmp_path, "clone", "-q", "one", "clone")
    git(tmp_path, "clone", "-q", "--bare", "one", "bare")
    git(one, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(tmp_path / "clone"), "sub")
    git(one, "worktree", "add", "-q", "../tree")
    for path in ("one/.git", "clone/.git", "bare", "one/sub/.git"):
        assert is_safe_repository(str(tmp_path / path)), path
    assert not is_safe_repository(str(tmp_path / "tree/.git"))
    assert is_safe_repository(str(tmp_path / "tree/.git"), {str(one / ".git")})


@pytest.mark.parametrize(
    "line",
    [
        "[core]\n\tfsmonitor = x",
        "[core]\n\tFSMonitor=x",
        "[core] fsmonitor = x",
        "[core]\n\tbare = false\\\n\n\tfsmonitor = x",
        "[core] ; c\n\thooksPath = x",
        "[Core]\n sshCommand = x",
        '[filter "a"]\n\tclean = x',
        "[filter.a]\n\tclean = x",
        '[remote "o"]\n\tuploadpack = x',
        "[alias]\n\ts = !x",
        "[include]\n\tpath = x",
        '[includeIf "gitdir:/"]\n\tpath = x',
        "[extensions]\n\tworktreeConfig = true",
        '[submodule "s"]\n\tupdate = !x',
        "[diff]\n\texternal = x",
        "[user]\n\tsigningkey = x",
        "nonsense",
    ],
)
def test_what_may_run_a_program_is_not(tmp_path: Path, line: str) -> None:
    one = repository(tmp_path / "one")
    assert is_safe_repository(str(one / ".git"))
    with (one / ".git/config").open("a") as file:
        file.write(f"\n{line}\n")
    assert not is_safe_repository(str(one / ".git"))


def test_a_nul_byte_does_not_disguise_the_name_of_a_setting(tmp_path: Path) -> None:
    """Git sees `core.fsmonitor` here: a name ends at a NUL byte."""
    one = repository(tmp_path / "one")
    with (one / ".git/config").open("a") as file:
        file.write('\n[core "fsmonitor\0"]\n\tbare = ./evil\n')
    assert git(one, "config", "core.fsmonitor").strip() == "./evil"
    assert not is_safe_repository(str(one / ".git"))


def test_a_space_at_the_end_of_a_git_file_does_not_lead_elsewhere(tmp_path: Path) -> None:
    repository(tmp_path / "harmless")
    hostile = repository(tmp_path / "hostile")
    git(hostile, "config", "core.fsmonitor", "./evil")
    tree = tmp_path / "tree"
    tree.mkdir()
    (hostile / ".git").rename(tmp_path / "data ")
    (tmp_path / "harmless/.git").rename(tmp_path / "data")
    (tree / ".git").write_text("gitdir: ../data \n")
    assert git(tree, "config", "core.fsmonitor").strip() == "./evil"
    assert not is_safe_repository(str(tree / ".git"))


def test_a_pipe_as_configuration_is_not_safe(tmp_path: Path) -> None:
    one = repository(tmp_path / "one")
    (one / ".git/config").unlink()
    os.mkfifo(one / ".git/config")
    assert not is_safe_repository(str(one / ".git"))


# ---------------------------------------------------------------- folders in the index

NAMES = st.lists(
    st.text(alphabet="abcdef.-_ äöü", min_size=1, max_size=30).filter(lambda name: name.strip(".") and name[0] != "."),
    unique=True,
    max_size=12,
)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(files=NAMES, links=NAMES, form=st.sampled_from(["2", "4", "sha256", "split"]))
def test_folders_in_the_index_are_found_as_git_lists_them(
    tmp_path_factory: pytest.TempPathFactory, files: list[str], links: list[str], form: str
) -> None:
    folder = tmp_path_factory.mktemp("index")
    git(folder, "init", "-q", *(["--object-format=sha256"] if form == "sha256" else []))
    object_ = HASH + "1" * 24 if form == "sha256" else HASH
    lines = [f"100644 {object_}\tf/{name}\n" for name in files] + [f"160000 {object_}\tl/{name}\n" for name in links]
    subprocess.run(["git", "update-index", "--index-info"], cwd=folder, input="".join(lines), text=True, check=True)
    if form in "24":
        git(folder, "update-index", "--index-version", form)
    elif form == "split":
        git(folder, "update-index", "--split-index")
    listed = git(folder, "ls-files", "-s", "-z").split("\0")
    expected = {line.partition("\t")[2] for line in listed if line.startswith("160000")}
    assert set(gitlinks(str(folder / ".git"), (folder / ".git/config").read_bytes())) == expected


@pytest.mark.parametrize("way", ["link", "continued"])
def test_a_folder_in_the_index_is_not_hidden_from_us_alone(tmp_path: Path, way: str) -> None:
    git(tmp_path, "init", "-q", *(["--object-format=sha256"] if way == "continued" else []))
    length = 64 if way == "continued" else 40
    git(tmp_path, "update-index", "--add", "--cacheinfo", f"160000,{'1' * length},l")
    if way == "link":
        (tmp_path / ".git/index").rename(tmp_path / "elsewhere")
        (tmp_path / ".git/index").symlink_to("../elsewhere")
    else:
        config = tmp_path / ".git/config"
        config.write_text(config.read_text().replace("sha256", "sha\\\n256"))
    assert git(tmp_path, "ls-files") == "l\n"
    assert gitlinks(str(tmp_path / ".git"), (tmp_path / ".git/config").read_bytes()) == ("l",)


@pytest.mark.parametrize(
    ("mode", "length", "name", "after"),
    [
        (0o160000, 1, b"l", b"ZZZZ\0\0\0\4\0\0\xe0\0"),  # an extension that looks like the beginning of an entry
        (0o160000, 5, b"l\0xyz", b""),
        (0o160000, 2, b"l", b""),
        (0o160755, 1, b"l", b""),
        (0o360000, 1, b"l", b""),
    ],
)
@pytest.mark.parametrize("version", [2, 4])
def test_a_folder_in_a_crafted_index_is_found_if_git_finds_it(
    tmp_path: Path, version: int, mode: int, length: int, name: bytes, after: bytes
) -> None:
    git(tmp_path, "init", "-q")
    git(tmp_path, "init", "-q", "l")
    git(tmp_path / "l", "config", "core.fsmonitor", "true")
    entry = (
        struct.pack(">10I20sH", *[0] * 6, mode, *[0] * 3, b"1" * 20, length) + (b"\0" if version == 4 else b"") + name
    )
    entry = entry.ljust(64 + length if version == 4 else (62 + length + 8) // 8 * 8, b"\0")
    content = struct.pack(">4sII", b"DIRC", version, 1) + entry + after
    (tmp_path / ".git/index").write_bytes(content + hashlib.sha1(content, usedforsecurity=False).digest())
    assert git(tmp_path, "ls-files") == "l\n"
    assert gitlinks(str(tmp_path / ".git")) == ("l",)
    assert not is_safe_repository(str(tmp_path / ".git"))


def test_a_repository_whose_index_is_too_large_to_read_is_not_safe(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    assert is_safe_repository(str(tmp_path / ".git"))
    with open(tmp_path / ".git/index", "wb") as file:
        file.truncate(1 << 26)
    assert not is_safe_repository(str(tmp_path / ".git"))


@given(st.binary(max_size=400))
def test_an_index_of_any_bytes_is_read_to_an_end(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    folder = tmp_path_factory.mktemp("bytes")
    (folder / "index").write_bytes(b"DIRC\0\0\0\4\0\0\0\5" + data + b"\0\0\xe0\0")
    (folder / "sharedindex.x").write_bytes(b"DIRC\0\0\0\2\0\0\0\5" + data + b"\0\0\xe0\0" + data)
    gitlinks(str(folder))
