"""Commands of a session in its sandbox: ordinary work succeeds, the rest is refused, nothing is left (H5-8, H5-9)."""

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bobstay.permissions.access import Access
from bobstay.permissions.sandbox.availability import Availability
from bobstay.permissions.sandbox.launch import Sandbox
from bobstay.permissions.sandbox.mount_plan import SandboxSpec
from bobstay.system.process_tree import marks_of
from bobstay.tools.base import Context, Outcome, ToolError
from bobstay.tools.builtin.bash import Bash, BashArgs
from bobstay.tools.shell_job import ShellJob
from bobstay.tools.shell_session import ShellSession
from tests.kit.tool_context import Reports, make_context
from tests.kit.waiting import until


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    (tmp_path / "home").mkdir()
    return tmp_path / "work"


@pytest.fixture
async def shells(root: Path) -> AsyncIterator[ShellSession]:
    made = ShellSession()
    made.grace = 0.1
    made.sandbox = Sandbox(spec(root))
    before = sorted(root.iterdir())
    yield made
    await made.close()
    part = f":{made.session_id}:".encode()
    assert [name for name in os.listdir("/proc") if name.isdigit() and part in marks_of(int(name))] == []
    assert [
        path for path in root.iterdir() if path not in before and path.name.startswith(".") and path.name != ".git"
    ] == []
    assert list((root.parent / "home/.bobstay/sandbox").glob("temporary/*")) == []


@pytest.fixture
def context(root: Path, shells: ShellSession) -> Context:
    return make_context(root, shells=shells)


def spec(root: Path, **more: Any) -> SandboxSpec:
    home = root.parent / "home"
    return SandboxSpec(root=str(root), home=str(home), state=str(home / ".bobstay/sandbox"), **more)


async def bash(context: Context, command: str, **more: Any) -> Outcome:
    return await Bash().run(BashArgs(command, **more), context)


def text(outcome: Outcome) -> str:
    assert isinstance(outcome.content, str)
    return outcome.content


async def until_it_holds_only(folder: Path, *names: str) -> None:
    await until(lambda: sorted(path.name for path in folder.iterdir()) == sorted(names))


async def test_the_directory_stays_from_one_command_to_the_next(root: Path, context: Context) -> None:
    assert (await bash(context, "mkdir sub && cd sub")).cwd == str(root / "sub")
    assert text(await bash(context, "pwd")) == str(root / "sub")


async def test_what_is_put_into_the_temporary_folder_is_there_for_the_next_command(context: Context) -> None:
    name = f"bobstay-{os.getpid()}"
    await bash(context, f"echo kept > /tmp/{name}")
    assert text(await bash(context, f"cat $TMPDIR/{name}")) == "kept"
    assert not Path("/tmp", name).exists()


async def test_output_comes_while_the_command_runs(context: Context) -> None:
    reports = context.report
    assert isinstance(reports, Reports)
    go = context.root / "go"
    running = asyncio.create_task(bash(context, "echo early; until [ -e go ]; do sleep 0.01; done"))
    await until(lambda: any("early" in piece for piece in reports.texts))
    go.touch()
    assert not (await running).is_error


async def test_what_a_command_prints_at_its_very_end_is_not_lost(context: Context) -> None:
    assert text(await bash(context, "echo one > >(sleep 0.04; cat)")) == "one"


async def test_an_exit_code_is_the_commands_own(context: Context) -> None:
    assert text(await bash(context, "set -e; trap 'echo bye' EXIT; (exit 7)")) == "Exit code 7\nbye"


async def test_only_the_descriptors_of_a_command_are_open(context: Context) -> None:
    found = text(await bash(context, "ls -l /proc/self/fd | grep -v -e pipe: -e /dev/null -e '/proc/' -e total"))
    assert found.startswith("Exit code 1"), found


async def test_a_crash_leaves_no_memory_image(context: Context) -> None:
    assert text(await bash(context, "ulimit -c; ulimit -c unlimited 2> /dev/null || echo refused")) == "0\nrefused"


async def stopped(shells: ShellSession) -> ShellJob:
    (job,) = shells.jobs.values()
    await shells.stop(job)
    return job


async def test_a_command_that_outlasted_its_call_is_ended_with_all_it_started(
    context: Context, shells: ShellSession
) -> None:
    outcome = await bash(context, "(setsid sleep 300 &); nohup sleep 300 & sleep 300", timeout=300)
    assert "moved to the background" in text(outcome)
    job = await stopped(shells)
    assert (job.status, shells.processes(job)) == ("killed", [])


async def test_a_command_that_is_ended_may_clean_up_first(context: Context, shells: ShellSession) -> None:
    await bash(context, "trap 'echo > cleaned; exit' TERM; sleep 300 & wait", timeout=500)
    await stopped(shells)
    assert (context.root / "cleaned").exists()


async def test_a_command_that_does_not_want_to_end_is_killed(context: Context, shells: ShellSession) -> None:
    await bash(context, "trap '' TERM; echo > deaf; while :; do sleep 300; done", timeout=500)
    job = await stopped(shells)
    assert (job.status, shells.processes(job)) == ("killed", [])


async def test_a_background_command_runs_on_and_is_ended_on_request(context: Context, shells: ShellSession) -> None:
    await bash(context, "echo here; sleep 300", run_in_background=True)
    (job,) = shells.jobs.values()
    await until(lambda: b"here" in job.output.head)
    assert (context.root / ".mcp.json").is_socket()
    await shells.stop(job)
    assert job.status == "killed"


async def test_what_a_command_leaves_behind_ends_with_it_and_the_model_is_told(context: Context) -> None:
    outcome = await bash(context, "sleep 300 &")
    assert "run_in_background" in text(outcome)


async def test_a_cancelled_command_is_gone_and_so_are_its_placeholders(context: Context) -> None:
    running = asyncio.create_task(bash(context, "touch started; sleep 300"))
    await until((context.root / "started").exists)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await until_it_holds_only(context.root, "started")


async def test_git_works_and_leaves_only_its_commit(root: Path, context: Context) -> None:
    subprocess.run(["git", "init", "-q", "-b", "main", root], check=True)
    names = "-c user.name=a -c user.email=a@b.c"
    outcome = await bash(context, f"echo one > a && git add -A && git {names} commit -qm first && git status --short")
    assert not outcome.is_error, text(outcome)
    done = subprocess.run(
        ["git", "-C", root, "show", "--stat", "--format=%s"], check=True, capture_output=True, text=True
    )
    assert done.stdout.split() == ["first", "a", "|", "1", "+", "1", "file", "changed,", "1", "insertion(+)"]
    await until_it_holds_only(root, ".git", "a")
    assert not (root / ".git/commondir").exists()


async def test_git_works_in_a_linked_worktree(root: Path, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "-b", "main", root], check=True)
    git = ["git", "-C", str(root), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    tree = tmp_path / "tree"
    subprocess.run([*git, "worktree", "add", "-q", str(tree)], check=True, capture_output=True)
    shells = ShellSession()
    shells.sandbox = Sandbox(spec(tree))
    context = make_context(tree, shells=shells)
    command = "echo 1 > b; git add b && git -c user.name=a -c user.email=a@b.c commit -qm second && git log --format=%s"
    assert text(await bash(context, command)) == "second\nx"
    assert (await bash(context, f"echo x > {root}/.git/hooks/pre-commit")).is_error
    await bash(context, f"echo x > {root}/loose")
    assert not (root / "loose").exists()
    await shells.close()


async def test_a_file_that_claims_to_be_a_worktree_makes_nothing_writable(root: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    subprocess.run(["git", "init", "-q", victim], check=True)
    (root / ".git").write_text(f"gitdir: {victim}/.git\n")
    shells = ShellSession()
    shells.sandbox = Sandbox(spec(root))
    context = make_context(root, shells=shells)
    assert (await bash(context, f"echo x > {victim}/.git/description")).is_error
    await shells.close()


async def test_builds_and_tests_run(root: Path, context: Context) -> None:
    (root / "Makefile").write_text("all: out/x\nout/x:\n\tmkdir -p out\n\techo made > $@\n")
    (root / "test_it.py").write_text("import unittest\nclass T(unittest.TestCase):\n    def test(self): pass\n")
    assert "OK" in text(await bash(context, "python3 -m unittest test_it 2>&1"))
    assert "4" in text(await bash(context, "python3 -c 'import multiprocessing as m; print(m.Pool(2).map(abs, [-4]))'"))
    if os.path.exists("/usr/bin/make"):
        assert not (await bash(context, "make")).is_error
        assert (root / "out/x").read_text() == "made\n"


async def test_folders_that_were_added_can_be_written(root: Path, tmp_path: Path, context: Context) -> None:
    added = tmp_path / "added"
    added.mkdir()
    assert (await bash(context, f"echo x > {added}/f")).is_error
    context.directories = (root, added)
    assert not (await bash(context, f"echo x > {added}/f")).is_error
    assert (await bash(context, f"echo x > {added}/.envrc")).is_error
    await until_it_holds_only(added, "f")


async def test_the_home_is_never_writable_even_as_a_workspace(tmp_path: Path) -> None:
    shells = ShellSession()
    shells.sandbox = Sandbox(
        SandboxSpec(root=str(tmp_path), home=str(tmp_path), state=str(tmp_path / ".bobstay/sandbox"))
    )
    context = make_context(tmp_path, shells=shells)
    assert (await bash(context, f"echo x > {tmp_path}/.bashrc")).is_error
    await shells.close()
    assert not (tmp_path / ".bashrc").exists()


async def test_long_output_can_be_read_by_the_next_command(root: Path, tmp_path: Path) -> None:
    spill = tmp_path / "home/.bobstay/output/session"
    shells = ShellSession()
    shells.sandbox = Sandbox(spec(root, shown=(str(spill),)))
    context = make_context(root, shells=shells)
    context.spill = spill
    assert str(spill) in text(await bash(context, "seq 100000"))
    assert text(await bash(context, f"tail -n 1 {spill}/*.output; cat {spill}/../../x 2>&1 | wc -l")) == "100000\n1"
    long = "echo " + "x" * 200_000 + " | wc -c"
    assert text(await bash(context, long)) == "200001"
    assert (await bash(context, f"echo x >> {spill}/own")).is_error
    await shells.close()


async def test_a_refusal_says_how_to_ask_for_more(context: Context) -> None:
    outcome = await bash(context, "touch /etc/bobstay-probe")
    assert outcome.is_error
    assert "outside_sandbox" in text(outcome)
    assert "outside_sandbox" not in text(await bash(context, "false"))
    assert "outside_sandbox" not in text(await bash(context, "echo Read-only file system"))


async def test_a_command_let_out_runs_outside(root: Path, tmp_path: Path, context: Context) -> None:
    assert not (await bash(context, f"echo x > {tmp_path}/made", outside_sandbox=True)).is_error
    assert (tmp_path / "made").exists()


async def test_the_request_to_leave_is_stated_only_where_there_is_a_sandbox(root: Path, context: Context) -> None:
    args = BashArgs("ls", outside_sandbox=True)
    assert Bash().access(args, context) == (Access("exec", "ls"), Access("outside", "ls"))
    assert Bash().access(args, make_context(root, shells=ShellSession())) == (Access("exec", "ls"),)


async def test_without_a_sandbox_that_works_nothing_runs(root: Path, tmp_path: Path) -> None:
    shells = ShellSession()
    shells.sandbox = Sandbox(spec(root), Availability(found=(("bwrap", "bubblewrap (bwrap) is not installed"),)))
    context = make_context(root, shells=shells)
    with pytest.raises(ToolError, match="apt-get install bubblewrap"):
        await bash(context, f"touch {tmp_path}/made")
    await shells.close()
    assert not (tmp_path / "made").exists()


async def test_a_sandbox_that_breaks_while_it_is_set_up_runs_nothing(root: Path, tmp_path: Path) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    broken.chmod(0o755)
    shells = ShellSession()
    shells.sandbox = Sandbox(spec(root), Availability("bwrap", str(broken)))
    context = make_context(root, shells=shells)
    outcome = await bash(context, "echo ran")
    assert outcome.is_error
    assert "did not run" in text(outcome)
    await shells.close()
