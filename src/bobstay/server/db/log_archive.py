"""Archive of session logs: one gzip file per log, complete on disk before the log is deleted."""

import gzip
import os
import shutil
import zlib
from hashlib import sha256

from bobstay.sessions.jsonl_log import SUFFIX, JsonlLog
from bobstay.sessions.log import LogError, SessionExists, SessionMissing
from bobstay.system.atomic_file import AtomicFile

ARCHIVE_SUFFIX = SUFFIX + ".gz"
PIECE = 1024 * 1024


class Archive:
    def __init__(self, directory: str) -> None:
        self.directory = directory

    def path(self, session_id: str) -> str:
        return os.path.join(self.directory, session_id + ARCHIVE_SUFFIX)

    def all(self) -> dict[str, str]:
        """The paths of all archived logs, by session."""
        try:
            names = os.listdir(self.directory)
        except OSError:
            return {}
        return {
            name.removesuffix(ARCHIVE_SUFFIX): os.path.join(self.directory, name)
            for name in names
            if name.endswith(ARCHIVE_SUFFIX)
        }

    def pack(self, log_path: str) -> str:
        """Move a log that has no writer into the archive; returns its new path.

        Raises:
            SessionBusy: another process writes it.
            LogError: the disk is full, or the copy differs. The log then stays where it was.
        """
        session_id = os.path.basename(log_path).removesuffix(SUFFIX)
        held, _ = JsonlLog.reopen(log_path)
        try:
            os.makedirs(self.directory, 0o700, exist_ok=True)
            with open(log_path, "rb") as source, AtomicFile(self.path(session_id)) as draft:
                with gzip.GzipFile("", "wb", 6, draft.file, 0) as target:
                    shutil.copyfileobj(source, target, PIECE)
                draft.finish()
                _compare(log_path, draft.path)
                draft.replace()
            os.unlink(log_path)
        except LogError:
            raise
        except (OSError, EOFError, zlib.error) as error:
            raise LogError(f"session {session_id} cannot be archived: {error}") from None
        finally:
            held.close()
        return self.path(session_id)

    def restore(self, session_id: str, log_path: str) -> None:
        """Move a log back from the archive.

        Raises:
            SessionMissing: it is not in the archive.
            SessionExists: there is a log with this name.
            LogError: it cannot be read, or the disk is full. The archive is then unchanged.
        """
        try:
            with gzip.open(self.path(session_id), "rb") as source, AtomicFile(log_path) as draft:
                shutil.copyfileobj(source, draft.file, PIECE)
                draft.finish()
                draft.publish()
            os.unlink(self.path(session_id))
        except FileNotFoundError:
            raise SessionMissing(f"Session {session_id} is not in the archive.") from None
        except FileExistsError:
            raise SessionExists(f"Session ID {session_id} is already in use.") from None
        except (OSError, EOFError, zlib.error) as error:
            raise LogError(f"session {session_id} cannot be restored: {error}") from None


def _compare(log_path: str, copy: str) -> None:
    if _digest(log_path) != _digest(copy, packed=True):
        raise LogError(f"the copy of {log_path} in the archive differs from it: nothing was moved")


def _digest(path: str, *, packed: bool = False) -> str:
    digest = sha256()
    with gzip.open(path, "rb") if packed else open(path, "rb") as file:
        while piece := file.read(PIECE):
            digest.update(piece)
    return digest.hexdigest()
