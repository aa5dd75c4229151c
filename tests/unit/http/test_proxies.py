"""Which proxy a request goes through."""

import pytest

from bobstay.http.proxies import BadProxyError, Proxies, ProxyServer

BOTH = Proxies(http="http://plain:1", https="http://secure:2")


def test_each_scheme_has_its_own_proxy() -> None:
    assert BOTH.choose("http", "a.test", 80) == "http://plain:1"
    assert BOTH.choose("https", "a.test", 443) == "http://secure:2"
    assert Proxies(https="http://secure:2").choose("http", "a.test", 80) == ""


def test_one_for_all_is_used_where_a_scheme_has_none() -> None:
    mixed = Proxies(https="http://secure:2", all="socks5://all:3")
    assert mixed.choose("http", "a.test", 80) == "socks5://all:3"
    assert mixed.choose("https", "a.test", 443) == "http://secure:2"


@pytest.mark.parametrize(
    "host",
    ["localhost", "LOCALHOST", "localhost.", "app.localhost", "127.0.0.1", "127.9.8.7", "::1", "::ffff:127.0.0.1"],
)
def test_this_machine_is_always_reached_directly(host: str) -> None:
    assert BOTH.choose("http", host, 11434) == ""


@pytest.mark.parametrize(
    ("rule", "host", "port", "direct"),
    [
        ("*", "a.test", 443, True),
        ("a.test", "a.test", 443, True),
        ("a.test", "A.Test.", 443, True),
        ("A.Test", "a.test", 443, True),
        ("a.test", "sub.a.test", 443, True),
        ("a.test", "nota.test", 443, False),
        (".a.test", "sub.a.test", 443, True),
        (".a.test", "a.test", 443, True),
        ("*.a.test", "sub.a.test", 443, True),
        ("a.test:8443", "a.test", 8443, True),
        ("a.test:8443", "a.test", 443, False),
        ("x.test , a.test", "a.test", 443, True),
        ("x.test a.test", "a.test", 443, True),
        ("10.0.0.0/8", "10.1.2.3", 80, True),
        ("10.0.0.0/8", "11.1.2.3", 80, False),
        ("10.0.0.0/8", "a.test", 80, False),
        ("10.0.0.99/8", "10.1.2.3", 80, True),
        ("nonsense/8", "10.1.2.3", 80, False),
        ("10.1.2.3", "10.1.2.3", 80, True),
        ("10.1.2.3:81", "10.1.2.3", 80, False),
        ("0.1.2.3", "10.1.2.3", 80, False),
        ("fd00::/8", "fd00::5", 80, True),
        ("fd00::5", "fd00:0:0::5", 80, True),
        ("fe80::1", "fe80::1%eth0", 80, True),
        ("[fd00::5]:8080", "fd00::5", 8080, True),
        ("[fd00::5]:8080", "fd00::5", 80, False),
        ("", "a.test", 443, False),
        (",,.,", "a.test", 443, False),
    ],
)
def test_hosts_that_no_proxy_names_are_reached_directly(rule: str, host: str, port: int, direct: bool) -> None:
    assert (Proxies(http="http://p:1", no=rule).choose("http", host, port) == "") is direct


@pytest.mark.parametrize(
    ("url", "address", "authorization"),
    [
        ("http://proxy.test:3128", "proxy.test:3128", ""),
        ("proxy.test:3128", "proxy.test:3128", ""),
        ("http://proxy.test", "proxy.test:8080", ""),
        ("https://me:pass%20word@proxy.test", "proxy.test:443", "Basic bWU6cGFzcyB3b3Jk"),
        ("socks5h://[fd00::1]", "[fd00::1]:1080", ""),
    ],
)
def test_a_proxy_is_understood_as_people_write_it(url: str, address: str, authorization: str) -> None:
    proxy = ProxyServer.parse(url)
    assert (proxy.address, proxy.authorization) == (address, authorization)


@pytest.mark.parametrize("url", ["socks4://me:secretword@x:1", "http://me:secretword@", "http://me:secretword@x:port"])
def test_a_proxy_that_cannot_be_used_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(BadProxyError) as caught:
        ProxyServer.parse(url)
    assert "secretword" not in str(caught.value)
