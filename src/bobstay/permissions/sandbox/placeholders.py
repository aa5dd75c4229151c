"""Stand-ins on the disk for protected paths that do not exist, so that a mount can hold their place.

A mount needs something to be mounted on. While a sandbox runs, a missing `.mcp.json` is a socket without permissions
on the disk (git, grep and find pass over sockets) and an empty, read-only file inside. All sandboxes that write to
one directory hold a shared lock; the last to end, or the next to start after a crash, removes the stand-ins. Nobody
may do so earlier: removing the file under a mount takes the mount away, also from those who still need it.
"""

import errno
import fcntl
import hashlib
import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from typing import Literal, TypeAlias

from msgspec import Struct

Kind: TypeAlias = Literal["socket", "folder", "file", "dot"]
"""`file` and `dot` stand inside a git directory: git would stumble over a socket, or an empty `commondir`, there."""
_FOLDER_MODE = 0o500
_FILE_MODE = 0o400
_TEXT: dict[str, bytes] = {"file": b"", "dot": b".\n"}


class Placeholder(Struct, frozen=True):
    path: str
    kind: Kind


class PlaceholderLease:
    """A share in the stand-ins of some directories, from before a sandbox starts until all of it is gone."""

    def __init__(self, state: str, roots: Iterable[str]) -> None:
        """Wait for those who clean up, and clean up what a crash left.

        Raises:
            OSError: the notes cannot be kept, so nothing may be put on the disk.
        """
        self._locks: list[int] = []
        os.makedirs(state, mode=0o700, exist_ok=True)
        try:
            for root in sorted(set(roots)):
                self._locks.append(_shared(note_of(state, root)))
        except BaseException:
            self.release()
            raise

    def put(self, number: int, stand_ins: Iterable[Placeholder]) -> set[str]:
        """Put stand-ins where nothing is. They are noted before they are made.

        Returns the paths where we may not put any. Then nobody in the sandbox may either: they have fewer rights.
        """
        missing = [one for one in stand_ins if not os.path.lexists(one.path)]
        refused: set[str] = set()
        if not missing:
            return refused
        os.write(self._locks[number], b"".join(os.fsencode(one.path) + b"\0" for one in missing))
        for one in missing:
            try:
                _make(one)
            except FileExistsError:
                pass  # another sandbox was faster: its stand-in, or a real file, does as well
            except OSError as error:
                if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT):
                    raise
                refused.add(one.path)
        return refused

    def release(self) -> None:
        for lock in self._locks:
            with suppress(OSError):  # others still run: the last of them cleans up
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _clean(lock)
            os.close(lock)
        self._locks = []


def note_of(state: str, root: str) -> str:
    """The file that is locked for, and lists the stand-ins in, one directory."""
    return f"{state}/{hashlib.sha256(os.fsencode(root)).hexdigest()[:32]}.masks"


def sweep(state: str) -> None:
    """Remove what crashed runs left anywhere. What belongs to a run that still goes on stays."""
    try:
        names = [name for name in os.listdir(state) if name.endswith(".masks")]
    except OSError:
        return
    for name in names:
        with suppress(OSError):
            lock = os.open(f"{state}/{name}", os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _clean(lock)
            finally:
                os.close(lock)


def is_stand_in(path: str) -> bool:
    """Whether what is at `path` looks as only we make it."""
    try:
        status = os.lstat(path)
    except OSError:
        return False
    mode = stat.S_IMODE(status.st_mode)
    if stat.S_ISSOCK(status.st_mode):
        return mode == 0
    if stat.S_ISDIR(status.st_mode):
        return mode == _FOLDER_MODE
    return stat.S_ISREG(status.st_mode) and mode == _FILE_MODE and status.st_size <= 2 and _reads_like_ours(path)


def _shared(path: str) -> int:
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        with suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _clean(lock)  # nobody else runs here, so whatever is noted was left by a crash
        fcntl.flock(lock, fcntl.LOCK_SH)
    except BaseException:
        os.close(lock)
        raise
    return lock


def _clean(lock: int) -> None:
    """Remove what is noted, under an exclusive lock."""
    noted = os.pread(lock, 1 << 22, 0)
    if not noted:
        return
    for path in map(os.fsdecode, reversed(noted.split(b"\0"))):  # what was put into a folder before the folder
        if path.startswith("/") and is_stand_in(path):
            with suppress(OSError):
                if stat.S_ISDIR(os.lstat(path).st_mode):
                    os.rmdir(path)
                else:
                    os.unlink(path)
    os.ftruncate(lock, 0)


def _make(one: Placeholder) -> None:
    if one.kind == "folder":
        os.mkdir(one.path, _FOLDER_MODE)
        os.chmod(one.path, _FOLDER_MODE)
    elif one.kind == "socket" and _made_socket(one.path):
        pass
    else:
        made = os.open(one.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, _FILE_MODE)
        try:
            os.write(made, _TEXT.get(one.kind, b""))
            os.fchmod(made, _FILE_MODE)
        finally:
            os.close(made)


def _made_socket(path: str) -> bool:
    """Some file systems have no sockets: an empty file must do there, although git will see it."""
    try:
        os.mknod(path, stat.S_IFSOCK)
    except FileExistsError:
        raise
    except OSError:
        return False
    return True


def _reads_like_ours(path: str) -> bool:
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read(3) in _TEXT.values()
    except OSError:
        return False
