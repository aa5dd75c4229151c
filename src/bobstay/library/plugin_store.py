"""Plugin store: which plugins the user added and enabled, and with which content, in one file replaced under a lock."""

import time
from collections.abc import Callable

from msgspec import Struct

from bobstay.system.record_file import RecordFile


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
        self._file = RecordFile(
            f"{home}/plugins.json",
            PluginRecords,
            PluginStoreError,
            without="no installed plugin is used",
            remedy="enable your plugins again",
        )
        self.path = self._file.path

    def read(self) -> PluginRecords:
        """Read the file; nothing is recorded if there is none.

        Raises:
            PluginStoreError: it is broken, or others could have written it.
        """
        return self._file.read()

    def change(self, change: Callable[[PluginRecords], None]) -> None:
        """Change the records. Raises `PluginStoreError`."""

        def changed(records: PluginRecords) -> PluginRecords:
            change(records)
            return records

        self._file.change(changed)

    def approve(self, contents: dict[str, dict[str, str]]) -> None:
        """Record the content of plugins, by id, as what was enabled. Raises `PluginStoreError`."""

        def record(records: PluginRecords) -> None:
            for name, parts in contents.items():
                records.contents[name] = ApprovedContent(parts, time.time())

        self.change(record)
