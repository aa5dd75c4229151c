"""The list of trusted folders: one file of the user's, replaced whole, written by one program at a time."""

import fcntl
import os
import stat
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

import msgspec
from msgspec import Struct

from bobstay.system.safe_read import read_regular

LARGEST = 16 << 20
PATIENCE = 10.0
"""Seconds to wait for another program that writes the list."""


class TrustUnusable(Exception):  # noqa: N818 - it names a state, not an event
    """The list cannot be used. The text says why and what to do."""


class Trusted(Struct, frozen=True):
    """A folder somebody trusted, as it was then."""

    parts: dict[str, str]
    at: float


class TrustFile(Struct, frozen=True):
    folders: dict[str, Trusted] = {}
    version: int = 1


class TrustStore:
    def __init__(self, home: str) -> None:
        """`home` is the user's own folder for bobstay."""
        self.home = home
        self.path = f"{home}/trust.json"

    def read(self) -> TrustFile:
        """All that is trusted; nothing if there is no list.

        Raises:
            TrustUnusable: the list is broken, or others could have written it.
        """
        try:
            status = os.stat(self.path)
        except (FileNotFoundError, NotADirectoryError):
            return TrustFile()
        except OSError as error:
            raise TrustUnusable(f"{self.path} cannot be read: {error.strerror}.") from error
        if status.st_uid not in (os.geteuid(), 0) or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise TrustUnusable(
                f"{self.path} could have been written by somebody else, so no folder is trusted by it. "
                f"If it is yours: chown it to yourself and chmod 600 it."
            )
        data = read_regular(self.path, LARGEST)
        try:
            return msgspec.json.decode(data or b"", type=TrustFile)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise TrustUnusable(
                f"{self.path} is broken ({error}), so no folder is trusted by it. Mend it, or delete it and trust anew."
            ) from error

    def get(self, folder: str) -> Trusted | None:
        """What was trusted of the folder with this real path. Raises `TrustUnusable`."""
        folders = self.read().folders
        return folders.get(known_as(folder, folders))

    def put(self, folder: str, parts: dict[str, str]) -> None:
        """Trust a folder as it is described. Raises `TrustUnusable`."""

        def changed(folders: dict[str, Trusted]) -> bool:
            folders[known_as(folder, folders)] = Trusted(parts, time.time())
            return True

        self._change(changed)

    def remove(self, folder: str) -> bool:
        """Trust a folder no longer; False if it was not trusted. Raises `TrustUnusable`."""
        return self._change(lambda folders: folders.pop(known_as(folder, folders), None) is not None)

    def amend(self, folder: str, change: Callable[[dict[str, str]], None]) -> None:
        """Change what was noted of a trusted folder; nothing happens to one that is not. Raises `TrustUnusable`."""

        def changed(folders: dict[str, Trusted]) -> bool:
            name = known_as(folder, folders)
            if name not in folders:
                return False
            parts = dict(folders[name].parts)
            change(parts)
            folders[name] = Trusted(parts, folders[name].at)
            return True

        self._change(changed)

    def _change(self, change: Callable[[dict[str, Trusted]], bool]) -> bool:
        try:
            os.makedirs(self.home, mode=0o700, exist_ok=True)
            with self._locked():
                folders = dict(self.read().folders)
                done = change(folders)
                if done:
                    self._replace(msgspec.json.format(msgspec.json.encode(TrustFile(folders)), indent=1))
                return done
        except OSError as error:
            raise TrustUnusable(f"{self.path} cannot be written: {error.strerror}.") from error

    @contextmanager
    def _locked(self) -> Generator[None, None, None]:
        descriptor = os.open(f"{self.path}.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            deadline = time.monotonic() + PATIENCE
            while True:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > deadline:
                        raise TrustUnusable(f"{self.path} is being written by another program; try again.") from None
                    time.sleep(0.005)
            yield
        finally:
            os.close(descriptor)

    def _replace(self, data: bytes) -> None:
        temporary = f"{self.path}.{os.getpid()}.tmp"
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            with open(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(descriptor)
                os.fchmod(descriptor, 0o600)
            os.replace(temporary, self.path)
        except OSError:
            os.unlink(temporary)
            raise


def known_as(folder: str, folders: dict[str, Trusted]) -> str:
    """The name a folder is listed under: its own, or another spelling of it where letters' case does not count."""
    if folder in folders:
        return folder
    folded = folder.casefold()
    for other in folders:
        if other.casefold() == folded and _same(other, folder):
            return other
    return folder


def _same(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False
