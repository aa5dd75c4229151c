"""Puts a new content in the place of a file in one step: at any moment the old one or the new one is there, whole.

A file that cannot be replaced, because it is a mount point or its directory cannot be written, is written in place.
"""

import errno
import os
import stat
from contextlib import suppress

from bobstay.tools.base import ToolError
from bobstay.tools.files.file_content import digest
from bobstay.tools.files.file_reading import fingerprint
from bobstay.tools.files.tool_path import ToolPath, status_of, trouble

_NO_NEW_NAME = frozenset((errno.EACCES, errno.EPERM, errno.EROFS))
"""Errors of a directory in which no file can be made, though one that is there may still be written."""


class ChangedMeanwhile(Exception):  # noqa: N818 - it names what happened
    """The file is no longer what the new content was made from. Nothing was written."""


def put(place: ToolPath, data: bytes, expected: str | None) -> str:
    """Make `data` the content of the file if its hash still is `expected` (None: there is no file yet).

    Directories on the way are made. Mode, owner and attributes of the file stay. Returns the hash of `data`.

    Raises:
        ChangedMeanwhile: the file changed, came or went since `expected` was taken.
        ToolError: the system refused; the old content is untouched.
    """
    try:
        os.makedirs(os.path.dirname(place.real), exist_ok=True)
    except OSError as error:
        raise trouble(error, "make the directory of", place.path) from None
    status = status_of(place)
    if (status is None) != (expected is None):
        raise ChangedMeanwhile
    require_writable(place, status)
    try:
        temporary = _written_beside(place.real, data, status)
    except OSError as error:
        if status is None or error.errno not in _NO_NEW_NAME:
            raise trouble(error, "write", place.path) from None
        _write_in_place(place, data, expected)
        return digest(data)
    try:
        if expected is None:
            _appear(temporary, place.real)
        elif fingerprint(place) != expected:
            raise ChangedMeanwhile
        else:
            os.replace(temporary, place.real)
    except FileExistsError:
        raise ChangedMeanwhile from None
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise trouble(error, "replace", place.path) from None
        _write_in_place(place, data, expected)
    except ToolError:
        raise ChangedMeanwhile from None  # it went, or became something else, while we wrote
    finally:
        with suppress(OSError):
            os.unlink(temporary)
    return digest(data)


def require_writable(place: ToolPath, status: os.stat_result | None) -> None:
    """Refuse to replace a file that is marked as read-only: a rename would not ask for its mode.

    Raises:
        ToolError: nobody may write the file.
    """
    if status is not None and not status.st_mode & 0o222:
        raise ToolError(
            f"{place.path} is read-only (mode {stat.S_IMODE(status.st_mode):04o}). Nothing was written. It may be "
            "generated, or protected on purpose. To change it all the same, make it writable first: chmod u+w."
        )


def _write_in_place(place: ToolPath, data: bytes, expected: str | None) -> None:
    """Write over a file that cannot be replaced, such as one that is bind-mounted into a container."""
    try:
        if fingerprint(place) != expected:
            raise ChangedMeanwhile
    except ToolError:
        raise ChangedMeanwhile from None
    try:
        descriptor = os.open(place.real, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
            os.ftruncate(descriptor, len(data))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise trouble(error, "write", place.path) from None


def _written_beside(target: str, data: bytes, status: os.stat_result | None) -> str:
    """Write `data` to a new file in the directory of `target`, down to the disk, and return its path."""
    directory, name = os.path.split(target)
    temporary = os.path.join(directory, f".{name[:60]}.{os.urandom(6).hex()}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(temporary, flags, 0o666 if status is None else 0o600)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        if status is not None:
            _take_after(target, status, descriptor)
        os.fsync(descriptor)
    except BaseException:
        os.unlink(temporary)
        raise
    finally:
        os.close(descriptor)
    return temporary


def _take_after(target: str, status: os.stat_result, descriptor: int) -> None:
    """Give the new file what the old one has: owner and attributes where we may, the mode always."""
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


def _appear(temporary: str, target: str) -> None:
    """Give the new file its name, never taking it from a file that has it by now."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if os.path.lexists(target):
            raise FileExistsError(target) from None
        os.replace(temporary, target)
