"""Reads regular files whole, in bounded memory, or only far enough to know them again."""

import os
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from hashlib import sha256

from bobstay.tools.base import ToolError
from bobstay.tools.files.file_content import digest
from bobstay.tools.files.tool_path import ToolPath, status_of, trouble

SMALL = 1 << 20
"""Up to here a file is read where the caller stands; above it in a thread."""
LARGEST_HASHED = 50 << 20
"""Above this a file is known by size, time and both ends instead of by all its bytes."""
_END = 1 << 16
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW


@contextmanager
def opened(place: ToolPath) -> Generator[tuple[int, os.stat_result], None, None]:
    """Open a regular file for reading; what is opened is checked again to be one.

    Raises:
        ToolError: it is missing, not a regular file, or unreadable.
    """
    if status_of(place) is None:
        raise ToolError(f"{place.path} does not exist.")
    with opened_again(place) as opening:
        yield opening


@contextmanager
def opened_again(place: ToolPath) -> Generator[tuple[int, os.stat_result], None, None]:
    """As `opened`, for a place whose status was just looked at."""
    try:
        descriptor = os.open(place.real, _FLAGS)
    except OSError as error:
        raise trouble(error, "read", place.path) from None
    try:
        status = os.fstat(descriptor)
        if status.st_mode & 0o170000 != 0o100000:
            raise ToolError(f"{place.path} is no longer a regular file; it was not read.")
        yield descriptor, status
    except OSError as error:
        raise trouble(error, "read", place.path) from None
    finally:
        os.close(descriptor)


def read_up_to(descriptor: int, most: int) -> bytes:
    """All that `descriptor` gives, but at most `most` bytes."""
    pieces: list[bytes] = []
    left = most
    while left > 0 and (piece := os.read(descriptor, min(left, SMALL))):
        pieces.append(piece)
        left -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def read_whole(place: ToolPath, most: int = LARGEST_HASHED) -> bytes:
    """The bytes of a file of at most `most` bytes.

    Raises:
        ToolError: as `opened` does, or the file is larger.
    """
    with opened(place) as (descriptor, _):
        raw = read_up_to(descriptor, most + 1)
    if len(raw) > most:
        raise ToolError(
            f"{place.path} is larger than {most >> 20} MiB, too large for this. Use shell tools such as sed for it."
        )
    return raw


def fingerprint(place: ToolPath) -> str:
    """The hash by which the file's present content is known in the ledger.

    Raises:
        ToolError: as `opened` does.
    """
    with opened(place) as (descriptor, status):
        if status.st_size > LARGEST_HASHED:
            return ends_fingerprint(descriptor, status)
        return digest(read_up_to(descriptor, LARGEST_HASHED))


def ends_fingerprint(descriptor: int, status: os.stat_result) -> str:
    """How a file too large to hash is known: by size, time of change, and its first and last bytes."""
    hasher = sha256(f"{status.st_size}:{status.st_mtime_ns}:".encode())
    hasher.update(os.pread(descriptor, _END, 0))
    hasher.update(os.pread(descriptor, _END, max(status.st_size - _END, 0)))
    return hasher.hexdigest()


def chunks(descriptor: int, cancelled: Callable[[], bool]) -> Iterator[bytes]:
    """The file piece by piece, until it ends or nobody waits for it any more."""
    while not cancelled() and (piece := os.read(descriptor, 1 << 18)):
        yield piece
