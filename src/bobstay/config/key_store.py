"""Keys of model providers that a person stored: in the system's keyring if one works, else in a file of their own."""

import os
import stat
import time
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

from bobstay.system.safe_read import read_regular

Where: TypeAlias = Literal["file", "keyring"]

SERVICE = "bobstay"
"""Under which name the keyring has them."""
LARGEST = 1 << 20


class KeysUnusable(Exception):  # noqa: N818 - it names a state, not an event
    """The stored keys cannot be used or changed. The text says why and what to do; it has no key in it."""


class Stored(Struct, frozen=True, omit_defaults=True):
    where: Where
    at: float = 0.0
    key: str = ""
    """Empty where the keyring has it."""


class _File(Struct, frozen=True):
    keys: dict[str, Stored] = {}
    version: int = 1


class KeyStore:
    def __init__(self, home: str) -> None:
        """`home` is the user's own folder for bobstay."""
        self.home = home
        self.path = f"{home}/keys.json"

    def entries(self) -> dict[str, Stored]:
        """What is stored, by provider; a key in the keyring is not fetched.

        Raises:
            KeysUnusable: the file is broken, or others can read it.
        """
        try:
            status = os.stat(self.path, follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except OSError as error:
            raise KeysUnusable(f"{self.path} cannot be read: {error.strerror}.") from error
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
            raise KeysUnusable(
                f"{self.path} is not a file that only you can read, so the keys in it are not used. "
                f"If it is yours: chown it to yourself and chmod 600 it."
            )
        try:
            return msgspec.json.decode(read_regular(self.path, LARGEST) or b"", type=_File).keys
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            # The text of a decoding error may quote the file: it is not passed on.
            raise KeysUnusable(f"{self.path} is broken. Delete it and store your keys again.") from error

    def key(self, provider: str) -> str:
        """The key of a provider; "" if none is stored. Raises `KeysUnusable`."""
        entry = self.entries().get(provider)
        if entry is None:
            return ""
        return entry.key if entry.where == "file" else _from_keyring(provider)

    def put(self, provider: str, key: str, where: Where | None = None) -> Where:
        """Store a key; return where it is kept. Without `where` the keyring is tried first. Raises `KeysUnusable`."""
        entries = dict(self.entries())
        in_keyring = where != "file" and _to_keyring(provider, key)
        if where == "keyring" and not in_keyring:
            raise KeysUnusable(
                "There is no keyring that works here. Install one with: pip install 'bobstay[keyring]', or use a file."
            )
        before = entries.get(provider)
        if before is not None and before.where == "keyring" and not in_keyring:
            _forget(provider)
        entries[provider] = Stored("keyring", time.time()) if in_keyring else Stored("file", time.time(), key)
        self._replace(entries)
        return entries[provider].where

    def remove(self, provider: str) -> bool:
        """Forget a key; False if there was none. Raises `KeysUnusable`."""
        entries = dict(self.entries())
        entry = entries.pop(provider, None)
        if entry is None:
            return False
        if entry.where == "keyring":
            _forget(provider)
        self._replace(entries)
        return True

    def _replace(self, entries: dict[str, Stored]) -> None:
        temporary = f"{self.path}.{os.getpid()}.tmp"
        try:
            os.makedirs(self.home, mode=0o700, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(temporary, flags, 0o600)
            try:
                with open(descriptor, "wb") as file:
                    file.write(msgspec.json.format(msgspec.json.encode(_File(entries)), indent=1))
                    file.flush()
                    os.fsync(descriptor)
                os.replace(temporary, self.path)
            except OSError:
                os.unlink(temporary)
                raise
        except OSError as error:
            raise KeysUnusable(f"{self.path} cannot be written: {error.strerror}.") from error


def _keyring() -> Any:
    """The module, if it is installed and has somewhere to keep things."""
    try:
        import keyring  # type: ignore[import-not-found,unused-ignore]  # an extra

        return keyring if keyring.get_keyring().priority > 0 else None
    except Exception:  # noqa: BLE001 - a boundary: backends fail in ways of their own (no D-Bus, no desktop, locked)
        return None


def _from_keyring(provider: str) -> str:
    keyring = _keyring()
    try:
        found = keyring.get_password(SERVICE, provider) if keyring is not None else None
    except Exception as error:
        raise KeysUnusable(f"The keyring did not give the key of {provider}: {type(error).__name__}.") from error
    if not found:
        raise KeysUnusable(
            f"The key of {provider} is in a keyring that cannot be reached now. "
            f"Unlock it, or store the key again: bobstay auth login {provider}"
        )
    return str(found)


def _to_keyring(provider: str, key: str) -> bool:
    keyring = _keyring()
    if keyring is None:
        return False
    try:
        keyring.set_password(SERVICE, provider, key)
        return bool(keyring.get_password(SERVICE, provider) == key)
    except Exception:  # noqa: BLE001 - a boundary, as above
        return False


def _forget(provider: str) -> None:
    keyring = _keyring()
    try:
        if keyring is not None:
            keyring.delete_password(SERVICE, provider)
    except Exception as error:
        raise KeysUnusable(f"The keyring did not forget the key of {provider}: {type(error).__name__}.") from error
