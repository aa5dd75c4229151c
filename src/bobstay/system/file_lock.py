"""Takes the lock of a file that others may hold for a moment only to look who has it."""

import fcntl
import time

PATIENCE = 0.1
"""Seconds after which whoever holds it is taken for somebody who keeps it."""


def lock(fd: int) -> None:
    """Lock the file for this process alone.

    Raises:
        BlockingIOError: somebody keeps it.
    """
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise
            time.sleep(PATIENCE / 20)
        else:
            return
