"""The words by which bubblewrap is told to build a sandbox. All of its protection is in them."""

import os

from bobstay.permissions.sandbox.mount_plan import Mount, Plan

_PROC_OF_ROOT = ("/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/scsi", "/proc/acpi")
"""Writable to the user 0 even without capabilities: bubblewrap leaves them so."""
_APART = (
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


def words(plan: Plan, *, empty: str, temporary: str, cwd: str, seccomp: int, user: int) -> list[str]:
    """The arguments up to, and without, the command. `temporary` becomes /tmp; `seccomp` is a descriptor."""
    found = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys"]
    if user == 0:
        for path in filter(os.path.exists, _PROC_OF_ROOT):
            found += ["--ro-bind", path, path]
    found += ["--bind", temporary, "/tmp"]  # noqa: S108 - the private one
    for mount in plan.mounts:
        found += _mount(mount, empty)
    return [*found, *_APART, "--cap-drop", "ALL", "--seccomp", str(seccomp), "--chdir", cwd]


def _mount(mount: Mount, empty: str) -> list[str]:
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
