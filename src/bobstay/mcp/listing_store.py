"""Remembers what MCP servers offered, so that a session begins with their tools before they are connected."""

import os
from contextlib import suppress
from hashlib import sha256

import msgspec
from msgspec import Struct

from bobstay.mcp.server_config import McpServerConfig
from bobstay.mcp.server_listing import ServerListing
from bobstay.system.atomic_file import replace_content
from bobstay.system.safe_read import read_regular

_MAX_SIZE = 4 << 20
_MAX_FILES = 500
PATIENCE = 2
"""After so many starts in a row at which a server was not there in time, nobody waits for it any more."""


class RememberedServer(Struct, frozen=True, omit_defaults=True):
    """What a server offered the last time it was connected."""

    listing: ServerListing = ServerListing()
    instructions: str = ""
    missed: int = 0
    """At how many starts in a row it failed or was too late; nothing is known of what it offers then."""


class ServerMemory:
    """What is remembered of one server; of those inside a host's own process nothing is."""

    def __init__(self, store: "ListingStore | None", config: McpServerConfig) -> None:
        self._store = store if config.transport != "sdk" and not config.disabled and not config.blocked else None
        self._config = config
        remembered = self._store.read(config) if self._store is not None else None
        self.is_known = remembered is not None and not 0 < remembered.missed < PATIENCE
        """Nobody has to wait for it: what it offers is known, or that it is not there in time."""
        self.listing = remembered.listing if remembered is not None else ServerListing()
        self.instructions = remembered.instructions if remembered is not None else ""
        self._missed = remembered.missed if remembered is not None else 0
        self._has_missed = False

    def keep(self, listing: ServerListing, instructions: str) -> None:
        """Remember what it offers."""
        if self._store is not None:
            self._store.write(self._config, RememberedServer(listing, instructions))

    def miss(self) -> None:
        """Remember that it was not there in time."""
        if self._store is not None and not self._has_missed:
            self._has_missed = True
            self._store.write(self._config, RememberedServer(missed=min(self._missed + 1, PATIENCE)))


class ListingStore:
    """One file for each server. It is bound to the entry as it is written: a changed one is a new server."""

    def __init__(self, home: str, cwd: str) -> None:
        """`home` is the user's own folder for bobstay."""
        self._folder = os.path.join(home, "mcp-listings")
        self._cwd = cwd
        self._known: dict[str, bytes] = {}

    def read(self, config: McpServerConfig) -> RememberedServer | None:
        """Return what is remembered of a server; None if it was never started from here."""
        file = self._file_of(config)
        data = read_regular(file, _MAX_SIZE + 1)
        if data is None or len(data) > _MAX_SIZE:
            return None
        try:
            remembered = msgspec.json.decode(data, type=RememberedServer)
        except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError, RecursionError):
            return None
        self._known[file] = data
        return remembered

    def write(self, config: McpServerConfig, remembered: RememberedServer) -> None:
        """Remember a server. Failing to do so costs time at the next start, and nothing else."""
        file = self._file_of(config)
        try:
            data = msgspec.json.encode(remembered)
        except UnicodeEncodeError:
            return
        if len(data) > _MAX_SIZE or data == self._known.get(file):
            return
        with suppress(OSError):
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            replace_content(file, data, durable=False)
            self._known[file] = data
            self._remove_oldest()

    def _remove_oldest(self) -> None:
        with os.scandir(self._folder) as entries:
            files = [entry.path for entry in entries if entry.name.endswith(".json")]
        for path in sorted(files, key=os.path.getmtime)[: max(0, len(files) - _MAX_FILES)]:
            os.unlink(path)

    def _file_of(self, config: McpServerConfig) -> str:
        # A server of the person offers the same everywhere; that of another folder may differ though it looks the same.
        # Those of the command line may be a folder's too: an agent's file has some, or a script that folders share.
        folder = "" if config.scope in ("user", "plugin") else self._cwd
        key = sha256(f"{folder}\0{config.scope}\0{config.digest}".encode("utf-8", "surrogateescape")).hexdigest()
        return os.path.join(self._folder, f"{key[:32]}.json")
