"""URL parsing, and detection of private addresses."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from bobstay.http.web_address import BadUrlError, is_disguised_number, is_public, parse_url


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://Example.COM", "https://example.com/"),
        ("http://example.com.:80/a?b=c#d", "http://example.com/a?b=c"),
        ("https://example.com:8443/a b".replace(" ", "%20"), "https://example.com:8443/a%20b"),
        ("http://bücher.example/ä", "http://xn--bcher-kva.example/%C3%A4"),
        ("http://[::1]:8080/", "http://[::1]:8080/"),
        ("  https://example.com/x  ", "https://example.com/x"),
    ],
)
def test_a_url_is_brought_into_one_spelling(text: str, url: str) -> None:
    assert parse_url(text).url == url


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("ftp://example.com/", "only http"),
        ("file:///etc/passwd", "only http"),
        ("javascript:alert(1)", "only http"),
        ("example.com", "only http"),
        ("http://", "no host"),
        ("http:///path", "no host"),
        ("http://user:password@example.com/", "user name"),
        ("http://example.com\\@evil.example/", "backslash"),
        ("http://example.com/%00", "control"),
        ("http://exa\0mple.com/", "control"),
        ("http://example.com/a b", "control"),
        ("http://example.com/\r\nX: y", "control"),
        ("http://example.com:99999/", "ort"),
        ("http://exa_mple..com/", "not a legal one"),
        ("http://[::1%25eth0]/", "IPv6"),
        ("http://" + "a" * 9000, "longer than"),
        ("http://" + "a" * 300 + "/", "not a legal one"),
    ],
)
def test_what_could_be_misread_is_refused(text: str, why: str) -> None:
    """H1-13"""
    with pytest.raises(BadUrlError, match=why):
        parse_url(text)


@given(some.text(max_size=50) | some.text("htp:/[]@%0.\\#?é\0 ", max_size=30).map("http://".__add__))
def test_any_text_is_taken_or_refused(text: str) -> None:
    try:
        target = parse_url(text)
    except BadUrlError:
        return
    assert parse_url(target.url) == target
    assert target.url.isascii()


PRIVATE = [
    "127.0.0.1",
    "10.1.2.3",
    "192.168.0.1",
    "172.16.0.1",
    "169.254.169.254",
    "100.64.0.1",
    "0.0.0.0",
    "224.0.0.1",
]
PRIVATE += [
    "255.255.255.255",
    "::1",
    "::",
    "fe80::1",
    "fe80::1%eth0",
    "fc00::1",
    "ff02::1",
    "::ffff:127.0.0.1",
    "nonsense",
]
PRIVATE += ["64:ff9b::7f00:1", "2002:7f00:1::", "2001:db8::1", "198.18.0.1", "240.0.0.1"]


@pytest.mark.parametrize("address", PRIVATE)
def test_private_addresses_are_known_in_every_dress(address: str) -> None:
    """H1-13"""
    assert not is_public(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808", "1.1.1.1"])
def test_public_addresses_are_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize("host", ["2130706433", "0x7f.1", "0177.0.0.1", "127.1", "0x7f000001", "1.2.3.0x4", "01.2.3.4"])
def test_numbers_dressed_up_as_names_are_odd(host: str) -> None:
    """H1-13"""
    assert is_disguised_number(host)


@pytest.mark.parametrize("host", ["127.0.0.1", "example.com", "::1", "1.example", "0x7f.example"])
def test_plain_hosts_are_not_odd(host: str) -> None:
    assert not is_disguised_number(host)
