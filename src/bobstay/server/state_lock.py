"""Lock of the state directory: only one server uses it, and a second one reports the address of the first."""

import errno
import os

import msgspec
from msgspec import Struct

from bobstay.system.file_lock import is_locked, lock


class LockHolder(Struct, frozen=True):
    pid: int
    address: str = ""


class StateLockedError(Exception):
    """Another server uses the state directory."""


class StateLock:
    """Held until it is released or the process ends."""

    def __init__(self, fd: int, path: str) -> None:
        self._fd = fd
        self._path = path

    @classmethod
    def acquire(cls, state: str) -> "StateLock":
        """Raises:
        StateLockedError: the text has the address of the server that holds it.
        """
        os.makedirs(state, 0o700, exist_ok=True)
        os.chmod(state, 0o700)
        path = os.path.join(state, "server.lock")
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            lock(fd)
        except OSError as error:
            holder = _holder(fd)
            os.close(fd)
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                raise
            where = f" at {holder.address}" if holder and holder.address else ""
            who = f" (process {holder.pid})" if holder else ""
            text = (
                f"A console already runs{where}{who} with the state in {state}. Use that one, stop it, or give this one"
            )
            raise StateLockedError(f"{text} another BOBSTAY_HOME.") from None
        return cls(fd, path)

    def write_address(self, address: str) -> None:
        """Store the address of this server, for the error of a second one."""
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, msgspec.json.encode(LockHolder(os.getpid(), address)), 0)

    def release(self) -> None:
        if self._fd >= 0:
            os.ftruncate(self._fd, 0)
            os.close(self._fd)
            self._fd = -1


def holder_of(state: str) -> LockHolder | None:
    """The server that holds a state directory, if there is one. Creates and locks nothing."""
    try:
        fd = os.open(os.path.join(state, "server.lock"), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        return _holder(fd) or LockHolder(0) if is_locked(fd) else None
    except OSError:
        return _holder(fd) or LockHolder(0)
    finally:
        os.close(fd)


def _holder(fd: int) -> LockHolder | None:
    try:
        return msgspec.json.decode(os.pread(fd, 4096, 0), type=LockHolder)
    except (OSError, msgspec.DecodeError):
        return None
