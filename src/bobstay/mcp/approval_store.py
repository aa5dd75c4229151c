"""Store of approved project servers: which entry of which folder a person approved, bound to its content."""

import os

from msgspec import Struct

from bobstay.mcp.server_config import McpServerConfig
from bobstay.system.record_file import RecordFile


class ApprovalStoreError(Exception):
    """The list cannot be used. The text says why and what to do."""


class ApprovalFile(Struct, frozen=True):
    folders: dict[str, dict[str, str]] = {}
    """Digest of the approved entry, by folder (real path) and server."""
    version: int = 1


class ApprovalStore:
    def __init__(self, home: str) -> None:
        """`home` is the user's own folder for bobstay."""
        self._file = RecordFile(
            f"{home}/mcp-approvals.json",
            ApprovalFile,
            ApprovalStoreError,
            without="no server is approved by it",
            remedy="approve your servers again",
        )
        self.path = self._file.path

    def read(self) -> ApprovalFile:
        """Read the list; it is empty if there is no file.

        Raises:
            ApprovalStoreError: it is broken, or others could have written it.
        """
        return self._file.read()

    def approved(self, folder: str) -> dict[str, str]:
        """Return the digests of the approved servers of a folder, by name. Raises `ApprovalStoreError`."""
        return self.read().folders.get(os.path.realpath(folder), {})

    def approve(self, folder: str, server: McpServerConfig) -> None:
        """Approve a server as it is configured now. Raises `ApprovalStoreError`."""
        self._put(folder, server.name, server.digest)

    def revoke(self, folder: str, name: str) -> None:
        """Take an approval back. Raises `ApprovalStoreError`."""
        self._put(folder, name, "")

    def _put(self, folder: str, name: str, digest: str) -> None:
        real = os.path.realpath(folder)

        def changed(file: ApprovalFile) -> ApprovalFile:
            servers = {**file.folders.get(real, {}), name: digest}
            kept = {each: value for each, value in servers.items() if value}
            folders = {**file.folders, real: kept}
            return ApprovalFile({each: value for each, value in folders.items() if value})

        self._file.change(changed)
