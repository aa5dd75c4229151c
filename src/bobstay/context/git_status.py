"""Reads the state of a git worktree without running programs that its configuration names."""

import os
import re
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress

from bobstay.config.git_hardening import NO_PROGRAMS, USUAL_PATH
from bobstay.config.trust import filter_search_path
from bobstay.git_files.git_directory import find_repository, open_repository
from bobstay.system.child_process import find_program
from bobstay.system.safe_read import read_regular

__all__ = ["GitStatus", "current_branch", "find_repository"]

STATUS_SECONDS = 0.5
_LINES = 40
_BRANCH = r"[\w./+@#-]{1,200}"
_COMMIT = r"[0-9a-f]{40,64}"

_QUIET = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_NOSYSTEM": "1", "GIT_ATTR_NOSYSTEM": "1"}


def current_branch(repository: str) -> str:
    """Return the name of the checked-out branch, or the start of the commit's hash; "" if HEAD is neither."""
    head = os.path.join(open_repository(repository).directory, "HEAD")
    # A link would let a repository show the beginning of any file.
    content = (read_regular(head, 4096, follow=False) or b"").decode(errors="replace").strip()
    name = content.removeprefix("ref: refs/heads/")
    if name != content:
        return name if re.fullmatch(_BRANCH, name) else ""
    return content[:12] if re.fullmatch(_COMMIT, content) else ""


class GitStatus:
    """`git status`, started at once and read when needed. Only for trusted folders: filters may run programs."""

    def __init__(self, cwd: str, environment: Mapping[str, str]) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        repository = find_repository(cwd)
        top = os.path.realpath(os.path.dirname(repository)) if repository else cwd
        path = filter_search_path(environment.get("PATH", ""), os.path.realpath(cwd), top)
        program = find_program("git", path) or find_program("git", USUAL_PATH)
        if not program:
            return
        settings = [part for key, value in NO_PROGRAMS.items() for part in ("-c", f"{key}={value}")]
        kept = {name: value for name, value in environment.items() if not name.startswith("GIT_")}
        command = ("status", "--porcelain=v1", "--untracked-files=normal", "--ignore-submodules=all")
        try:
            self._process = subprocess.Popen(
                [program, "--no-pager", *settings, *command],
                cwd=cwd,
                env={**kept, **_QUIET, "PATH": path},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError:
            return

    def read(self) -> str:
        """Return the output, shortened; empty if git is missing or failed."""
        if self._process is None:
            return ""
        try:
            output, _ = self._process.communicate(timeout=STATUS_SECONDS)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.communicate()
            return "(not known: git took too long)"
        if self._process.returncode != 0:
            return ""
        lines = output.decode(errors="replace").splitlines()
        more = f"\n({len(lines) - _LINES} more)" if len(lines) > _LINES else ""
        return "\n".join(lines[:_LINES]) + more if lines else "(clean)"
