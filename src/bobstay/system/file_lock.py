"""Locks a file, waiting briefly because others may hold the lock for a moment to check its owner."""

import fcntl
import time

TIMEOUT_SECONDS = 0.1
"""Seconds after which the holder is taken for a lasting owner."""


def lock(fd: int) -> None:
    """Lock the file for this process alone.

    Raises:
        BlockingIOError: another process holds it.
    """
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise
            time.sleep(TIMEOUT_SECONDS / 20)
        else:
            return
