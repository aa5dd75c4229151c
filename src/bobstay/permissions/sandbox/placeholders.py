"""Placeholders on the disk for protected paths that do not exist, as mount points for the sandbox.

While a sandbox runs, a missing `.mcp.json` is a socket without permissions on the disk (git, grep and find ignore
sockets) and an empty, read-only file inside. All sandboxes that write to one directory hold a shared lock; the last to
end, or the next to start after a crash, removes the placeholders. They must not be removed earlier: removing the file
under a mount removes the mount in every sandbox that still needs it.
"""

import errno
import hashlib
import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from typing import Literal, TypeAlias

from msgspec import Struct

from bobstay.system.file_lock import hold_lock, lock, lock_shared

Kind: TypeAlias = Literal["socket", "folder", "file", "dot"]
"""`file` and `dot` are for git directories, where git fails on a socket or an empty `commondir`."""
_FOLDER_MODE = 0o500
_FILE_MODE = 0o400
_TEXT: dict[str, bytes] = {"file": b"", "dot": b".\n"}


class Placeholder(Struct, frozen=True):
    path: str
    kind: Kind


class PlaceholderLease:
    """A shared lock on the placeholders of some directories, held from before a sandbox starts until it has ended."""

    def __init__(self, state: str, roots: Iterable[str]) -> None:
        """Wait for processes that clean up, and remove placeholders that a crash left.

        Raises:
            OSError: The list of placeholders cannot be written, so none may be created.
        """
        self._notes: list[int] = []
        os.makedirs(state, mode=0o700, exist_ok=True)
        try:
            for root in sorted(set(roots)):
                self._notes.append(_open_shared(note_path(state, root)))
        except BaseException:
            self.release()
            raise

    def put(self, number: int, wanted: Iterable[Placeholder]) -> set[str]:
        """Create missing placeholders. They are listed in the note file before they are created.

        Returns the paths where this process may not create one: a sandboxed process, with fewer rights, cannot either.
        """
        missing = [one for one in wanted if not os.path.lexists(one.path)]
        refused: set[str] = set()
        if not missing:
            return refused
        os.write(self._notes[number], b"".join(os.fsencode(one.path) + b"\0" for one in missing))
        for one in missing:
            try:
                _make(one)
            except FileExistsError:
                pass  # another sandbox was faster: its placeholder, or a real file, works too
            except OSError as error:
                if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT):
                    raise
                refused.add(one.path)
        return refused

    def release(self) -> None:
        for note in self._notes:
            with suppress(OSError):  # others still run: the last of them cleans up
                lock(note, 0)
                _clean(note)
            os.close(note)
        self._notes = []


def note_path(state: str, root: str) -> str:
    """The note file of one directory: it is locked, and lists the placeholders."""
    return f"{state}/{hashlib.sha256(os.fsencode(root)).hexdigest()[:32]}.masks"


def sweep(state: str) -> None:
    """Remove the placeholders of crashed runs. Those of a run that is still active stay."""
    try:
        names = [name for name in os.listdir(state) if name.endswith(".masks")]
    except OSError:
        return
    for name in names:
        with suppress(OSError):
            note = os.open(f"{state}/{name}", os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            with hold_lock(note, 0):
                _clean(note)


def is_placeholder(path: str) -> bool:
    """Whether `path` has the type, permissions and content of a placeholder."""
    try:
        status = os.lstat(path)
    except OSError:
        return False
    mode = stat.S_IMODE(status.st_mode)
    if stat.S_ISSOCK(status.st_mode):
        return mode == 0
    if stat.S_ISDIR(status.st_mode):
        return mode == _FOLDER_MODE
    return stat.S_ISREG(status.st_mode) and mode == _FILE_MODE and status.st_size <= 2 and _has_own_content(path)


def _open_shared(path: str) -> int:
    note = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        with suppress(BlockingIOError):
            lock(note, 0)
            _clean(note)  # no other sandbox runs here, so listed placeholders were left by a crash
        lock_shared(note)
    except BaseException:
        os.close(note)
        raise
    return note


def _clean(note: int) -> None:
    """Remove the listed placeholders; the caller holds the exclusive lock."""
    noted = os.pread(note, 1 << 22, 0)
    if not noted:
        return
    for path in map(os.fsdecode, reversed(noted.split(b"\0"))):  # the content of a folder before the folder
        if path.startswith("/") and is_placeholder(path):
            with suppress(OSError):
                if stat.S_ISDIR(os.lstat(path).st_mode):
                    os.rmdir(path)
                else:
                    os.unlink(path)
    os.ftruncate(note, 0)


def _make(one: Placeholder) -> None:
    if one.kind == "folder":
        os.mkdir(one.path, _FOLDER_MODE)
        os.chmod(one.path, _FOLDER_MODE)
    elif one.kind == "socket" and _make_socket(one.path):
        pass
    else:
        made = os.open(one.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, _FILE_MODE)
        try:
            os.write(made, _TEXT.get(one.kind, b""))
            os.fchmod(made, _FILE_MODE)
        finally:
            os.close(made)


def _make_socket(path: str) -> bool:
    """Make a socket; False on file systems without sockets, where an empty file is used although git sees it."""
    try:
        os.mknod(path, stat.S_IFSOCK)
    except FileExistsError:
        raise
    except OSError:
        return False
    return True


def _has_own_content(path: str) -> bool:
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read(3) in _TEXT.values()
    except OSError:
        return False
