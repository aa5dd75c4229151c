"""Moves a log atomically, also to another file system: at no time is it missing or incomplete."""

import errno
import os
import shutil

from bobstay.model.ids import new_id
from bobstay.sessions.log import LogError


def move(path: str, target: str) -> None:
    """Move the file `path` to `target`, replacing it. A missing folder is created, accessible to its owner only.

    Raises:
        LogError: it cannot be moved, and stays where it was.
    """
    try:
        os.makedirs(os.path.dirname(target), 0o700, exist_ok=True)
        try:
            os.replace(path, target)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            _copy(path, target)
            os.unlink(path)
    except OSError as error:
        raise LogError(f"cannot move {path} to {target}: {error.strerror}", error.errno) from None


def _copy(path: str, target: str) -> None:
    draft = f"{target}.{new_id()}.draft"
    try:
        with (
            open(path, "rb") as source,
            open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as copy,
        ):
            shutil.copyfileobj(source, copy, 1024 * 1024)
            copy.flush()
            os.fsync(copy.fileno())
        os.replace(draft, target)
    except OSError:
        if os.path.lexists(draft):
            os.unlink(draft)
        raise
