"""Moves a log atomically, also to another file system: at no time is it missing or incomplete."""

import os

from bobstay.sessions.log import LogError
from bobstay.system import atomic_file


def move(path: str, target: str) -> None:
    """Move the file `path` to `target`, replacing it. A missing folder is created, accessible to its owner only.

    Raises:
        LogError: it cannot be moved, and stays where it was.
    """
    try:
        os.makedirs(os.path.dirname(target), 0o700, exist_ok=True)
        atomic_file.move(path, target)
    except OSError as error:
        raise LogError(f"cannot move {path} to {target}: {error.strerror}", error.errno) from None
