"""Replaces a file atomically: readers see either the old content or the new one, complete.

A file that cannot be replaced, because it is a mount point or its directory is not writable, is written in place.
"""

import errno
import os
import stat
from contextlib import suppress

from bobstay.system.atomic_file import AtomicFile
from bobstay.tools.base import ToolError
from bobstay.tools.files.file_content import digest
from bobstay.tools.files.file_reading import fingerprint
from bobstay.tools.files.tool_path import ToolPath, stat_regular_file, to_tool_error

_NO_NEW_NAME = frozenset((errno.EACCES, errno.EPERM, errno.EROFS))
"""Errors of a directory that accepts no new file, although an existing file may be writable."""


class ConcurrentChangeError(Exception):
    """The file changed since the new content was computed. Nothing was written."""


def replace_file(tool_path: ToolPath, data: bytes, expected: str | None) -> str:
    """Write `data` to the file if its hash is still `expected` (None: the file does not exist yet).

    Missing directories are created. Mode, owner and attributes are kept. Returns the hash of `data`.

    Raises:
        ConcurrentChangeError: the file changed, appeared or vanished since `expected` was computed.
        ToolError: the system refused; the old content is untouched.
    """
    try:
        os.makedirs(os.path.dirname(tool_path.real), exist_ok=True)
    except OSError as error:
        raise to_tool_error(error, "make the directory of", tool_path.path) from None
    status = stat_regular_file(tool_path)
    if (status is None) != (expected is None):
        raise ConcurrentChangeError
    require_writable(tool_path, status)
    try:
        draft = _write_beside(tool_path.real, data, status)
    except OSError as error:
        if status is None or error.errno not in _NO_NEW_NAME:
            raise to_tool_error(error, "write", tool_path.path) from None
        _write_in_place(tool_path, data, expected)
        return digest(data)
    try:
        if expected is None:
            draft.publish()
        elif fingerprint(tool_path) != expected:
            raise ConcurrentChangeError
        else:
            draft.replace()
    except FileExistsError:
        raise ConcurrentChangeError from None
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise to_tool_error(error, "replace", tool_path.path) from None
        _write_in_place(tool_path, data, expected)
    except ToolError:
        raise ConcurrentChangeError from None  # it was removed or replaced during the write
    finally:
        draft.discard()
    return digest(data)


def require_writable(tool_path: ToolPath, status: os.stat_result | None) -> None:
    """Refuse to replace a read-only file: a rename would ignore its mode.

    Raises:
        ToolError: the file has no write permission.
    """
    if status is not None and not status.st_mode & 0o222:
        raise ToolError(
            f"{tool_path.path} is read-only (mode {stat.S_IMODE(status.st_mode):04o}). Nothing was written. It may be "
            "generated, or protected on purpose. To change it all the same, make it writable first: chmod u+w."
        )


def _write_in_place(tool_path: ToolPath, data: bytes, expected: str | None) -> None:
    """Overwrite a file that cannot be replaced, such as one bind-mounted into a container."""
    try:
        if fingerprint(tool_path) != expected:
            raise ConcurrentChangeError
    except ToolError:
        raise ConcurrentChangeError from None
    try:
        descriptor = os.open(tool_path.real, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
            os.ftruncate(descriptor, len(data))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise to_tool_error(error, "write", tool_path.path) from None


def _write_beside(target: str, data: bytes, status: os.stat_result | None) -> AtomicFile:
    """Write `data` to a draft with the attributes of the old file, and sync it."""
    draft = AtomicFile(target, 0o666 if status is None else 0o600)
    try:
        draft.file.write(data)
        draft.file.flush()
        if status is not None:
            _copy_attributes(target, status, draft.file.fileno())
        draft.finish()
    except BaseException:
        draft.discard()
        raise
    return draft


def _copy_attributes(target: str, status: os.stat_result, descriptor: int) -> None:
    """Copy the mode, and owner and attributes where permitted, from the old file."""
    own = os.fstat(descriptor)
    if (own.st_uid, own.st_gid) != (status.st_uid, status.st_gid):
        with suppress(PermissionError):
            os.fchown(descriptor, status.st_uid, status.st_gid)
    if hasattr(os, "listxattr"):
        with suppress(OSError):
            for name in os.listxattr(target):
                with suppress(OSError):
                    os.setxattr(descriptor, name, os.getxattr(target, name))
    os.fchmod(descriptor, stat.S_IMODE(status.st_mode))
