"""Detects by trial which sandbox works on this machine, and explains what to do if none does."""

import os
import subprocess
import sys
from functools import cache
from typing import Literal, TypeAlias

from msgspec import Struct

from bobstay.permissions.path_resolution import within

Kind: TypeAlias = Literal["", "bwrap", "landlock", "seatbelt"]
_DIRECTORIES = ("/usr/bin", "/bin", "/usr/local/bin", "/usr/sbin", "/run/current-system/sw/bin")
_LEAST_LANDLOCK = 3
"""The first version that covers truncation; with older ones a protected file could be emptied."""
INSTALL = "Install bubblewrap (Debian, Ubuntu: apt-get install bubblewrap; Fedora: dnf install bubblewrap)"
_TRIAL_ARGUMENTS = (
    *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys"),
    *("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-net", "--disable-userns"),
    *("--cap-drop", "ALL", "--die-with-parent", "--new-session", "--", "/bin/sh", "-c", "exit 0"),
)


class Availability(Struct, frozen=True):
    """The sandbox that can be used here, if any."""

    kind: Kind = ""
    path: str = ""
    """The program that starts the sandbox, if there is one."""
    found: tuple[tuple[str, str], ...] = ()
    """Each kind of sandbox that was tried, with "" if it works or the reason if not."""

    @property
    def refusal(self) -> str:
        """The error message for a command when no sandbox works."""
        tried = "; ".join(f"{name}: {why}" for name, why in self.found if why)
        return (
            f"Commands must run in a sandbox here, and none can be started ({tried}). The command did not run. "
            f"{INSTALL}, or "
            'turn the sandbox off with {"sandbox": {"enabled": false}} in the user\'s settings.'
        )


def available(search: str = "", workspace: str = "", *, unverified: bool = False) -> Availability:
    """Which sandbox works here. Programs are tried once per process.

    Args:
        search: Further folders to search for programs, as in PATH. Relative ones are ignored.
        workspace: A program inside this folder is never used.
        unverified: On macOS, use the untested sandbox.
    """
    if sys.platform == "darwin":
        return _on_macos(unverified=unverified)
    if not sys.platform.startswith("linux"):
        return Availability(found=((sys.platform, "there is no sandbox for this system"),))
    program = find(search, workspace)
    problem = _try_bwrap(program) if program else f"bubblewrap (bwrap) is not installed. {INSTALL}"
    if not problem:
        return Availability("bwrap", program, (("bwrap", ""),))
    other = _landlock_problem()
    return Availability("" if other else "landlock", "", (("bwrap", problem), ("landlock", other)))


def find(search: str = "", workspace: str = "") -> str:
    """The path of bwrap, or "". One in the workspace is ignored: the repository may contain its own."""
    inside = os.path.realpath(workspace) if workspace else ""
    for folder in (*_DIRECTORIES, *search.split(os.pathsep)):
        candidate = f"{folder}/bwrap"
        if folder.startswith("/") and os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            real = os.path.realpath(candidate)
            if not inside or not (within(real, inside) or within(candidate, inside)):
                return candidate
    return ""


def landlock_version() -> int:
    """The Landlock version of this kernel, 0 for none."""
    import ctypes

    create_ruleset, version = 444, 1
    return max(0, int(ctypes.CDLL(None).syscall(create_ruleset, None, 0, version)))


@cache
def _try_bwrap(program: str) -> str:
    """Why bwrap does not work here, or ""."""
    from bobstay.permissions.sandbox import seccomp

    try:
        seccomp.program()
        done = subprocess.run(
            [program, *_TRIAL_ARGUMENTS],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=10,
            cwd="/",
            check=False,
        )
    except (OSError, LookupError, subprocess.TimeoutExpired) as error:
        return f"{program} does not work: {error}"
    if done.returncode == 0:
        return ""
    errors = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return f"{program} does not work: {errors[-1] if errors else f'exit code {done.returncode}'}.{_hint()}"


def _hint() -> str:
    for file, off, what in (
        ("/proc/sys/kernel/unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone=1"),
        ("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", "an AppArmor profile for bwrap"),
        ("/proc/sys/user/max_user_namespaces", "0", "user.max_user_namespaces=15000"),
    ):
        try:
            with open(file, encoding="ascii") as opened:
                if opened.read().strip() == off:
                    return f" User namespaces are switched off; bubblewrap needs {what} (see {file})."
        except OSError:
            continue
    return ""


@cache
def _landlock_problem() -> str:
    version = landlock_version()
    if version >= _LEAST_LANDLOCK:
        return ""
    return f"the kernel has Landlock version {version}, {_LEAST_LANDLOCK} is needed (Linux 6.2)"


def _on_macos(*, unverified: bool) -> Availability:
    program = "/usr/bin/sandbox-exec"
    if not os.path.exists(program):
        return Availability(found=(("seatbelt", f"{program} does not exist"),))
    if not unverified:
        why = "its profile was never tested on macOS; set sandbox.allowUnverified in the settings to use it anyway"
        return Availability(found=(("seatbelt", why),))
    return Availability("seatbelt", program, (("seatbelt", ""),))
