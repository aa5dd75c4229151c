"""Builds the bubblewrap arguments for a mount plan. All of the sandbox's protection is in them."""

import os

from bobstay.permissions.sandbox.mount_plan import Mount, Plan

_PROC_OF_ROOT = ("/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/scsi", "/proc/acpi")
"""Writable by user 0 even without capabilities; bubblewrap does not protect them."""
_ISOLATION = (
    "--unshare-user",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--unshare-net",
    "--disable-userns",
    "--die-with-parent",
    "--new-session",
)


def build_arguments(plan: Plan, *, empty: str, temporary: str, cwd: str, seccomp: int, user: int) -> list[str]:
    """The arguments before the command. `temporary` is mounted as /tmp; `seccomp` is a file descriptor."""
    found = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys"]
    if user == 0:
        for path in filter(os.path.exists, _PROC_OF_ROOT):
            found += ["--ro-bind", path, path]
    found += ["--bind", temporary, "/tmp"]  # noqa: S108 - a private one
    for mount in plan.mounts:
        found += _mount_arguments(mount, empty)
    return [*found, *_ISOLATION, "--cap-drop", "ALL", "--seccomp", str(seccomp), "--chdir", cwd]


def _mount_arguments(mount: Mount, empty: str) -> list[str]:
    match mount.how:
        case "write":
            return ["--bind", mount.source, mount.path]
        case "read":
            return ["--ro-bind", mount.source, mount.path]
        case "empty":
            return ["--ro-bind", empty, mount.path]
        case "blank":
            return ["--perms", "0555", "--tmpfs", mount.path]
        case "scratch":
            return ["--perms", "1777", "--tmpfs", mount.path]
