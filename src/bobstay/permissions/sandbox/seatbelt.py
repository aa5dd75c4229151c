"""The macOS sandbox profile of a mount plan. UNVERIFIED: written from documentation, never run on macOS."""

import os

from bobstay.permissions.sandbox.mount_plan import Plan


def profile(plan: Plan, temporary: str) -> str:
    """A profile for `sandbox-exec -p`. Later rules override earlier ones."""
    hidden = [mount.path for mount in plan.mounts if mount.how in ("blank", "empty") and mount.placeholder is None]
    held = [mount.path for mount in plan.mounts if mount.how not in ("write", "scratch") and mount.path not in hidden]
    held += [link for link, _ in plan.pins]
    shown = [mount.path for mount in plan.mounts if mount.required and mount.how == "read"]
    return "\n".join(
        (
            "(version 1)",
            "; unverified: never run on macOS",
            "(deny default)",
            "(allow process-fork process-exec)",
            "(allow signal (target same-sandbox))",
            "(allow sysctl-read)",
            '(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo"))',
            "(allow ipc-posix-sem)",
            "(allow file-read*)",
            *(f"(deny file-read* {_below(path)})" for path in hidden),
            *(f"(allow file-read* {_below(path)})" for path in (*shown, *plan.roots)),
            '(allow file-write* (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty"))',
            *(f"(allow file-write* {_below(path)})" for path in (*plan.roots, temporary)),
            *(f"(deny file-write* {_below(path)})" for path in (*held, *hidden)),
            "(deny network*)",
            "",
        )
    )


def _below(path: str) -> str:
    text = os.path.normpath(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'(subpath "{text}")'
