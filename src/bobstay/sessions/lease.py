"""The right to write a session: held by one process, given back by the system when that process dies."""

import errno
import os
import time

import msgspec
from msgspec import Struct

from bobstay.model.ids import timestamp
from bobstay.sessions.log import LogError, SessionBusy
from bobstay.system.file_lock import lock


class LeaseHolder(Struct, frozen=True, omit_defaults=True):
    """Who writes a session, as noted beside its log. The lock decides; the note only tells whom to ask."""

    pid: int
    host: str = ""
    since: float = 0.0


class Lease:
    """A lock on the log file itself, so it lives exactly as long as the open file does."""

    def __init__(self, note: str) -> None:
        self._note = note

    @classmethod
    def take(cls, fd: int, session_id: str, note: str) -> "Lease":
        """Lock the open file `fd`.

        Raises:
            SessionBusy: another holds it; the text says who.
            LogError: the file system knows no locks.
        """
        try:
            lock(fd)
        except BlockingIOError:
            raise SessionBusy(_busy(session_id, holder(note)), errno.EWOULDBLOCK) from None
        except OSError as error:
            reason = f"session {session_id} cannot be locked: {error.strerror}. Keep sessions on a local disk."
            raise LogError(reason, error.errno) from None
        lease = cls(note)
        lease._write()
        return lease

    def release(self) -> None:
        """Remove the note. The lock itself goes when the file is closed."""
        try:
            os.unlink(self._note)
        except OSError:
            return

    def _write(self) -> None:
        note = msgspec.json.encode(LeaseHolder(os.getpid(), os.uname().nodename, time.time()))
        try:
            fd = os.open(self._note, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError:
            return  # the note is a courtesy: the lock is held without it
        try:
            os.write(fd, note)
        except OSError:
            pass
        finally:
            os.close(fd)


def holder(note: str) -> LeaseHolder | None:
    """Return who is noted at `note`, if that can be read."""
    try:
        with open(note, "rb") as file:
            return msgspec.json.decode(file.read(4096), type=LeaseHolder)
    except (OSError, msgspec.DecodeError, ValueError):
        return None


def _busy(session_id: str, by: LeaseHolder | None) -> str:
    text = f"session {session_id} is being written by another process"
    if by is not None:
        text += f" (pid {by.pid} on {by.host or 'this machine'}"
        text += f", since {timestamp(by.since)})" if by.since else ")"
    return f"{text}. End that one first, or fork the session."
