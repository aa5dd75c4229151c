"""Trust store: the user's list of trusted folders, in one file that is replaced atomically under a lock."""

import os
import stat
import time
from collections.abc import Callable

import msgspec
from msgspec import Struct

from bobstay.system.file_lock import hold_lock
from bobstay.system.safe_read import read_regular

MAX_SIZE = 16 << 20
LOCK_TIMEOUT = 10.0
"""Seconds to wait while another program writes the list."""


class TrustStoreError(Exception):
    """The list cannot be used. The text says why and what to do."""


class TrustedFolder(Struct, frozen=True):
    """A trusted folder, with the digests of its parts at that time."""

    parts: dict[str, str]
    at: float


class TrustFile(Struct, frozen=True):
    folders: dict[str, TrustedFolder] = {}
    version: int = 1


class TrustStore:
    def __init__(self, home: str) -> None:
        """`home` is the user's own folder for bobstay."""
        self.home = home
        self.path = f"{home}/trust.json"

    def read(self) -> TrustFile:
        """Read the list; it is empty if there is no file.

        Raises:
            TrustStoreError: the list is broken, or others could have written it.
        """
        try:
            status = os.stat(self.path)
        except (FileNotFoundError, NotADirectoryError):
            return TrustFile()
        except OSError as error:
            raise TrustStoreError(f"{self.path} cannot be read: {error.strerror}.") from error
        if status.st_uid not in (os.geteuid(), 0) or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise TrustStoreError(
                f"{self.path} could have been written by somebody else, so no folder is trusted by it. "
                "If it is yours: chown it to yourself and chmod 600 it."
            )
        data = read_regular(self.path, MAX_SIZE)
        try:
            return msgspec.json.decode(data or b"", type=TrustFile)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise TrustStoreError(
                f"{self.path} is broken ({error}), so no folder is trusted by it. "
                "Repair it, or delete it and trust your folders again."
            ) from error

    def get(self, folder: str) -> TrustedFolder | None:
        """Return the entry of the folder with this real path. Raises `TrustStoreError`."""
        folders = self.read().folders
        return folders.get(find_listed_name(folder, folders))

    def put(self, folder: str, parts: dict[str, str]) -> None:
        """Trust a folder with these digests of its parts. Raises `TrustStoreError`."""

        def changed(folders: dict[str, TrustedFolder]) -> bool:
            folders[find_listed_name(folder, folders)] = TrustedFolder(parts, time.time())
            return True

        self._change(changed)

    def remove(self, folder: str) -> bool:
        """Stop trusting a folder; False if it was not trusted. Raises `TrustStoreError`."""
        return self._change(lambda folders: folders.pop(find_listed_name(folder, folders), None) is not None)

    def amend(self, folder: str, change: Callable[[dict[str, str]], None]) -> None:
        """Change the recorded parts of a folder; does nothing if it is not trusted. Raises `TrustStoreError`."""

        def changed(folders: dict[str, TrustedFolder]) -> bool:
            name = find_listed_name(folder, folders)
            if name not in folders:
                return False
            parts = dict(folders[name].parts)
            change(parts)
            folders[name] = TrustedFolder(parts, folders[name].at)
            return True

        self._change(changed)

    def _change(self, change: Callable[[dict[str, TrustedFolder]], bool]) -> bool:
        from bobstay.system.atomic_file import replace_content

        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            os.makedirs(self.home, mode=0o700, exist_ok=True)
            with hold_lock(os.open(f"{self.path}.lock", flags, 0o600), LOCK_TIMEOUT):
                folders = dict(self.read().folders)
                done = change(folders)
                if done:
                    data = msgspec.json.format(msgspec.json.encode(TrustFile(folders)), indent=1)
                    replace_content(self.path, data)
                return done
        except BlockingIOError:
            raise TrustStoreError(f"{self.path} is being written by another program; try again.") from None
        except OSError as error:
            raise TrustStoreError(f"{self.path} cannot be written: {error.strerror}.") from error


def find_listed_name(folder: str, folders: dict[str, TrustedFolder]) -> str:
    """Return the name a folder is listed under: its own, or another spelling on a case-insensitive file system."""
    if folder in folders:
        return folder
    folded = folder.casefold()
    for other in folders:
        if other.casefold() == folded and _is_same_file(other, folder):
            return other
    return folder


def _is_same_file(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False
