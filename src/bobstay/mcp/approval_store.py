"""Store of approved project servers: which entry of which folder a person approved, bound to its content."""

import os
import stat
from collections.abc import Callable

import msgspec
from msgspec import Struct

from bobstay.mcp.server_config import McpServerConfig
from bobstay.system.file_lock import hold_lock
from bobstay.system.safe_read import read_regular

_MAX_SIZE = 4 << 20
_LOCK_TIMEOUT = 10.0


class ApprovalStoreError(Exception):
    """The list cannot be used. The text says why and what to do."""


class ApprovalFile(Struct, frozen=True):
    folders: dict[str, dict[str, str]] = {}
    """Digest of the approved entry, by folder (real path) and server."""
    version: int = 1


class ApprovalStore:
    def __init__(self, home: str) -> None:
        """`home` is the user's own folder for bobstay."""
        self.home = home
        self.path = f"{home}/mcp-approvals.json"

    def read(self) -> ApprovalFile:
        """Read the list; it is empty if there is no file.

        Raises:
            ApprovalStoreError: it is broken, or others could have written it.
        """
        try:
            status = os.stat(self.path)
        except (FileNotFoundError, NotADirectoryError):
            return ApprovalFile()
        except OSError as error:
            raise ApprovalStoreError(f"{self.path} cannot be read: {error.strerror}.") from error
        if status.st_uid not in (os.geteuid(), 0) or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise ApprovalStoreError(
                f"{self.path} could have been written by somebody else, so no server is approved by it. "
                "If it is yours: chown it to yourself and chmod 600 it."
            )
        try:
            return msgspec.json.decode(read_regular(self.path, _MAX_SIZE) or b"", type=ApprovalFile)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ApprovalStoreError(
                f"{self.path} is broken ({error}), so no server is approved by it. "
                "Repair it, or delete it and approve your servers again."
            ) from error

    def approved(self, folder: str) -> dict[str, str]:
        """Return the digests of the approved servers of a folder, by name. Raises `ApprovalStoreError`."""
        return self.read().folders.get(os.path.realpath(folder), {})

    def approve(self, folder: str, server: McpServerConfig) -> None:
        """Approve a server as it is configured now. Raises `ApprovalStoreError`."""

        def change(servers: dict[str, str]) -> None:
            servers[server.name] = server.digest

        self._change(folder, change)

    def revoke(self, folder: str, name: str) -> None:
        """Take an approval back. Raises `ApprovalStoreError`."""
        self._change(folder, lambda servers: _remove(servers, name))

    def _change(self, folder: str, change: Callable[[dict[str, str]], None]) -> None:
        from bobstay.system.atomic_file import replace_content

        real = os.path.realpath(folder)
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            os.makedirs(self.home, mode=0o700, exist_ok=True)
            with hold_lock(os.open(f"{self.path}.lock", flags, 0o600), _LOCK_TIMEOUT):
                folders = dict(self.read().folders)
                servers = dict(folders.get(real, {}))
                change(servers)
                folders[real] = servers
                kept = {name: value for name, value in folders.items() if value}
                data = msgspec.json.format(msgspec.json.encode(ApprovalFile(kept)), indent=1)
                replace_content(self.path, data)
        except BlockingIOError:
            raise ApprovalStoreError(f"{self.path} is being written by another program; try again.") from None
        except OSError as error:
            raise ApprovalStoreError(f"{self.path} cannot be written: {error.strerror}.") from error


def _remove(servers: dict[str, str], name: str) -> None:
    servers.pop(name, None)
