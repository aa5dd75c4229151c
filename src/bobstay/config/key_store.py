"""Key store: keeps model provider keys in the system's keyring if one works, else in a private file."""

import os
import stat
import time
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

from bobstay.system.safe_read import read_regular

Where: TypeAlias = Literal["file", "keyring"]

SERVICE = "bobstay"
"""The service name of the keys in the keyring."""
MAX_SIZE = 1 << 20


class KeyStoreError(Exception):
    """The stored keys cannot be used or changed. The text says why and what to do; it contains no key."""


class StoredKey(Struct, frozen=True, omit_defaults=True):
    where: Where
    at: float = 0.0
    key: str = ""
    """Empty if the keyring has it."""


class _KeyFile(Struct, frozen=True):
    keys: dict[str, StoredKey] = {}
    version: int = 1


class KeyStore:
    def __init__(self, home: str, file: str = "keys.json") -> None:
        """`home` is the user's own folder for bobstay; `file` the name of the file there."""
        self.home = home
        self.path = f"{home}/{file}"

    def entries(self) -> dict[str, StoredKey]:
        """Return what is stored, by provider; keys in the keyring are not fetched.

        Raises:
            KeyStoreError: the file is broken, or others can read it.
        """
        try:
            status = os.stat(self.path, follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except OSError as error:
            raise KeyStoreError(f"{self.path} cannot be read: {error.strerror}.") from error
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
            raise KeyStoreError(
                f"{self.path} is not a file that only you can read, so the keys in it are not used. "
                "If it is yours: chown it to yourself and chmod 600 it."
            )
        try:
            return msgspec.json.decode(read_regular(self.path, MAX_SIZE) or b"", type=_KeyFile).keys
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            # The text of a decoding error may quote the file, so it is not passed on.
            raise KeyStoreError(f"{self.path} is broken. Delete it and store your keys again.") from error

    def key(self, provider: str) -> str:
        """Return the key of a provider; "" if none is stored. Raises `KeyStoreError`."""
        entry = self.entries().get(provider)
        if entry is None:
            return ""
        return entry.key if entry.where == "file" else _read_from_keyring(provider)

    def put(self, provider: str, key: str, where: Where | None = None) -> Where:
        """Store a key; return where it is kept. Without `where` the keyring is tried first. Raises `KeyStoreError`."""
        entries = dict(self.entries())
        in_keyring = where != "file" and _write_to_keyring(provider, key)
        if where == "keyring" and not in_keyring:
            raise KeyStoreError(
                "No working keyring was found. Install one with: pip install 'bobstay[keyring]', or use a file."
            )
        before = entries.get(provider)
        if before is not None and before.where == "keyring" and not in_keyring:
            _delete_from_keyring(provider)
        entries[provider] = StoredKey("keyring", time.time()) if in_keyring else StoredKey("file", time.time(), key)
        self._replace(entries)
        return entries[provider].where

    def remove(self, provider: str) -> bool:
        """Delete a key; False if there was none. Raises `KeyStoreError`."""
        entries = dict(self.entries())
        entry = entries.pop(provider, None)
        if entry is None:
            return False
        if entry.where == "keyring":
            _delete_from_keyring(provider)
        self._replace(entries)
        return True

    def _replace(self, entries: dict[str, StoredKey]) -> None:
        from bobstay.system.atomic_file import replace_content

        try:
            os.makedirs(self.home, mode=0o700, exist_ok=True)
            replace_content(self.path, msgspec.json.format(msgspec.json.encode(_KeyFile(entries)), indent=1))
        except OSError as error:
            raise KeyStoreError(f"{self.path} cannot be written: {error.strerror}.") from error


def _keyring() -> Any:
    """Return the keyring module if it is installed and has a working backend."""
    try:
        import keyring  # type: ignore[import-not-found,unused-ignore]  # an extra

        return keyring if keyring.get_keyring().priority > 0 else None
    except Exception:  # noqa: BLE001 - a boundary: backends fail in many ways (no D-Bus, no desktop, locked)
        return None


def _read_from_keyring(provider: str) -> str:
    keyring = _keyring()
    try:
        found = keyring.get_password(SERVICE, provider) if keyring is not None else None
    except Exception as error:
        raise KeyStoreError(f"The keyring did not give the key of {provider}: {type(error).__name__}.") from error
    if not found:
        raise KeyStoreError(
            f"The key of {provider} is in a keyring that cannot be reached now. "
            f"Unlock it, or store the key again: bobstay auth login {provider}"
        )
    return str(found)


def _write_to_keyring(provider: str, key: str) -> bool:
    keyring = _keyring()
    if keyring is None:
        return False
    try:
        keyring.set_password(SERVICE, provider, key)
        return bool(keyring.get_password(SERVICE, provider) == key)
    except Exception:  # noqa: BLE001 - a boundary, as above
        return False


def _delete_from_keyring(provider: str) -> None:
    keyring = _keyring()
    try:
        if keyring is not None:
            keyring.delete_password(SERVICE, provider)
    except Exception as error:
        raise KeyStoreError(f"The keyring did not delete the key of {provider}: {type(error).__name__}.") from error
