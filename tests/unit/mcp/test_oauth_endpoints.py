"""Which addresses an OAuth flow may use, and where its tokens are kept (H8-3)."""

import sys
from contextlib import suppress
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobstay.mcp.oauth_endpoints import RefusedEndpoint, check_endpoint, check_server
from bobstay.mcp.oauth_store import OAuthRecord, OAuthStore, OAuthStoreError

REMOTE = "https://tracker.example/mcp"
LOCAL = "http://127.0.0.1:8000/mcp"


@pytest.mark.parametrize(
    ("address", "server"),
    [
        ("https://login.example/token", REMOTE),
        ("https://login.example/token", LOCAL),
        ("http://localhost:9/token", LOCAL),
        ("http://127.0.0.1:8000/token", LOCAL),
        ("http://[::1]:9/token", LOCAL),
    ],
)
def test_an_encrypted_address_or_one_of_this_machine_is_used(address: str, server: str) -> None:
    check_endpoint(address, server)


@pytest.mark.parametrize(
    "address",
    [
        "http://login.example/token",
        "http://127.0.0.1/token",
        "https://127.0.0.1/token",
        "https://LOCALHOST./token",
        "https://169.254.169.254/latest/meta-data",
        "http://0.0.0.0/",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "https://user:password@login.example/token",
        "https://",
        "https://login.example/" + "x" * 5000,
    ],
)
def test_any_other_address_that_a_remote_server_names_is_refused(address: str) -> None:
    with pytest.raises(RefusedEndpoint):
        check_endpoint(address, REMOTE)


@given(st.text(max_size=80), st.sampled_from(["", "http://", "https://", "https://[", "//"]))
def test_no_text_breaks_the_check(rest: str, scheme: str) -> None:
    for check in (lambda text: check_endpoint(text, REMOTE), check_server):
        with suppress(RefusedEndpoint):
            check(scheme + rest)


class Ring(ModuleType):
    """The interface of keyring 25, as far as it is used."""

    def __init__(self) -> None:
        super().__init__("keyring")
        self.kept: dict[tuple[str, str], str] = {}

    def get_keyring(self) -> SimpleNamespace:
        return SimpleNamespace(priority=5)

    def get_password(self, service: str, name: str) -> str | None:
        return self.kept.get((service, name))

    def set_password(self, service: str, name: str, password: str) -> None:
        self.kept[service, name] = password

    def delete_password(self, service: str, name: str) -> None:
        del self.kept[service, name]


def test_a_working_keyring_has_the_tokens_and_no_file_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ring = Ring()
    monkeypatch.setitem(sys.modules, "keyring", ring)
    store = OAuthStore(str(tmp_path))
    record = OAuthRecord(REMOTE, tokens={"access_token": "at-kept-in-the-ring"})
    assert store.write("tracker", record) == "keyring"
    assert store.read("tracker", REMOTE) == record
    assert not [file for file in tmp_path.iterdir() if b"at-kept" in file.read_bytes()]
    assert store.remove("tracker")
    assert ring.kept == {}


@pytest.mark.parametrize("content", ["", "{", '{"keys": {"mcp:x": 1}}', "[" * 5000])
def test_a_broken_file_is_an_error_that_names_it_and_quotes_nothing(tmp_path: Path, content: str) -> None:
    store = OAuthStore(str(tmp_path))
    Path(store.path).write_text(content)
    Path(store.path).chmod(0o600)
    with pytest.raises(OAuthStoreError, match=r"mcp-tokens\.json"):
        store.read("tracker", REMOTE)


def test_a_file_that_others_can_read_is_not_used(tmp_path: Path) -> None:
    store = OAuthStore(str(tmp_path))
    store.write("tracker", OAuthRecord(REMOTE, tokens={"access_token": "x"}))
    Path(store.path).chmod(0o644)
    with pytest.raises(OAuthStoreError, match="only you can read"):
        store.read("tracker", REMOTE)
