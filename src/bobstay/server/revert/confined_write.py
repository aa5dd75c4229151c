"""Writes files beneath a session's directory, atomically and without following links."""

import os
import stat
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress

from bobstay.server.errors import ApiError
from bobstay.server.files.confined_open import open_confined
from bobstay.server.files.path_names import encode_path, split_path
from bobstay.server.files.session_directory import SessionDirectory
from bobstay.server.files.text_content import read_up_to
from bobstay.server.files.working_changes import file_version
from bobstay.system.atomic_file import AtomicFile

MOST = 16 * 1024 * 1024
"""Bytes of a file that is changed here; larger files must be changed in a terminal."""


def read_file(directory: SessionDirectory, path: str) -> bytes:
    """The complete content of a file.

    Raises:
        ApiError: it does not exist, must not be shown, or is too large.
    """
    with directory.file(path) as handle:
        data = read_up_to(handle, MOST + 1)
    check_size(data, path)
    return data


def check_size(data: bytes, path: str) -> None:
    if len(data) > MOST:
        text = f"{path} has more than {MOST // 1024 // 1024} MiB. Change it in a terminal."
        raise ApiError("too_large", text, limit=MOST)


def changed_error(path: str, why: str = "") -> ApiError:
    text = f"{path} is not what was shown. {why}".strip()
    return ApiError("conflict", f"{text} Look at the diff again.", path=path)


def check_version(directory: SessionDirectory, path: str, version: str) -> None:
    """Raises:
    ApiError: conflict, if the file is not of this version; an empty version means that there is no file.
    """
    if file_version(directory, path)[0] != version:
        raise changed_error(path)


def write_file(directory: SessionDirectory, path: str, data: bytes, mode: int | None = None, *, over: str) -> None:
    """Replace the file whose version is `over`. `mode` None keeps its permissions.

    Raises:
        ApiError: conflict, if it was changed meanwhile.
    """
    parts = split_path(path)
    with _folder(directory, parts) as folder, _translate_errors(path):
        name = os.fsdecode(parts[-1])
        if mode is None:
            mode = stat.S_IMODE(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
        with AtomicFile(name, dir_fd=folder) as draft:
            draft.file.write(data)
            os.fchmod(draft.file.fileno(), mode)
            draft.finish()
            check_version(directory, path, over)  # as late as possible: writing may have taken long
            draft.replace()


def remove_file(directory: SessionDirectory, path: str, *, version: str) -> None:
    """Raises:
    ApiError: conflict, if it is no longer of this version.
    """
    parts = split_path(path)
    with _folder(directory, parts) as folder, _translate_errors(path):
        check_version(directory, path, version)
        os.unlink(parts[-1], dir_fd=folder)


def create_folders(directory: SessionDirectory, path: str) -> None:
    """Create the missing parent directories of a file."""
    parts = split_path(path)
    for number in range(1, len(parts)):
        with _folder(directory, parts[:number]) as folder, suppress(FileExistsError), _translate_errors(path):
            os.mkdir(parts[number - 1], 0o777, dir_fd=folder)


@contextmanager
def _folder(directory: SessionDirectory, parts: Sequence[bytes]) -> Generator[int, None, None]:
    if not parts or b".git" in parts or not directory.is_visible(parts):
        raise ApiError("forbidden", f"{encode_path(b'/'.join(parts))} must not be changed here.")
    with open_confined(directory.root, parts[:-1], directory=True) as handle:
        yield handle


@contextmanager
def _translate_errors(path: str) -> Generator[None, None, None]:
    try:
        yield
    except FileExistsError:
        raise
    except FileNotFoundError:
        raise ApiError("conflict", f"{path} was removed meanwhile. Look at the diff again.") from None
    except OSError as error:
        raise ApiError("storage", f"{path} cannot be changed: {error.strerror}.") from None
