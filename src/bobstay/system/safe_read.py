"""Reads small files of unknown origin: never blocks on a pipe, never reads more than the limit."""

import os
import stat


def read_regular(path: str, most: int, *, follow: bool = True) -> bytes | None:
    """Return up to `most` bytes of a regular file; None if there is no such file, or it is of another kind.

    With `follow=False`, a symbolic link as the last component counts as no file.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    try:
        descriptor = os.open(path, flags)
    except (OSError, ValueError):
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        pieces: list[bytes] = []
        while most > 0 and (piece := os.read(descriptor, min(most, 1 << 20))):
            pieces.append(piece)
            most -= len(piece)
        return b"".join(pieces)
    except OSError:
        return None
    finally:
        os.close(descriptor)
