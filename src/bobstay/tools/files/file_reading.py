"""Reads and fingerprints regular files in bounded memory."""

import os
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from hashlib import sha256

from bobstay.system.safe_read import NotRegularFile, open_regular, read_up_to
from bobstay.tools.base import ToolError
from bobstay.tools.files.file_content import digest
from bobstay.tools.files.tool_path import ToolPath, stat_regular_file, to_tool_error

SMALL_FILE = 1 << 20
"""Files up to this size are read in the event loop, larger ones in a thread."""
MAX_HASHED_SIZE = 50 << 20
"""Larger files are identified by size, modification time and both ends instead of a full hash."""
_END = 1 << 16


@contextmanager
def open_regular_file(target: ToolPath) -> Generator[tuple[int, os.stat_result], None, None]:
    """Open a regular file for reading, and check again after opening that it is one.

    Raises:
        ToolError: it is missing, not a regular file, or unreadable.
    """
    if stat_regular_file(target) is None:
        raise ToolError(f"{target.path} does not exist.")
    with open_checked_file(target) as opening:
        yield opening


@contextmanager
def open_checked_file(target: ToolPath) -> Generator[tuple[int, os.stat_result], None, None]:
    """As `open_regular_file`, for a path that was just checked with `stat_regular_file`."""
    try:
        descriptor = open_regular(target.real, follow=False)
    except NotRegularFile:
        raise ToolError(f"{target.path} is no longer a regular file; it was not read.") from None
    except OSError as error:
        raise to_tool_error(error, "read", target.path) from None
    try:
        yield descriptor, os.fstat(descriptor)
    except OSError as error:
        raise to_tool_error(error, "read", target.path) from None
    finally:
        os.close(descriptor)


def read_whole(target: ToolPath, most: int = MAX_HASHED_SIZE) -> bytes:
    """Read a file of at most `most` bytes.

    Raises:
        ToolError: as `open_regular_file` does, or the file is larger.
    """
    with open_regular_file(target) as (descriptor, _):
        raw = read_up_to(descriptor, most + 1)
    if len(raw) > most:
        raise ToolError(
            f"{target.path} is larger than {most >> 20} MiB, too large for this. Use shell tools such as sed for it."
        )
    return raw


def fingerprint(target: ToolPath) -> str:
    """Hash of the file's current content, as stored in the file ledger.

    Raises:
        ToolError: as `open_regular_file` does.
    """
    with open_regular_file(target) as (descriptor, status):
        if status.st_size > MAX_HASHED_SIZE:
            return ends_fingerprint(descriptor, status)
        return digest(read_up_to(descriptor, MAX_HASHED_SIZE))


def ends_fingerprint(descriptor: int, status: os.stat_result) -> str:
    """Fingerprint of a file too large to hash: its size, modification time, and first and last bytes."""
    hasher = sha256(f"{status.st_size}:{status.st_mtime_ns}:".encode())
    hasher.update(os.pread(descriptor, _END, 0))
    hasher.update(os.pread(descriptor, _END, max(status.st_size - _END, 0)))
    return hasher.hexdigest()


def read_chunks(descriptor: int, cancelled: Callable[[], bool]) -> Iterator[bytes]:
    """Yield the file in chunks until it ends or the call is cancelled."""
    while not cancelled() and (piece := os.read(descriptor, 1 << 18)):
        yield piece
