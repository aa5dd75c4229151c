"""Locks files between processes. A lock lasts until its descriptor is closed, at the latest when the process ends."""

import fcntl
import os
import time
from collections.abc import Generator
from contextlib import contextmanager

TIMEOUT_SECONDS = 0.1
"""Seconds after which the holder is taken for a lasting owner: others hold a lock for a moment to check its owner."""
_INTERVAL = 0.005


def lock(fd: int, seconds: float = TIMEOUT_SECONDS) -> None:
    """Lock the file for this process alone, waiting up to `seconds`.

    Raises:
        BlockingIOError: another process holds it.
        OSError: the file system has no locks.
    """
    deadline = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(_INTERVAL)
        else:
            return


def lock_shared(fd: int) -> None:
    """Lock the file together with others that share it, and wait until nobody has it alone."""
    fcntl.flock(fd, fcntl.LOCK_SH)


def is_locked(fd: int) -> bool:
    """Whether another process has the file for itself alone.

    If none has, the lock is shared until the caller closes `fd`, which should be at once.

    Raises:
        OSError: the file system has no locks.
    """
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


@contextmanager
def hold_lock(fd: int, seconds: float) -> Generator[None, None, None]:
    """Lock as `lock` does, and close `fd` at the end."""
    try:
        lock(fd, seconds)
        yield
    finally:
        os.close(fd)
