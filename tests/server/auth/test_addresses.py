"""Host and Origin taken apart: exact names only."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobstay.server.auth.auth_settings import AuthSettings, OpenBindError, check_bind, parse_networks
from bobstay.server.auth.host_names import BadAddress, allowed_names, is_loopback, parse_host, parse_origin
from bobstay.server.auth.origin_policy import OriginPolicy

LOCAL = allowed_names("127.0.0.1", 3001, False, ())


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("localhost:3001", ("localhost", 3001)),
        ("LocalHost:3001", ("localhost", 3001)),
        ("127.0.0.1", ("127.0.0.1", None)),
        ("[::1]:3001", ("::1", 3001)),
        ("[0:0:0:0:0:0:0:1]:80", ("::1", 80)),
        ("agents.example.com", ("agents.example.com", None)),
    ],
)
def test_a_host_is_taken_apart(text: str, found: tuple[str, int | None]) -> None:
    assert parse_host(text) == found


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            ":",
            ":3001",
            "localhost:",
            "localhost:0",
            "localhost:03001",
            "localhost:65536",
            "localhost:3001 ",
            "a b",
        ),
        *("localhost.", "user@localhost:3001", "localhost:1@evil.example", "localhost/:3001", "localhost:3001,evil"),
        *("[::1", "::1", "[::1]x", "[fe80::1%25eth0]:1", "[1.2.3.4]", "lo\u212aalhost", "localhost\n", "localhost\x00"),
        *(
            "localhost:\uff13\uff10\uff10\uff11",
            "a b",
            "%6cocalhost",
            "a" * 5000,
            "localhost:+1",
            "localhost:-1",
            "localhost#",
        ),
    ],
)
def test_what_is_no_host_is_none(text: str) -> None:
    assert parse_host(text) is None


@pytest.mark.parametrize(
    "origin",
    [
        *("http://localhost.evil.com", "http://localhost.evil.com:3001", "http://127.0.0.1.evil.com:3001", "null", ""),
        *("http://localhost:1@evil.com", "http://localhost:3001@evil.com", "http://evil.com#localhost:3001"),
        *(
            "https://localhost:3001",
            "http://localhost",
            "http://localhost:30011",
            "http://localhost:300",
            "localhost:3001",
        ),
        *("http://localhost:3001/", "http://localhost:3001.evil.com", "http://xlocalhost:3001", "http://0.0.0.0:3001"),
        *(
            "http://127.1:3001",
            "http://2130706433:3001",
            "http://[::ffff:127.0.0.1]:3001",
            "file://",
            "ws://localhost:3001",
        ),
        *(
            "http://localhost:3001 http://evil.com",
            "chrome-extension://abcdef",
            "ws://localhost:3001",
            "http://localhost%2eevil.com:3001",
        ),
    ],
)
def test_fm_43_an_origin_that_only_looks_like_ours_is_not_ours(origin: str) -> None:
    """FM-43: origins are parsed and compared whole, never by how they begin."""
    assert parse_origin(origin) not in LOCAL.origins


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "[::1]"])
def test_our_own_names_are_ours(name: str) -> None:
    assert parse_origin(f"http://{name}:3001") in LOCAL.origins
    assert parse_host(f"{name}:3001") in LOCAL.hosts
    assert parse_host(name) not in LOCAL.hosts


def test_the_usual_port_may_be_left_out_and_only_that_one() -> None:
    found = allowed_names("127.0.0.1", 3001, False, ("https://agents.example.com", "http://lan.example:8080/"))
    assert {("agents.example.com", None), ("agents.example.com", 443), ("lan.example", 8080)} <= found.hosts
    assert ("lan.example", None) not in found.hosts
    assert ("agents.example.com", 80) not in found.hosts
    assert ("https", "agents.example.com", 443) in found.origins
    assert ("http", "agents.example.com", 80) not in found.origins


@pytest.mark.parametrize("everywhere", ["0.0.0.0", "::"])
def test_the_address_of_everywhere_is_no_name(everywhere: str) -> None:
    """Pages elsewhere reach this machine under 0.0.0.0."""
    found = allowed_names(everywhere, 3001, True, ())
    assert {host for host, _ in found.hosts} == {"localhost", "127.0.0.1", "::1"}


@pytest.mark.parametrize("url", ["agents.example.com", "https://agents.example.com/path", "https://a b", "ftp://x", ""])
def test_a_public_address_that_is_none_is_said_at_the_start(url: str) -> None:
    with pytest.raises(BadAddress):
        OriginPolicy(AuthSettings(public_urls=(url,)))


def test_a_proxy_that_is_none_is_said_at_the_start() -> None:
    with pytest.raises(BadAddress):
        parse_networks(("proxy.example.com",))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "agents.example.com", "", "127.0.0.1.evil.com"])
def test_other_machines_are_not_let_near_without_tls_or_a_word(host: str) -> None:
    with pytest.raises(OpenBindError, match="TLS"):
        check_bind(host, tls=False)
    check_bind(host, tls=True)
    check_bind(host, tls=False, insecure=True)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost", "::ffff:127.0.0.1"])
def test_this_machine_is_always_let_near(host: str) -> None:
    assert is_loopback(host)
    check_bind(host, tls=False)


@given(st.text(max_size=60) | st.from_regex(r"(http|https)://[a-z0-9.:@\[\]-]{0,30}", fullmatch=True))
def test_whatever_comes_is_parsed_or_refused_and_never_breaks(text: str) -> None:
    for parse in (parse_host, parse_origin):
        parse(text)


@given(st.text(max_size=30), st.text(max_size=30))
def test_nothing_put_around_a_name_of_ours_stays_ours(before: str, after: str) -> None:
    if (before + after).strip():
        assert parse_origin(f"{before}http://localhost:3001{after}") not in LOCAL.origins
