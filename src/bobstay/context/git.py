"""The state of a git work tree, learned without obeying anything the work tree says."""

import os
import subprocess

STATUS_SECONDS = 0.5
_LINES = 40
_CALM = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_COUNT": "2",
    "GIT_CONFIG_KEY_0": "core.fsmonitor",
    "GIT_CONFIG_VALUE_0": "false",
    "GIT_CONFIG_KEY_1": "core.hooksPath",
    "GIT_CONFIG_VALUE_1": "/dev/null",
}


def find_repository(cwd: str) -> str | None:
    """The `.git` that `cwd` belongs to, found by looking, not by asking git."""
    folder = cwd
    while True:
        found = os.path.join(folder, ".git")
        if os.path.lexists(found):
            return found
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def branch(repository: str) -> str:
    """The name of the branch that is checked out, or the start of the commit's hash."""
    head = _head_of(repository)
    if head.startswith("ref: refs/heads/"):
        return head.removeprefix("ref: refs/heads/")
    return head[:12]


def _head_of(repository: str) -> str:
    try:
        if os.path.isfile(repository):
            with open(repository, encoding="utf-8", errors="replace") as file:
                target = file.read(4096).removeprefix("gitdir:").strip()
            repository = os.path.join(os.path.dirname(repository), target)
        with open(os.path.join(repository, "HEAD"), encoding="utf-8", errors="replace") as file:
            return file.read(4096).strip()
    except OSError:
        return ""


class Status:
    """`git status`, started now and read when it is needed. Only for trusted folders: filters may run programs."""

    def __init__(self, cwd: str, environment: dict[str, str]) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._process = subprocess.Popen(
                ["git", "status", "--porcelain=v1", "--untracked-files=normal"],
                cwd=cwd,
                env={**environment, **_CALM},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except OSError:
            return

    def read(self) -> str:
        """What it said, shortened; empty if git is missing, failed, or took too long."""
        if self._process is None:
            return ""
        try:
            output, _ = self._process.communicate(timeout=STATUS_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
            return "(not known: git took too long)"
        if self._process.returncode != 0:
            return ""
        lines = output.decode(errors="replace").splitlines()
        more = f"\n({len(lines) - _LINES} more)" if len(lines) > _LINES else ""
        return "\n".join(lines[:_LINES]) + more if lines else "(clean)"
