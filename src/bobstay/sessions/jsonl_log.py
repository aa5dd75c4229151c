"""A session log in a JSON lines file, safe against crashes, full disks and a second writer."""

import errno
import os
import time
from collections.abc import Callable, Iterator
from typing import Self

from bobstay.model.event import Durable, Envelope
from bobstay.model.ids import new_id
from bobstay.sessions.lease import Lease
from bobstay.sessions.log import LogError, LogFull, SessionExists, SessionMissing
from bobstay.sessions.log_codec import Unstorable, encode
from bobstay.sessions.log_scan import BUFFER_SIZE, LogScan
from bobstay.sessions.log_tree import LogTree

SUFFIX = ".jsonl"
LEASE_SUFFIX = ".lease"
_APPEND = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC
_DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


_flush = getattr(os, "fdatasync", os.fsync)
"""`fdatasync` is cheaper, but not every system has it."""


class JsonlLog:
    """A `Log`, made by `create` or `reopen`. For use by one thread; only `sync` may run in another."""

    def __init__(self, path: str, fd: int, lease: Lease, *, epoch: int = 0) -> None:
        self.path = path
        self.session_id = os.path.basename(path).removesuffix(SUFFIX)
        self.head = ""
        self.seq = 0
        self._fd = fd
        self._lease = lease
        self._epoch = epoch
        self._end = 0
        self._torn = False

    @classmethod
    def create(cls, path: str, *, epoch: int = 0) -> Self:
        """Create a new, empty log.

        Raises:
            SessionExists: a file of this name exists.
        """
        session_id = os.path.basename(path).removesuffix(SUFFIX)
        try:
            fd = os.open(path, _APPEND | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            raise SessionExists(f"Session ID {session_id} is already in use.", errno.EEXIST) from None
        except OSError as error:
            raise LogError(f"cannot create the session file {path}: {error.strerror}", error.errno) from None
        return cls(path, fd, _acquire_lease(fd, path), epoch=epoch)

    @classmethod
    def reopen(cls, path: str, *, epoch: int = 0) -> tuple[Self, LogTree]:
        """Open an existing log: repair its end, read it, and continue at its last entry.

        Raises:
            SessionMissing: there is no such file.
            SessionBusy: another process writes it.
        """
        session_id = os.path.basename(path).removesuffix(SUFFIX)
        try:
            fd = os.open(path, _APPEND)
        except FileNotFoundError:
            message = f"No conversation found with session ID: {session_id}"
            raise SessionMissing(message, errno.ENOENT) from None
        except OSError as error:
            raise LogError(f"cannot open the session file {path}: {error.strerror}", error.errno) from None
        log = cls(path, fd, _acquire_lease(fd, path), epoch=epoch)
        try:
            return log, log._load()
        except OSError:
            log.close()
            raise

    def append(
        self,
        event: Durable,
        *,
        sync: bool = False,
        parent: str | None = None,
        id: str | None = None,
        agent: str = "",
        parent_call: str = "",
        at: float | None = None,
    ) -> Envelope:
        """See `Log.append`. `at` is the time of an event that is imported."""
        envelope = Envelope(
            self.seq + 1,
            new_id() if id is None else id,
            self.head if parent is None else parent,
            time.time() if at is None else at,
            event,
            agent,
            parent_call,
            self._epoch,
        )
        try:
            line = encode(envelope)
        except Unstorable as error:
            reason = f"an event of kind {type(event).__name__} cannot be stored in {self.path}: {error}"
            raise LogError(reason) from None
        self._write(line)
        self.seq = envelope.seq
        self.head = envelope.id
        if sync:
            self.sync()
        return envelope

    def rewind(self, entry: str) -> None:
        """Continue at an earlier entry: the next entry follows it and starts a new branch."""
        self.head = entry

    def read(self, after: int = 0) -> Iterator[Envelope]:
        with open(self.path, "rb", buffering=BUFFER_SIZE) as file:
            for envelope in LogScan(file):
                if envelope.seq > after:
                    yield envelope

    def when_stored(self, then: Callable[[], None]) -> None:
        then()

    async def settled(self) -> None:
        """See `Log.settled`: `append` has stored everything."""

    def sync(self) -> None:
        try:
            _flush(self._fd)
            deleted = os.fstat(self._fd).st_nlink == 0
        except OSError as error:
            raise self._storage_error(error) from None
        if deleted:
            reason = f"the session file {self.path} was deleted while in use: nothing more can be stored in it"
            raise LogError(f"{reason}. Start a new session.", errno.ENOENT)

    def close(self) -> None:
        if self._fd >= 0:
            self._lease.release()
            os.close(self._fd)
            self._fd = -1

    def _write(self, data: bytes) -> None:
        if self._fd < 0:
            raise LogError(f"session {self.session_id} was closed", errno.EBADF)
        if self._torn:
            self._truncate()
        length = len(data)
        try:
            written = os.write(self._fd, data)
            while written < length:
                written += os.write(self._fd, memoryview(data)[written:])
        except OSError as error:
            self._truncate()
            raise self._storage_error(error) from None
        self._end += length

    def _truncate(self) -> None:
        """Remove a partly written entry, so that the file contains whole lines only."""
        self._torn = True
        try:
            os.ftruncate(self._fd, self._end)
        except OSError as error:
            raise self._storage_error(error) from None
        self._torn = False

    def _storage_error(self, error: OSError) -> LogError:
        if error.errno in _DISK_FULL:
            reason = f"no space to store the session in {self.path}: {error.strerror}. Free some space and resume it."
            return LogFull(f"{reason} Everything stored before is kept.", error.errno)
        return LogError(f"cannot store the session in {self.path}: {error.strerror}", error.errno)

    def _load(self) -> LogTree:
        tree = LogTree()
        with open(self.path, "rb", buffering=BUFFER_SIZE) as file:
            scan = LogScan(file, tree.warnings)
            for envelope in scan:
                tree.add(envelope)
        self._end = scan.end
        self._repair_end(scan)
        self.seq = scan.highest
        self.head = tree.leaf
        return tree

    def _repair_end(self, scan: LogScan) -> None:
        """Make the file end with a whole line, whatever a crash left there."""
        if not scan.tail:
            return
        if not scan.tail_is_entry:
            if scan.tail_is_torn:
                self._truncate()
                lost = len(scan.tail)
                scan.warnings.add(f"line {scan.lines} was never finished: its {lost} bytes were cut off")
                return
            scan.warnings.add(f"line {scan.lines} was skipped: it is not a log entry")
        self._end += len(scan.tail)
        self._write(b"\n")


def _acquire_lease(fd: int, path: str) -> Lease:
    session_id = os.path.basename(path).removesuffix(SUFFIX)
    try:
        return Lease.acquire(fd, session_id, path.removesuffix(SUFFIX) + LEASE_SUFFIX)
    except OSError:
        os.close(fd)
        raise
