"""Trust store: the user's list of trusted folders, in one file that is replaced atomically under a lock."""

import os
import time
from collections.abc import Callable

from msgspec import Struct

from bobstay.system.record_file import RecordFile


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
        self._file = RecordFile(
            f"{home}/trust.json",
            TrustFile,
            TrustStoreError,
            without="no folder is trusted by it",
            remedy="trust your folders again",
        )
        self.path = self._file.path

    def read(self) -> TrustFile:
        """Read the list; it is empty if there is no file.

        Raises:
            TrustStoreError: the list is broken, or others could have written it.
        """
        return self._file.read()

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
        def changed(file: TrustFile) -> TrustFile | None:
            folders = dict(file.folders)
            return TrustFile(folders) if change(folders) else None

        return self._file.change(changed)


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
