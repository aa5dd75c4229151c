"""Session lease: the exclusive right to write a session, released by the system when the process dies."""

import errno
import os
import time

import msgspec
from msgspec import Struct

from bobstay.model.ids import timestamp
from bobstay.sessions.log import LogError, SessionBusy
from bobstay.system.file_lock import lock


class LeaseHolder(Struct, frozen=True, omit_defaults=True):
    """The process that writes a session, recorded next to its log. It is informational: the lock decides."""

    pid: int
    host: str = ""
    since: float = 0.0


class Lease:
    """A lock on the log file itself, which lasts exactly as long as the file is open."""

    def __init__(self, holder_file: str) -> None:
        self._holder_file = holder_file

    @classmethod
    def acquire(cls, fd: int, session_id: str, holder_file: str) -> "Lease":
        """Lock the open file `fd`, and record this process in `holder_file`.

        Raises:
            SessionBusy: another process holds the lock; the text says which.
            LogError: the file system does not support locks.
        """
        try:
            lock(fd)
        except BlockingIOError:
            raise SessionBusy(_busy_message(session_id, read_holder(holder_file)), errno.EWOULDBLOCK) from None
        except OSError as error:
            reason = f"session {session_id} cannot be locked: {error.strerror}. Keep sessions on a local disk."
            raise LogError(reason, error.errno) from None
        lease = cls(holder_file)
        lease._write()
        return lease

    def release(self) -> None:
        """Remove the holder file. The lock itself is released when the log file is closed."""
        try:
            os.unlink(self._holder_file)
        except OSError:
            return

    def _write(self) -> None:
        holder = msgspec.json.encode(LeaseHolder(os.getpid(), os.uname().nodename, time.time()))
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            fd = os.open(self._holder_file, flags, 0o600)
        except OSError:
            return  # the holder file is informational: the lock is held without it
        try:
            os.write(fd, holder)
        except OSError:
            pass
        finally:
            os.close(fd)


def read_holder(holder_file: str) -> LeaseHolder | None:
    """Return the process recorded in `holder_file`; None if it cannot be read."""
    try:
        with open(holder_file, "rb") as file:
            return msgspec.json.decode(file.read(4096), type=LeaseHolder)
    except (OSError, msgspec.DecodeError, ValueError):
        return None


def _busy_message(session_id: str, by: LeaseHolder | None) -> str:
    text = f"session {session_id} is being written by another process"
    if by is not None:
        text += f" (pid {by.pid} on {by.host or 'this machine'}"
        text += f", since {timestamp(by.since)})" if by.since else ")"
    return f"{text}. End that process first, or fork the session."
