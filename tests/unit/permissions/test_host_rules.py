"""The hosts that a WebFetch rule covers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobstay.permissions.access import Effect
from bobstay.permissions.host_rules import parse_address
from tests.unit.permissions.policy_kit import ALLOW, ASK, DENY, effect


@pytest.mark.parametrize(
    ("rule", "url", "expected"),
    [
        ("WebFetch(domain:example.com)", "https://EXAMPLE.com./a", ALLOW),
        ("WebFetch(domain:example.com)", "https://example.com:8443/", ALLOW),
        ("WebFetch(domain:example.com)", "https://www.example.com/", ASK),
        ("WebFetch(domain:example.com)", "https://evil.com/example.com", ASK),
        ("WebFetch(domain:example.com)", "https://example.com@evil.com/", ASK),
        ("WebFetch(domain:example.com)", "https://evil.com\\@example.com/", ASK),
        ("WebFetch(domain:example.com)", "https://example.com%2eevil.com/", ASK),
        ("WebFetch(domain:example.com)", "https:example.com/", ASK),
        ("WebFetch(domain:example.com)", "https://example.com:x/", ASK),
        ("WebFetch(domain:example.com)", " https://example.com/", ASK),
        ("WebFetch(domain:*.example.com)", "https://a.b.example.com/", ALLOW),
        ("WebFetch(domain:*.example.com)", "https://example.com/", ASK),
        ("WebFetch(domain:*.example.com)", "https://evilexample.com/", ASK),
        ("WebFetch(domain:example.*)", "https://example.evil.com/", ASK),
        ("WebFetch(domain:example.*)", "https://example.org/", ALLOW),
        ("WebFetch(domain:b\u00fccher.de)", "https://xn--bcher-kva.de/", ALLOW),
        ("WebFetch(domain:fass.de)", "https://fa\u00df.de/", ASK),
        ("WebFetch(domain:*)", "https://anything.net/", ALLOW),
        ("WebFetch", "https://93.184.215.14/", ALLOW),
        ("WebFetch(domain:*)", "ftp://example.com/", DENY),
        ("WebFetch", "file:///etc/passwd", DENY),
        ("WebFetch", "javascript:alert(1)", DENY),
        ("WebFetch", "example.com", DENY),
        ("WebFetch(domain:*.example.com)", "http://evil.com%00.example.com/", DENY),
        ("WebFetch(domain:10.0.0.7)", "http://10.0.0.7/", ALLOW),
        ("WebFetch(domain:localhost)", "http://localhost:3000/", ALLOW),
        ("WebFetch(domain:*.corp)", "http://wiki.corp/", ALLOW),
        ("WebFetch(domain:*.*.*.*)", "http://127.0.0.1/", ASK),
        ("WebFetch(domain:*.1)", "http://127.0.0.1/", ASK),
        ("WebFetch(domain:[::1])", "http://[0:0::1]:80/", ALLOW),
    ],
)
def test_a_host_is_compared_as_a_host(rule: str, url: str, expected: Effect) -> None:
    assert effect("WebFetch", url, allow=(rule,)) is expected


PRIVATE = [
    "http://127.0.0.1/",
    "http://0x7f000001/",
    "http://2130706433/",
    "http://0177.0.0.1/",
    "http://127.1/",
    "http://10.1.2.3/",
    "http://192.168.0.1/",
    "http://169.254.169.254/",
    "http://0.0.0.0/",
    "http://[::1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[fe80::1]/",
    "http://localhost/",
    "http://a.localhost/",
    "http://printer.local/",
    "http://metadata/",
    "http://metadata.google.internal/",
    "http://999.1/",
]


@pytest.mark.parametrize("url", PRIVATE)
@pytest.mark.parametrize("rule", ["WebFetch", "WebFetch(domain:*)"])
def test_private_addresses_need_a_rule_that_names_them(url: str, rule: str) -> None:
    assert effect("WebFetch", url, allow=(rule,)) is ASK


@pytest.mark.parametrize(
    ("deny", "url"),
    [
        ("WebFetch(domain:evil.com)", "https://evil.com./"),
        ("WebFetch(domain:evil.com)", "https://good.com@evil.com/"),
        ("WebFetch(domain:evil.com)", "https://evil.com\\@good.com/"),
        ("WebFetch(domain:127.0.0.1)", "http://0x7f.1/"),
        ("WebFetch(domain:*)", "http://anything/"),
        ("WebFetch", "https://x.com/"),
    ],
)
def test_a_deny_rule_looks_at_every_host_the_url_may_mean(deny: str, url: str) -> None:
    assert effect("WebFetch", url, allow=("WebFetch",), deny=(deny,)) is DENY


def test_without_a_rule_fetching_is_asked_about() -> None:
    assert effect("WebFetch", "https://docs.python.org/3/") is ASK


@given(st.text(max_size=40))
def test_any_text_is_judged_and_only_plain_http_has_a_host(text: str) -> None:
    for url in (text, f"http://{text}", f"https://example.com/{text}"):
        found = parse_address(url)
        assert bool(found.host) is not bool(found.trouble)
        if found.host:
            assert found.host == found.host.lower()
            assert not set(found.host) & set("/@?#% \\")
