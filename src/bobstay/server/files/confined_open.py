"""Opens files beneath a directory and nowhere else: no symbolic links, no `..`, no kernel file systems.

Where the kernel supports it (`openat2`), a path is opened in one step; elsewhere each component is opened relative to
the previous one, refusing links. Nothing is opened for reading before it is known to be a regular file or a directory,
so that pipes cannot block and devices are never touched.
"""

import ctypes
import errno
import os
import stat
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import cache

from bobstay.server.errors import ApiError
from bobstay.server.files.path_names import encode_path

_OPENAT2 = 437
_RESOLVE = 0x04 | 0x02 | 0x08
"""No symbolic links, no magic links, nothing above the directory."""
_PATH = getattr(os, "O_PATH", 0)
_SAFE = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
_KERNEL = ("/proc", "/sys")


class _OpenHow(ctypes.Structure):
    _fields_ = [("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64)]


@contextmanager
def open_confined(root: int, parts: Sequence[bytes], *, directory: bool = False) -> Generator[int, None, None]:
    """A descriptor to read a regular file, or list a directory, at `parts` beneath the directory `root`.

    Raises:
        ApiError: not_found, forbidden (a link, a device, a pipe), invalid (not of the requested kind).
    """
    handle = _open_path(root, parts)
    try:
        _check_kind(handle, parts, directory=directory)
        reader = _reopen(handle, root, parts, directory=directory)
    finally:
        os.close(handle)
    try:
        yield reader
    finally:
        os.close(reader)


def open_directory(path: str) -> int:
    """A descriptor of a directory given by its real path; a symbolic link anywhere in it is refused.

    Raises:
        ApiError: not_found, forbidden.
    """
    parts = [part for part in os.fsencode(path).split(b"/") if part]
    top = os.open("/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        handle = _open_path(top, parts)
    finally:
        os.close(top)
    if not stat.S_ISDIR(os.fstat(handle).st_mode):
        os.close(handle)
        raise ApiError("not_found", f"{path} is not a directory.")
    return handle


def open_with_openat2(root: int, parts: Sequence[bytes]) -> int:
    """Raises:
    OSError: ENOSYS or EPERM if the kernel does not support it; ELOOP and EXDEV if the path leads out.
    """
    how = _OpenHow(_PATH | os.O_CLOEXEC | os.O_NOFOLLOW, 0, _RESOLVE)
    while True:
        relative = ctypes.c_char_p(b"/".join(parts) or b".")
        size = ctypes.c_size_t(ctypes.sizeof(how))
        handle = int(_syscall()(ctypes.c_long(_OPENAT2), ctypes.c_long(root), relative, ctypes.byref(how), size))
        if handle >= 0:
            return handle
        number = ctypes.get_errno()
        if number != errno.EAGAIN:  # a concurrent rename: the kernel asks to try again
            raise OSError(number, os.strerror(number))


def open_stepwise(root: int, parts: Sequence[bytes]) -> int:
    """Open a path one component after the other, without `openat2`."""
    handle = os.dup(root)
    try:
        for number, part in enumerate(parts, start=1):
            following = os.open(part, (_PATH or os.O_RDONLY) | _SAFE, dir_fd=handle)
            os.close(handle)
            handle = following
            _check_step(handle, last=number == len(parts))
    except BaseException:
        os.close(handle)
        raise
    return handle


def _check_step(handle: int, *, last: bool) -> None:
    kind = os.fstat(handle).st_mode
    if stat.S_ISLNK(kind):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    if not last and not stat.S_ISDIR(kind):
        raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))


def _open_path(root: int, parts: Sequence[bytes]) -> int:
    try:
        handle = open_with_openat2(root, parts) if _has_openat2() else open_stepwise(root, parts)
    except OSError as error:
        raise _to_api_error(error, parts) from None
    if stat.S_ISLNK(os.fstat(handle).st_mode):
        os.close(handle)
        raise _to_api_error(OSError(errno.ELOOP, ""), parts)
    return handle


def _check_kind(handle: int, parts: Sequence[bytes], *, directory: bool) -> None:
    found = os.fstat(handle)
    name = encode_path(b"/".join(parts)) or "."
    if found.st_dev in _kernel_devices():
        raise ApiError("forbidden", f"{name} belongs to the system and is not a file of the project.")
    if stat.S_ISDIR(found.st_mode):
        if not directory:
            raise ApiError("invalid", f"{name} is a directory.")
    elif not stat.S_ISREG(found.st_mode):
        raise ApiError("forbidden", f"{name} is a device, a pipe or a socket: there is nothing to show of it.")
    elif directory:
        raise ApiError("invalid", f"{name} is a file, not a directory.")


def _reopen(handle: int, root: int, parts: Sequence[bytes], *, directory: bool) -> int:
    """Open the file that `handle` refers to for reading."""
    flags = os.O_RDONLY | _SAFE | (os.O_DIRECTORY if directory else 0)
    try:
        if not _PATH:
            return os.dup(handle)
        if directory:
            return os.open(".", flags, dir_fd=handle)
        try:
            return os.open(f"/proc/self/fd/{handle}", flags & ~os.O_NOFOLLOW)
        except FileNotFoundError:
            return _reopen_by_name(handle, root, parts, flags)  # there is no /proc
    except OSError as error:
        raise _to_api_error(error, parts) from None


def _reopen_by_name(handle: int, root: int, parts: Sequence[bytes], flags: int) -> int:
    parent = open_stepwise(root, parts[:-1])
    try:
        reader = os.open(parts[-1], flags, dir_fd=parent)
    finally:
        os.close(parent)
    if not os.path.samestat(os.fstat(reader), os.fstat(handle)):
        os.close(reader)
        raise OSError(errno.ENOENT, "it was replaced meanwhile")
    return reader


def _to_api_error(error: OSError, parts: Sequence[bytes]) -> ApiError:
    name = encode_path(b"/".join(parts)) or "The directory"
    match error.errno:
        case errno.ENOENT | errno.ENOTDIR | errno.ENAMETOOLONG:
            return ApiError("not_found", f"There is no {name}.")
        case errno.ELOOP | errno.EXDEV:
            text = "is, or lies behind, a symbolic link. Links are not followed: they may lead out of the project."
            return ApiError("forbidden", f"{name} {text}")
        case errno.EACCES | errno.EPERM:
            return ApiError("forbidden", f"The system does not let the server read {name}.")
        case _:
            return ApiError("unavailable", f"{name} cannot be read now: {error.strerror}.")


@cache
def _has_openat2() -> bool:
    if not _PATH or not hasattr(ctypes.CDLL(None), "syscall"):
        return False
    here = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.close(open_with_openat2(here, ()))
    except OSError:
        return False  # an old kernel, or a container that forbids the call
    finally:
        os.close(here)
    return True


@cache
def _syscall() -> Callable[..., int]:
    function = ctypes.CDLL(None, use_errno=True).syscall
    function.restype = ctypes.c_long
    return function


def _kernel_devices() -> frozenset[int]:
    devices = {os.stat(path).st_dev for path in _KERNEL if os.path.isdir(path)}
    return frozenset(devices - {os.stat("/").st_dev})
