"""Replaces and creates files atomically: readers see the old content or the new one, complete, also after a crash."""

import errno
import os
from contextlib import suppress
from types import TracebackType

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class AtomicFile:
    """A new file in the directory of the file that it will become. It is removed at the end, unless it became that."""

    def __init__(self, target: str, mode: int = 0o600, *, dir_fd: int | None = None) -> None:
        """Create it with `mode`, less the umask. With `dir_fd`, `target` is relative to that directory.

        Raises:
            OSError
        """
        folder, name = os.path.split(target)
        self._target = target
        self._dir_fd = dir_fd
        self.path = os.path.join(folder, f".{name[:40]}.{os.urandom(6).hex()}.tmp")
        self.file = open(os.open(self.path, _FLAGS, mode, dir_fd=dir_fd), "wb")  # noqa: SIM115 - closed by discard

    def __enter__(self) -> "AtomicFile":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.discard()

    def finish(self, *, durable: bool = True) -> None:
        """Close the file, once all of it is on the disk if `durable`. Raises `OSError`."""
        self.file.flush()
        if durable:
            os.fsync(self.file.fileno())
        self.file.close()

    def replace(self) -> None:
        """Give the finished file its name; a file or link of that name is replaced. Raises `OSError`."""
        os.replace(self.path, self._target, src_dir_fd=self._dir_fd, dst_dir_fd=self._dir_fd)

    def publish(self) -> None:
        """Give the finished file its name.

        Raises:
            FileExistsError: the name is taken.
            OSError
        """
        try:
            os.link(self.path, self._target, src_dir_fd=self._dir_fd, dst_dir_fd=self._dir_fd)
        except FileExistsError:
            raise
        except OSError:  # a file system without hard links: checking and renaming are two steps there
            with suppress(FileNotFoundError):
                os.stat(self._target, dir_fd=self._dir_fd, follow_symlinks=False)
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), self._target) from None
            self.replace()

    def discard(self) -> None:
        """Close the file, and remove it if it still has its own name."""
        with suppress(OSError):
            self.file.close()
        with suppress(OSError):
            os.unlink(self.path, dir_fd=self._dir_fd)


def replace_content(path: str, data: bytes, *, mode: int = 0o600, durable: bool = True) -> None:
    """Replace a file, or create it, with exactly this mode. If `durable`, it is on the disk afterwards.

    Raises:
        OSError: the file is as it was.
    """
    with AtomicFile(path, mode) as draft:
        draft.file.write(data)
        os.fchmod(draft.file.fileno(), mode)
        draft.finish(durable=durable)
        draft.replace()


def move(path: str, target: str) -> None:
    """Move a file to `target`, replacing it, also to another file system: at no time is it missing or incomplete.

    On one file system, folders can be moved too.

    Raises:
        OSError: it is where it was.
    """
    try:
        os.replace(path, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        _copy(path, target)
        os.unlink(path)


def _copy(path: str, target: str) -> None:
    from shutil import copyfileobj

    with open(path, "rb") as source, AtomicFile(target) as draft:
        copyfileobj(source, draft.file, 1 << 20)
        draft.finish()
        draft.replace()
