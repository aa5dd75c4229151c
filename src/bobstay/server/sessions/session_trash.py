"""Trash for the logs of deleted sessions, until they are restored or removed permanently."""

import os

from msgspec import Struct

from bobstay.server.sessions.session_registry import fold
from bobstay.sessions.jsonl_log import SUFFIX
from bobstay.sessions.log import LogError, SessionExists, SessionMissing
from bobstay.sessions.log_reader import LogReader
from bobstay.sessions.log_store import LogStore
from bobstay.system import atomic_file

MOST_LISTED = 200


class Trashed(Struct, frozen=True):
    """A deleted session."""

    id: str
    title: str
    cwd: str
    deleted_at: float
    bytes: int


class Trash:
    def __init__(self, directory: str, store: LogStore) -> None:
        self._directory = directory
        self._store = store

    def path(self, session_id: str) -> str:
        """Raises:
        SessionMissing: this is not the id of a session.
        """
        if os.path.basename(session_id) != session_id or session_id.startswith("."):
            raise SessionMissing("There is no such session in the trash.")
        return os.path.join(self._directory, session_id + SUFFIX)

    def put(self, session_id: str) -> None:
        """Raises:
        LogError: the log cannot be moved, and stays where it was.
        """
        move_log(self._store.path(session_id), self.path(session_id))
        os.utime(self.path(session_id))

    def holds(self, session_id: str) -> bool:
        return os.path.isfile(self.path(session_id))

    def listed(self) -> list[Trashed]:
        """Most recently deleted first."""
        try:
            with os.scandir(self._directory) as files:
                found = [(file.stat(), file) for file in files if file.name.endswith(SUFFIX) and file.is_file()]
        except OSError:
            return []
        found.sort(key=lambda pair: pair[0].st_mtime, reverse=True)
        return [_trashed(file.path, about.st_mtime, about.st_size) for about, file in found[:MOST_LISTED]]

    def restore(self, session_id: str) -> None:
        """Raises:
        SessionMissing: it is not in the trash.
        SessionExists: there is a session with this id again.
        LogError: it cannot be moved.
        """
        path, log_path = self._existing(session_id), self._store.path(session_id)
        if os.path.lexists(log_path):
            raise SessionExists(f"Session ID {session_id} is already in use.")
        move_log(path, log_path)

    def remove(self, session_id: str) -> None:
        """Remove a deleted session permanently.

        Raises:
            SessionMissing, LogError
        """
        path = self._existing(session_id)
        try:
            os.unlink(path)
        except OSError as error:
            raise LogError(f"session {session_id} cannot be removed: {error.strerror}", error.errno) from None

    def _existing(self, session_id: str) -> str:
        path = self.path(session_id)
        if not os.path.isfile(path):
            raise SessionMissing(f"Session {session_id[:80]} is not in the trash.")
        return path


def _trashed(path: str, deleted_at: float, size: int) -> Trashed:
    session_id = os.path.basename(path).removesuffix(SUFFIX)
    view = fold(session_id, LogReader(path).read())
    return Trashed(session_id, view.title or view.first_prompt, view.cwd, deleted_at, size)


def move_log(path: str, target: str) -> None:
    """Move the file `path` to `target`, replacing it. A missing folder is created, accessible to its owner only.

    Raises:
        LogError: it cannot be moved, and stays where it was.
    """
    try:
        os.makedirs(os.path.dirname(target), 0o700, exist_ok=True)
        atomic_file.move(path, target)
    except OSError as error:
        raise LogError(f"cannot move {path} to {target}: {error.strerror}", error.errno) from None
