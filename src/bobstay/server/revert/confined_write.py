"""Changes files beneath a session's directory: no link is followed, and a file is replaced whole or not at all."""

import os
import stat
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress

from bobstay.model.ids import new_id
from bobstay.server.errors import ApiError
from bobstay.server.files.confined_open import opened
from bobstay.server.files.path_names import parts_of, shown
from bobstay.server.files.session_directory import SessionDirectory
from bobstay.server.files.text_content import read_up_to
from bobstay.server.files.working_changes import version_of

MOST = 16 * 1024 * 1024
"""Bytes of a file that is changed here; a larger one is for a terminal."""


def content(place: SessionDirectory, path: str) -> bytes:
    """A file whole.

    Raises:
        ApiError: it is not there, not to be shown, or too large.
    """
    with place.file(path) as handle:
        data = read_up_to(handle, MOST + 1)
    check_size(data, path)
    return data


def check_size(data: bytes, path: str) -> None:
    if len(data) > MOST:
        text = f"{path} has more than {MOST // 1024 // 1024} MiB. Change it in a terminal."
        raise ApiError("too_large", text, limit=MOST)


def changed(path: str, why: str = "") -> ApiError:
    text = f"{path} is not what was shown. {why}".strip()
    return ApiError("conflict", f"{text} Look at the diff again.", path=path)


def check_version(place: SessionDirectory, path: str, version: str) -> None:
    """Raises:
    ApiError: conflict, where the file is not of this version; an empty one means that there is none.
    """
    if version_of(place, path)[0] != version:
        raise changed(path)


def put(place: SessionDirectory, path: str, data: bytes, mode: int | None = None, *, over: str) -> None:
    """Write a file in the place of the one whose version is `over`. `mode` None keeps the one it has.

    Raises:
        ApiError: conflict, where somebody has written to it meanwhile.
    """
    parts = parts_of(path)
    with _folder(place, parts) as folder, _told(path):
        name, beside = parts[-1], f".{new_id()}.bobstay".encode()
        if mode is None:
            mode = stat.S_IMODE(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        handle = os.open(beside, flags, 0o600, dir_fd=folder)
        try:
            with open(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fchmod(file.fileno(), mode)
                os.fsync(file.fileno())
            check_version(place, path, over)  # at the last moment: to get so far may have taken long
            os.rename(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(beside, dir_fd=folder)
            raise


def remove(place: SessionDirectory, path: str, *, version: str) -> None:
    """Raises:
    ApiError: conflict, where it is not of this version any more.
    """
    parts = parts_of(path)
    with _folder(place, parts) as folder, _told(path):
        check_version(place, path, version)
        os.unlink(parts[-1], dir_fd=folder)


def make_folders(place: SessionDirectory, path: str) -> None:
    """See to it that the directories a file lies in are there."""
    parts = parts_of(path)
    for number in range(1, len(parts)):
        with _folder(place, parts[:number]) as folder, suppress(FileExistsError), _told(path):
            os.mkdir(parts[number - 1], 0o777, dir_fd=folder)


@contextmanager
def _folder(place: SessionDirectory, parts: Sequence[bytes]) -> Generator[int, None, None]:
    if not parts or b".git" in parts or not place.shows(parts):
        raise ApiError("forbidden", f"{shown(b'/'.join(parts))} is not to be changed here.")
    with opened(place.root, parts[:-1], directory=True) as handle:
        yield handle


@contextmanager
def _told(path: str) -> Generator[None, None, None]:
    try:
        yield
    except FileExistsError:
        raise
    except FileNotFoundError:
        raise ApiError("conflict", f"{path} is gone meanwhile. Look at the diff again.") from None
    except OSError as error:
        raise ApiError("storage", f"{path} cannot be changed: {error.strerror}.") from None
