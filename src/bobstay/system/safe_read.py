"""Reads files of unknown origin: never blocks on a pipe, never reads more than the limit."""

import errno
import os
import stat


class NotRegularFile(OSError):  # noqa: N818 - it says what was found
    """A directory (`EISDIR`), or a pipe, socket or device (`EINVAL`)."""


def open_regular(path: str, *, follow: bool = True) -> int:
    """Open a regular file for reading; the caller closes the descriptor.

    With `follow=False`, a symbolic link as the last component is an error.

    Raises:
        NotRegularFile: it is of another kind.
        OSError: it cannot be opened.
    """
    # Non-blocking: opening a pipe that nobody writes would wait forever.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW))
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        number, what = (errno.EISDIR, "it is a directory") if stat.S_ISDIR(mode) else (errno.EINVAL, "it is not a file")
        raise NotRegularFile(number, what, path)
    return descriptor


def read_up_to(descriptor: int, most: int) -> bytes:
    """Read until the end, at most `most` bytes."""
    pieces: list[bytes] = []
    while most > 0 and (piece := os.read(descriptor, min(most, 1 << 20))):
        pieces.append(piece)
        most -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def read_regular(path: str, most: int, *, follow: bool = True) -> bytes | None:
    """Return up to `most` bytes of a regular file; None if there is no such file, or it is of another kind.

    With `follow=False`, a symbolic link as the last component counts as no file.
    """
    try:
        descriptor = open_regular(path, follow=follow)
    except (OSError, ValueError):
        return None
    try:
        return read_up_to(descriptor, most)
    except OSError:
        return None
    finally:
        os.close(descriptor)
