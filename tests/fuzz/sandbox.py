"""The client of the fuzzing sandbox: starts it, sends commands and receives reports."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from types import TracebackType
from typing import Any, TypeAlias

from tests.fuzz import fixture_tree

Report: TypeAlias = dict[str, Any]
"""The actions of a command, under the keys `ran changed read connected leaked late impossible`, where there are any."""

TIMEOUT = 10.0
"""Seconds that a command may take. Hardly any needs more than 0.1; the rest is for a busy machine."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


TOOLS = _names(
    "ls cat head tail wc grep egrep fgrep rg find which diff cmp stat du df echo printf pwd true false date file sort "
    "uniq cut tr basename dirname realpath readlink sed jq tree id whoami uname test [ sha256sum sha1sum md5sum awk "
    "nl tac rev column comm paste fold seq od hexdump strings base64 join nproc git timeout nice nohup stdbuf xargs "
    "time"
)
"""Real programs: the read-only ones, and wrappers that allow rules ignore."""
WRAPPERS = _names("sh bash dash env sudo doas setsid ionice watch flock parallel busybox")
"""Programs that record themselves and then run their arguments."""
SHIMS = _names(
    "marker rm rmdir mv cp touch tee ln chmod mkdir dd curl wget nc ping ssh python python3 perl node npm npx yarn "
    "pnpm make cargo go pytest mypy docker gh terraform tar man less more vi vim editor xxd gpg gzip xz zstd printenv "
    "gawk mawk strace chroot crontab at"
)
"""Programs that only record that they were run, whether or not this machine has them."""


class SandboxError(RuntimeError):
    """There is no sandbox to run commands in, so fuzzing is not possible."""


class Sandbox:
    """A running sandbox. Sending a batch and receiving its reports are separate: the caller can work meanwhile."""

    def __init__(self, timeout: float = TIMEOUT) -> None:
        self._timeout = timeout
        self._process = self._start()

    def __enter__(self) -> "Sandbox":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def send_batch(self, commands: list[str]) -> None:
        self._send(commands)

    def receive_batch(self) -> list[Report]:
        found: list[Report] = self._receive()
        return found

    def run(self, command: str) -> Report:
        self.send_batch([command])
        return self.receive_batch()[0]

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()

    def _start(self) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            _arguments(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self._process = process
        self._send(_plan(self._timeout))
        self._receive()
        return process

    def _send(self, message: Any) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise SandboxError(self._describe_death()) from None

    def _receive(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SandboxError(self._describe_death())
        return json.loads(line)

    def _describe_death(self) -> str:
        _, said = self._process.communicate()
        return (
            f"The sandbox ended (exit code {self._process.returncode}): {said.strip()[-2000:]}\n"
            "It needs bubblewrap and user namespaces: `bobstay doctor` says what is missing on this machine."
        )


def _arguments() -> list[str]:
    bubblewrap = shutil.which("bwrap")
    if bubblewrap is None:
        raise SandboxError(
            "bwrap is not installed, so nothing can be run safely: install the package `bubblewrap` and try again."
        )
    python = os.path.realpath(sys.executable)
    found = [bubblewrap, "--unshare-all", "--die-with-parent", "--as-pid-1", "--new-session", "--clearenv"]
    found += ["--ro-bind", "/usr", "/usr", "--ro-bind", "/usr/bin", "/opt/real"]
    for folder in ("/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"):
        if os.path.isdir(folder):
            found += ["--tmpfs", folder]
    for folder in ("/bin", "/sbin", "/lib", "/lib32", "/lib64"):
        found += _top(folder)
    found += ["--proc", "/proc", "--dev", "/dev"]
    for area in fixture_tree.AREAS:
        found += ["--dir", area]
    if not python.startswith("/usr/bin/"):
        found += ["--ro-bind", sys.base_prefix, sys.base_prefix]
    for path, target in _binaries().items():
        found += ["--ro-bind", target, path]
    driver = str(Path(__file__).with_name("driver.py"))
    found += ["--ro-bind", driver, "/opt/driver.py", "--setenv", "PYTHONHOME", sys.base_prefix]
    return [*found, "--", python.replace("/usr/bin/", "/opt/real/", 1), "-S", "-B", "/opt/driver.py"]


def _top(folder: str) -> list[str]:
    """A top-level folder such as /bin, which on most systems is a link into /usr."""
    if os.path.islink(folder):
        return ["--symlink", os.readlink(folder), folder]
    if not os.path.isdir(folder):
        return []
    return ["--symlink", "usr/bin", folder] if folder in ("/bin", "/sbin") else ["--ro-bind", folder, folder]


def _binaries() -> dict[str, str]:
    """The paths in the sandbox of programs that may be anywhere on this machine."""
    bash = shutil.which("bash")
    if bash is None:
        raise SandboxError("bash is not installed: it is what the policy is compared with.")
    found = {"/opt/shell": os.path.realpath(bash)}
    for name in sorted(TOOLS):
        if target := _program(name):
            found[f"/opt/tools/{name}"] = target
    return found


def _program(name: str) -> str | None:
    scripts = sysconfig.get_path("scripts")
    path = shutil.which(name, path=f"/usr/bin:/bin:/usr/local/bin:{scripts}")
    return os.path.realpath(path) if path else None


def _plan(timeout: float) -> dict[str, Any]:
    return {
        "root": fixture_tree.ROOT,
        "files": fixture_tree.FILES,
        "links": fixture_tree.LINKS,
        "programs": fixture_tree.PROGRAMS,
        "areas": fixture_tree.AREAS,
        "watched": fixture_tree.WATCHED,
        "environment": fixture_tree.ENVIRONMENT,
        "git": fixture_tree.GIT_SETUP,
        "port": fixture_tree.PORT,
        "secret": fixture_tree.SECRET,
        "timeout": timeout,
        "folders": ["/opt/real"],
        "tools": {name: f"/opt/tools/{name}" for name in sorted(TOOLS) if _program(name)},
        "wrappers": sorted(WRAPPERS),
        "shims": sorted(SHIMS),
    }
