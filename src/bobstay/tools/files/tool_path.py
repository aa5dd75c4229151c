"""Resolves paths given by the model, and refuses devices and kernel files."""

import errno
import os
import stat

from msgspec import Struct

from bobstay.tools.base import Context, ToolError

_DEVICES = ("/dev", "/proc", "/sys/kernel")
"""Trees whose files may be endless, block, or expose this process's memory and environment."""
_HARMLESS = frozenset(f"/proc/{name}" for name in ("cpuinfo", "meminfo", "version", "loadavg", "uptime", "filesystems"))
_REASONS = {
    errno.EACCES: "permission denied",
    errno.EPERM: "the operation is not permitted on it",
    errno.EROFS: "the file system is read-only",
    errno.ENOSPC: "no space is left on the disk",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "the file would be larger than the system allows",
    errno.ELOOP: "its symbolic links form a loop",
    errno.ENAMETOOLONG: "the name is too long",
    errno.ENOTDIR: "a part of the path is a file, not a directory",
    errno.EIO: "the disk reported an error",
    errno.EBUSY: "it is in use (a mount point, perhaps)",
    errno.EAGAIN: "it has nothing to read now and would block",
}


class ToolPath(Struct, frozen=True):
    """A file path as the model gave it, and its real path."""

    path: str
    """Absolute, without `..`; symbolic links as they were written."""
    real: str
    """With symbolic links resolved. The file ledger and claims use this path."""


def absolute_path(path: str, context: Context) -> str:
    """The absolute form of `path`. Never fails: an invalid path is refused later."""
    if path == "~" or path.startswith("~/"):
        path = context.environment.get("HOME", "~") + path[1:]
    return os.path.normpath(os.path.join(context.cwd, path))


def real_path(path: str) -> str:
    """`path` with links resolved, or `path` itself if the system rejects it."""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return path


def locate(path: str, context: Context) -> ToolPath:
    """Resolve `path`.

    Raises:
        ToolError: it is empty or contains characters no file name can.
    """
    if not path.strip():
        raise ToolError("The path is empty. Give the path of a file.")
    if "\0" in path:
        raise ToolError("The path contains a NUL character, which no file name can. Check the path.")
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        raise ToolError("The path contains characters that cannot be in a file name. Check the path.") from None
    name = absolute_path(path, context)
    if path.endswith("/") and not os.path.isdir(name):
        raise ToolError(f"The path {path} ends with a slash, so it names a directory. Give the path of a file.")
    return ToolPath(name, real_path(name))


def stat_regular_file(target: ToolPath) -> os.stat_result | None:
    """Status of a regular file, or None if it does not exist. Opens nothing.

    Raises:
        ToolError: it is a directory, a device, a pipe, or cannot be accessed.
    """
    for name in (target.path, target.real):
        if _is_device_path(name):
            raise ToolError(f"{target.path} is a device or kernel file; it may never end, so it is not opened.")
    try:
        status = os.stat(target.real)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise to_tool_error(error, "look at", target.path) from None
    if stat.S_ISDIR(status.st_mode):
        raise ToolError(f"{target.path} is a directory, not a file. List it with Glob or with ls in the shell.")
    if not stat.S_ISREG(status.st_mode):
        raise ToolError(f"{target.path} is not a regular file but {_kind(status.st_mode)}; it is not opened.")
    return status


def to_tool_error(error: OSError, action: str, path: str) -> ToolError:
    """Describe a failed system call so that the reader knows what to do."""
    reason = _REASONS.get(error.errno or 0, error.strerror or str(error))
    return ToolError(f"Cannot {action} {path}: {reason}.")


def _is_device_path(path: str) -> bool:
    return path not in _HARMLESS and any(path == tree or path.startswith(f"{tree}/") for tree in _DEVICES)


def _kind(mode: int) -> str:
    if stat.S_ISFIFO(mode):
        return "a named pipe"
    if stat.S_ISSOCK(mode):
        return "a socket"
    return "a device"
