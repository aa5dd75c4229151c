"""The state of a git work tree, learned without obeying anything the work tree says."""

import os
import re
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress

from bobstay.config.git_directory import find_repository, open_repository
from bobstay.config.trust import path_outside
from bobstay.system.child_process import find_program
from bobstay.system.safe_read import read_regular

__all__ = ["Status", "branch", "find_repository", "guarded"]

STATUS_SECONDS = 0.5
_LINES = 40
_BRANCH = re.compile(r"[\w./+@#-]{1,200}")
_COMMIT = re.compile(r"[0-9a-f]{40,64}")
_SECTION = re.compile(rb'\[\s*(filter|diff)\s+"((?:[^"\\\n]|\\.)*)"', re.IGNORECASE)
_LONGEST_CONFIG = 1 << 20
_USUAL_PLACES = "/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin"

_NO_PROGRAMS = {
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "core.sshCommand": "ssh",
    "core.askPass": "",
    "core.alternateRefsCommand": "true",
    "core.gitProxy": "",
    "core.pager": "cat",
    "credential.helper": "",
    "diff.ignoreSubmodules": "all",
    "gpg.program": "gpg",
    "gpg.ssh.program": "ssh-keygen",
    "gpg.x509.program": "gpgsm",
    "interactive.diffFilter": "",
    "log.showSignature": "false",
    "protocol.ext.allow": "never",
    "safe.bareRepository": "explicit",
    "submodule.recurse": "false",
    "status.submoduleSummary": "false",
}
"""What a repository's own configuration may not say where nobody trusts it: each of these names a program."""
_CALM = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_NOSYSTEM": "1", "GIT_ATTR_NOSYSTEM": "1"}


def branch(repository: str) -> str:
    """The name of the branch that is checked out, or the start of the commit's hash; "" if HEAD says neither."""
    head = os.path.join(open_repository(repository).directory, "HEAD")
    # A link would let a repository show the beginning of any file.
    said = (read_regular(head, 4096, follow=False) or b"").decode(errors="replace").strip()
    name = said.removeprefix("ref: refs/heads/")
    if name != said:
        return name if _BRANCH.fullmatch(name) else ""
    return said[:12] if _COMMIT.fullmatch(said) else ""


def guarded(environment: Mapping[str, str], folder: str) -> dict[str, str]:
    """The environment for programs started in a folder nobody trusts.

    They are not found in the folder itself, and should git be among them, the repository's configuration names no
    program for it, as far as that can be said in advance. It cannot for all (`include` leads anywhere): that is why
    git also needs permission there.
    """
    repository = find_repository(folder)
    settings = _NO_PROGRAMS | (_drivers(repository) if repository else {})
    top = os.path.realpath(os.path.dirname(repository)) if repository else folder
    path = path_outside(environment.get("PATH", ""), os.path.realpath(folder), top)
    kept = {name: value for name, value in environment.items() if name not in ("GIT_DIR", "GIT_WORK_TREE")}
    count = kept.get("GIT_CONFIG_COUNT", "0")
    first = int(count) if count.isascii() and count.isdigit() else 0
    for number, (key, value) in enumerate(settings.items(), first):
        kept[f"GIT_CONFIG_KEY_{number}"] = key
        kept[f"GIT_CONFIG_VALUE_{number}"] = value
    return {**kept, "PATH": path or _USUAL_PLACES, "GIT_CONFIG_COUNT": str(first + len(settings))}


def _drivers(entry: str) -> dict[str, str]:
    """Settings that put harmless programs in the place of the filters and converters a repository defines."""
    repository = open_repository(entry)
    settings: dict[str, str] = {}
    for directory in (repository.common, repository.directory):
        for name in ("config", "config.worktree"):
            said = read_regular(os.path.join(directory, name), _LONGEST_CONFIG) or b""
            for kind, quoted in _SECTION.findall(said):
                driver = f"{kind.decode().lower()}.{_unescaped(os.fsdecode(quoted))}"
                if driver.startswith("filter."):
                    settings |= {f"{driver}.process": "", f"{driver}.clean": "cat", f"{driver}.smudge": "cat"}
                else:
                    settings[f"{driver}.textconv"] = "cat"
                    settings |= {f"{driver}.command": "false"} if b"command" in said.lower() else {}
            if b"external" in said.lower():
                settings["diff.external"] = ""
    return settings


def _unescaped(name: str) -> str:
    return re.sub(r"\\(.)", r"\1", name)


class Status:
    """`git status`, started now and read when it is needed. Only for trusted folders: filters may run programs."""

    def __init__(self, cwd: str, environment: Mapping[str, str]) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        repository = find_repository(cwd)
        top = os.path.realpath(os.path.dirname(repository)) if repository else cwd
        path = path_outside(environment.get("PATH", ""), os.path.realpath(cwd), top)
        program = find_program("git", path) or find_program("git", _USUAL_PLACES)
        if not program:
            return
        settings = [part for key, value in _NO_PROGRAMS.items() for part in ("-c", f"{key}={value}")]
        calm = {name: value for name, value in environment.items() if not name.startswith("GIT_")}
        wanted = ("status", "--porcelain=v1", "--untracked-files=normal", "--ignore-submodules=all")
        try:
            self._process = subprocess.Popen(
                [program, "--no-pager", *settings, *wanted],
                cwd=cwd,
                env={**calm, **_CALM, "PATH": path},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
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
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.communicate()
            return "(not known: git took too long)"
        if self._process.returncode != 0:
            return ""
        lines = output.decode(errors="replace").splitlines()
        more = f"\n({len(lines) - _LINES} more)" if len(lines) > _LINES else ""
        return "\n".join(lines[:_LINES]) + more if lines else "(clean)"
