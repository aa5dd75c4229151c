"""OAuth store: keeps tokens and client registrations of remote MCP servers in the keyring if one works, else a file."""

import hashlib
import os
from contextlib import AbstractContextManager
from typing import Any

import msgspec
from msgspec import Struct

from bobstay.config.key_store import KeyStore, KeyStoreError, Where
from bobstay.system.file_lock import hold_lock

LOCK_SECONDS = 5.0


class OAuthStoreError(Exception):
    """A stored sign-in cannot be used or changed. The text says why and what to do; it contains no token."""


class OAuthRecord(Struct, frozen=True, omit_defaults=True):
    """All that is kept of one server. The objects are as their standards define them."""

    url: str
    tokens: dict[str, Any] | None = None
    expires_at: float = 0.0
    """When the access token expires, in seconds since 1970; 0 if that is not known."""
    client: dict[str, Any] | None = None
    authorization_server: dict[str, Any] | None = None
    protected_resource: dict[str, Any] | None = None

    @property
    def secrets(self) -> dict[str, str]:
        """The values that may be shown nowhere, by what they are."""
        tokens, client = self.tokens or {}, self.client or {}
        found = {
            "MCP_ACCESS_TOKEN": tokens.get("access_token"),
            "MCP_REFRESH_TOKEN": tokens.get("refresh_token"),
            "MCP_CLIENT_SECRET": client.get("client_secret"),
        }
        return {name: value for name, value in found.items() if isinstance(value, str) and value}


class OAuthStore:
    """Entries belong to a name and an address: a project that reuses a name does not get the token of another server.

    Its methods block; a keyring may ask a person to unlock it.
    """

    def __init__(self, home: str) -> None:
        """`home` is the user's own folder for bobstay."""
        self.home = home
        self._keys = KeyStore(home, "mcp-tokens.json")

    @property
    def path(self) -> str:
        return self._keys.path

    def read(self, name: str, url: str) -> OAuthRecord:
        """Return what is stored; an empty record if nothing is. Raises `OAuthStoreError`."""
        try:
            text = self._keys.key(_entry_name(name, url))
        except KeyStoreError as error:
            raise OAuthStoreError(f"The sign-in of the MCP server {name} cannot be read. {error}") from error
        if not text:
            return OAuthRecord(url)
        try:
            record = msgspec.json.decode(text, type=OAuthRecord)
        except (msgspec.DecodeError, RecursionError) as error:
            raise OAuthStoreError(
                f"The stored sign-in of the MCP server {name} is broken. Sign in again: bobstay mcp login {name}"
            ) from error
        return record if record.url == url else OAuthRecord(url)

    def write(self, name: str, record: OAuthRecord) -> Where:
        """Store a record; return where it is kept. Raises `OAuthStoreError`."""
        try:
            with self._locked():
                return self._keys.put(_entry_name(name, record.url), msgspec.json.encode(record).decode())
        except (KeyStoreError, OSError) as error:
            raise OAuthStoreError(f"The sign-in of the MCP server {name} cannot be stored. {error}") from error

    def remove(self, name: str) -> list[OAuthRecord]:
        """Delete everything stored under a name, for any address; return what could be read of it."""
        try:
            with self._locked():
                found = [entry for entry in self._keys.entries() if entry.startswith(f"mcp:{name}:")]
                records = [self._decode(entry) for entry in found]
                for entry in found:
                    self._keys.remove(entry)
                return records
        except (KeyStoreError, OSError) as error:
            raise OAuthStoreError(f"The sign-in of the MCP server {name} cannot be removed. {error}") from error

    def _decode(self, entry: str) -> OAuthRecord:
        try:
            return msgspec.json.decode(self._keys.key(entry), type=OAuthRecord)
        except (KeyStoreError, msgspec.DecodeError, RecursionError):
            return OAuthRecord("")

    def _locked(self) -> AbstractContextManager[None]:
        """Two processes that refresh at once must not lose each other's tokens."""
        os.makedirs(self.home, mode=0o700, exist_ok=True)
        fd = os.open(f"{self._keys.path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        return hold_lock(fd, LOCK_SECONDS)


def _entry_name(name: str, url: str) -> str:
    return f"mcp:{name}:{hashlib.sha256(url.encode()).hexdigest()[:16]}"
