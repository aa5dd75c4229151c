"""Placeholders for missing files: they exist as long as a sandbox needs them, and no longer (H5-8)."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from bobstay.permissions.sandbox import SandboxError, placeholders
from bobstay.permissions.sandbox.launch import Sandbox, SandboxedCommand
from bobstay.permissions.sandbox.mount_plan import SandboxSpec
from bobstay.permissions.sandbox.placeholders import Placeholder, PlaceholderLease, is_placeholder


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    (tmp_path / "home").mkdir()
    return tmp_path / "work"


@pytest.fixture
def sandbox(work: Path) -> Iterator[Sandbox]:
    made = Sandbox(spec(work))
    yield made
    made.close()


def spec(work: Path) -> SandboxSpec:
    home = work.parent / "home"
    return SandboxSpec(root=str(work), home=str(home), state=str(home / ".bobstay/sandbox"))


class Running:
    """A command in a sandbox that waits until it is released."""

    def __init__(self, sandbox: Sandbox, work: Path, script: str) -> None:
        self.entry: SandboxedCommand = sandbox.enter(
            ["/bin/bash", "-c", script], cwd=str(work), environment={"PATH": "/usr/bin:/bin"}
        )
        self.process = subprocess.Popen(
            self.entry.command,
            env=self.entry.environment,
            pass_fds=self.entry.keep,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.entry.release_descriptors()

    def end(self) -> str:
        output, _ = self.process.communicate("go\n", timeout=200)
        self.entry.finish()
        return output


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_second_sandbox_keeps_the_placeholders_of_one_that_ended(work: Path, sandbox: Sandbox) -> None:
    """Removing the file under a mount would remove the mount in sandboxes that still need it."""
    script = "read; for f in .mcp.json .vscode/x .git/HEAD; do echo evil > $f; done; ls -A"
    first = Running(sandbox, work, script)
    second = Running(sandbox, work, script)
    first.end()
    assert (work / ".mcp.json").is_socket()
    output = second.end()
    assert output.count("Read-only file system") + output.count("Permission denied") == 3
    assert names(work) == []


def test_sandboxes_of_two_processes_share_their_placeholders(work: Path, sandbox: Sandbox) -> None:
    ours = Running(sandbox, work, "read; echo evil > .envrc; echo evil > .git/config; true")
    other = (
        "import os, sys\nfrom bobstay.permissions.sandbox.launch import Sandbox\n"
        "from bobstay.permissions.sandbox.mount_plan import SandboxSpec\nimport subprocess\n"
        "work, home = sys.argv[1:]\n"
        "sandbox = Sandbox(SandboxSpec(root=work, home=home, state=home + '/.bobstay/sandbox'))\n"
        "entry = sandbox.enter(['/bin/true'], cwd=work, environment={})\n"
        "assert subprocess.run(entry.command, env=entry.environment, pass_fds=entry.keep).returncode == 0\n"
        "entry.finish()\nsandbox.close()\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    arguments = [sys.executable, "-c", other, str(work), str(work.parent / "home")]
    subprocess.run(arguments, check=True, env=environment, timeout=200)
    assert (work / ".envrc").is_socket()
    assert ours.end().count("evil") == 0
    assert names(work) == []


def test_a_crash_leaves_placeholders_and_the_next_start_removes_them(work: Path, sandbox: Sandbox) -> None:
    crashing = (
        "import os, signal, sys\nfrom bobstay.permissions.sandbox.launch import Sandbox\n"
        "from bobstay.permissions.sandbox.mount_plan import SandboxSpec\nwork, home = sys.argv[1:]\n"
        "sandbox = Sandbox(SandboxSpec(root=work, home=home, state=home + '/.bobstay/sandbox'))\n"
        "sandbox.enter(['true'], cwd=work, environment={})\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    arguments = [sys.executable, "-c", crashing, str(work), str(work.parent / "home")]
    died = subprocess.run(arguments, check=False, env=environment, timeout=200)
    assert died.returncode == -signal.SIGKILL
    assert (work / ".mcp.json").is_socket()
    placeholders.sweep(sandbox.spec.state)
    assert names(work) == []
    assert Running(sandbox, work, "read; echo fine").end() == "fine\n"
    left = list(Path(sandbox.spec.state, "temporary").iterdir())
    assert len(left) == 1, "the private folder of the dead is gone, ours is there"


def test_what_came_into_being_in_the_meantime_is_not_removed(work: Path, sandbox: Sandbox) -> None:
    running = Running(sandbox, work, "read")
    (work / ".mcp.json").unlink()
    (work / ".mcp.json").write_text("{}")
    (work / ".vscode").chmod(0o700)
    (work / ".vscode/settings.json").write_text("{}")
    running.end()
    assert names(work) == [".mcp.json", ".vscode"]


def test_many_starts_and_ends_at_once_lose_and_leave_nothing(work: Path, tmp_path: Path) -> None:
    wanted = [Placeholder(f"{work}/.m{number}", "socket") for number in range(5)] + [
        Placeholder(f"{work}/.d", "folder")
    ]
    broken: list[str] = []

    def again() -> None:
        for _ in range(60):
            lease = PlaceholderLease(str(tmp_path / "state"), [str(work)])
            lease.put(0, wanted)
            broken.extend(one.path for one in wanted if not is_placeholder(one.path))
            lease.release()

    threads = [threading.Thread(target=again) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert broken == []
    assert names(work) == []


def test_git_on_the_host_works_while_a_sandbox_runs(work: Path, sandbox: Sandbox) -> None:
    subprocess.run(["git", "init", "-q", "-b", "main", work], check=True)
    (work / "a").write_text("one\n")
    running = Running(sandbox, work, "read")
    git = ["git", "-C", str(work), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-qm", "x"], check=True)
    done = subprocess.run([*git, "status", "--short"], check=True, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("", "")
    listed = subprocess.run([*git, "ls-files"], check=True, capture_output=True, text=True)
    assert listed.stdout == "a\n"
    running.end()
    assert names(work) == [".git", "a"]


def test_a_workspace_that_cannot_be_written_needs_no_placeholders(work: Path, tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    lease = PlaceholderLease(state, [str(work)])
    assert lease.put(0, [Placeholder("/proc/self/.mcp.json", "socket")]) == {"/proc/self/.mcp.json"}
    lease.release()


def test_notes_that_cannot_be_kept_mean_that_nothing_runs(work: Path) -> None:
    made = Sandbox(SandboxSpec(root=str(work), home=str(work.parent / "home"), state="/proc/self/nothing"))
    with pytest.raises(SandboxError, match="did not run"):
        made.enter(["true"], cwd=str(work), environment={})
