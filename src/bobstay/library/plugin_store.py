"""Plugin store: which plugins the user added and enabled, and with which content, in one file replaced under a lock."""

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
"""Seconds to wait while another program writes the file."""


class PluginStoreError(Exception):
    """The file cannot be used. The text says why and what to do."""


class ApprovedContent(Struct, frozen=True):
    """The content of a plugin when it was enabled."""

    parts: dict[str, str]
    """Digests of its files, by name."""
    at: float


class PluginRecords(Struct):
    added: dict[str, str] = {}
    """Folders of single plugins, by name; their marketplace is `local`."""
    marketplaces: dict[str, str] = {}
    """Folders of marketplaces, by name."""
    enabled: dict[str, bool] = {}
    """By id: `name@marketplace`."""
    contents: dict[str, ApprovedContent] = {}
    """By id."""
    version: int = 1


class PluginStore:
    def __init__(self, home: str) -> None:
        """`home` is the user's own folder for bobstay."""
        self.home = home
        self.path = f"{home}/plugins.json"

    def read(self) -> PluginRecords:
        """Read the file; nothing is recorded if there is none.

        Raises:
            PluginStoreError: it is broken, or others could have written it.
        """
        try:
            status = os.stat(self.path)
        except (FileNotFoundError, NotADirectoryError):
            return PluginRecords()
        except OSError as error:
            raise PluginStoreError(f"{self.path} cannot be read: {error.strerror}.") from error
        if status.st_uid not in (os.geteuid(), 0) or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise PluginStoreError(
                f"{self.path} could have been written by somebody else, so no installed plugin is used. "
                "If it is yours: chown it to yourself and chmod 600 it."
            )
        data = read_regular(self.path, MAX_SIZE)
        try:
            return msgspec.json.decode(data or b"", type=PluginRecords)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise PluginStoreError(
                f"{self.path} is broken ({error}), so no installed plugin is used. "
                "Repair it, or delete it and enable your plugins again."
            ) from error

    def change(self, change: Callable[[PluginRecords], None]) -> None:
        """Change the records. Raises `PluginStoreError`."""
        from bobstay.system.atomic_file import replace_content

        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            os.makedirs(self.home, mode=0o700, exist_ok=True)
            with hold_lock(os.open(f"{self.path}.lock", flags, 0o600), LOCK_TIMEOUT):
                records = self.read()
                change(records)
                replace_content(self.path, msgspec.json.format(msgspec.json.encode(records), indent=1))
        except BlockingIOError:
            raise PluginStoreError(f"{self.path} is being written by another program; try again.") from None
        except OSError as error:
            raise PluginStoreError(f"{self.path} cannot be written: {error.strerror}.") from error

    def approve(self, contents: dict[str, dict[str, str]]) -> None:
        """Record the content of plugins, by id, as what was enabled. Raises `PluginStoreError`."""

        def record(records: PluginRecords) -> None:
            for name, parts in contents.items():
                records.contents[name] = ApprovedContent(parts, time.time())

        self.change(record)
