"""Stored keys: in a private file, or in a working keyring."""

import json
import os
import stat
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from bobstay.config.key_sources import MAX_KEY_LENGTH, parse_key
from bobstay.config.key_store import KeyStore, KeyStoreError

KEY = "sesame-7319-open-8842"


class Ring(ModuleType):
    """The interface of keyring 25, as far as it is used."""

    def __init__(self, *, forgetful: bool = False) -> None:
        super().__init__("keyring")
        self.kept: dict[tuple[str, str], str] = {}
        self._forgetful = forgetful

    def get_keyring(self) -> SimpleNamespace:
        return SimpleNamespace(priority=5)

    def get_password(self, service: str, user: str) -> str | None:
        return self.kept.get((service, user))

    def set_password(self, service: str, user: str, password: str) -> None:
        if not self._forgetful:
            self.kept[service, user] = password

    def delete_password(self, service: str, user: str) -> None:
        del self.kept[service, user]


@pytest.fixture
def store(tmp_path: Path) -> KeyStore:
    return KeyStore(str(tmp_path / "home"))


@pytest.mark.parametrize("kind", ["link", "pipe", "directory"])
def test_what_is_no_file_of_ones_own_is_not_read(store: KeyStore, tmp_path: Path, kind: str) -> None:
    store.put("openai", KEY, "file")
    elsewhere = tmp_path / "elsewhere"
    os.rename(store.path, elsewhere)
    if kind == "link":
        os.symlink(elsewhere, store.path)
    elif kind == "pipe":
        os.mkfifo(store.path, 0o600)
    else:
        os.mkdir(store.path, 0o700)
    with pytest.raises(KeyStoreError, match="is not a file that only you can read"):
        store.key("openai")


def test_a_link_in_the_place_of_the_file_is_not_written_through(store: KeyStore, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    store.put("openai", KEY, "file")
    os.rename(store.path, victim)
    os.symlink(victim, store.path)
    with pytest.raises(KeyStoreError, match="is not a file that only you can read"):
        store.put("openai", KEY, "file")


def test_a_broken_file_is_told_of_without_what_stands_in_it(store: KeyStore) -> None:
    store.put("openai", KEY, "file")
    text = Path(store.path).read_text()
    Path(store.path).write_text(text.replace('"where"', '"where', 1))
    with pytest.raises(KeyStoreError) as caught:
        store.key("openai")
    assert "is broken" in str(caught.value)
    assert KEY not in str(caught.value)


def test_a_key_can_be_kept_in_the_file_though_there_is_a_keyring(
    store: KeyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    ring = Ring()
    monkeypatch.setitem(sys.modules, "keyring", ring)
    assert store.put("openai", KEY) == "keyring"
    assert KEY not in Path(store.path).read_text()
    assert store.put("openai", KEY, "file") == "file"
    assert (ring.kept, store.key("openai")) == ({}, KEY), "no second copy is left in the keyring"
    assert stat.S_IMODE(os.stat(store.path).st_mode) == 0o600


def test_a_keyring_that_does_not_keep_what_it_is_given_is_not_relied_on(
    store: KeyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "keyring", Ring(forgetful=True))
    assert (store.put("openai", KEY), store.key("openai")) == ("file", KEY)


def test_other_keys_stay_when_one_is_stored_or_forgotten(store: KeyStore) -> None:
    for provider in ("openai", "gemini"):
        store.put(provider, f"{KEY}-{provider}", "file")
    assert store.remove("gemini")
    assert not store.remove("gemini")
    assert list(json.loads(Path(store.path).read_text())["keys"]) == ["openai"]
    assert store.key("openai") == f"{KEY}-openai"


def test_a_key_that_nobody_can_have_is_none() -> None:
    assert parse_key(f" {KEY}\n") == KEY
    assert parse_key("k" * MAX_KEY_LENGTH) != ""
    assert parse_key("k" * (MAX_KEY_LENGTH + 1)) == ""
