"""Record file: a user's own list in one JSON file that nobody else can have written, replaced under a lock.

A file that is broken is never replaced: reading and changing it fail with a text that names it.
"""

import os
import stat
from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec

from bobstay.system.file_lock import hold_lock
from bobstay.system.safe_read import read_regular

MAX_SIZE = 16 << 20
LOCK_TIMEOUT = 10.0
"""Seconds to wait while another program writes the file."""
T = TypeVar("T", bound=msgspec.Struct)


class RecordFile(Generic[T]):
    def __init__(self, path: str, records: type[T], error: type[Exception], *, without: str, remedy: str) -> None:
        """`records` has a default for every field.

        `error` is raised with a text for a person, in which `without` says what follows from a file that cannot be
        used, and `remedy` what to do again after deleting it.
        """
        self.path = path
        self._records = records
        self._error = error
        self._without = without
        self._remedy = remedy

    def read(self) -> T:
        """Read the records; there are none without a file. Raises the given error."""
        try:
            status = os.stat(self.path)
        except (FileNotFoundError, NotADirectoryError):
            return self._records()
        except OSError as error:
            raise self._error(f"{self.path} cannot be read: {error.strerror}.") from error
        if status.st_uid not in (os.geteuid(), 0) or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise self._error(
                f"{self.path} could have been written by somebody else, so {self._without}. "
                "If it is yours: chown it to yourself and chmod 600 it."
            )
        try:
            return msgspec.json.decode(read_regular(self.path, MAX_SIZE) or b"", type=self._records)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise self._error(
                f"{self.path} is broken ({error}), so {self._without}. Repair it, or delete it and {self._remedy}."
            ) from error

    def change(self, change: Callable[[T], T | None]) -> bool:
        """Write the records that `change` makes of those in the file; None leaves it. Raises the given error.

        Returns:
            Whether the file was written.
        """
        from bobstay.system.atomic_file import replace_content

        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
            with hold_lock(os.open(f"{self.path}.lock", flags, 0o600), LOCK_TIMEOUT):
                changed = change(self.read())
                if changed is not None:
                    replace_content(self.path, msgspec.json.format(msgspec.json.encode(changed), indent=1))
                return changed is not None
        except BlockingIOError:
            raise self._error(f"{self.path} is being written by another program; try again.") from None
        except OSError as error:
            raise self._error(f"{self.path} cannot be written: {error.strerror}.") from error
