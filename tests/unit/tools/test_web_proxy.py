"""The web tools behind a proxy."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bobstay.http.network import Authorities, Network
from bobstay.http.proxies import Proxies
from bobstay.permissions.access import Effect, PolicyDecision
from bobstay.tools.builtin.web_fetch import WebFetch, WebFetchArgs
from bobstay.tools.builtin.web_search import WebSearch, WebSearchArgs
from bobstay.tools.http_fetch import FetchError, RedirectRefusedError, fetch_page
from bobstay.tools.search_engines import SearchEngine
from tests.kit.certificate_authority import CertificateAuthority
from tests.kit.proxy_server import Proxy, proxying
from tests.kit.tool_context import make_context
from tests.kit.web_server import WebServer, serving


@pytest.fixture
async def site() -> AsyncIterator[WebServer]:
    async with serving() as site:
        yield site


@pytest.fixture
async def proxy(site: WebServer) -> AsyncIterator[Proxy]:
    """The only one who knows where the public names are."""
    address = f"127.0.0.1:{site.port}"
    async with proxying({"docs.example.com:80": address, "10.0.0.7:80": address, "wiki.corp:80": address}) as proxy:
        yield proxy


def by(proxy: Proxy, **more: str) -> Network:
    return Network(Proxies(http=f"http://{proxy.address}", https=f"http://{proxy.address}"), Authorities(**more))


def allowing(*hosts: str) -> object:
    def rule(url: str) -> PolicyDecision:
        named = any(f"//{host}" in url for host in hosts)
        return PolicyDecision(Effect.ALLOW, reason_type="rule") if named else PolicyDecision(Effect.ASK)

    return rule


async def test_a_page_is_fetched_through_the_proxy_which_looks_up_the_name(
    site: WebServer, proxy: Proxy, tmp_path: Path
) -> None:
    site.page("/guide", "<p>the guide</p>")
    context = make_context(tmp_path, network=by(proxy))
    outcome = await WebFetch().run(WebFetchArgs(url="http://docs.example.com/guide?a=b"), context)
    assert "the guide" in str(outcome.content)
    assert proxy.asked == ["GET http://docs.example.com/guide?a=b HTTP/1.1"]


async def test_a_page_by_https_is_fetched_through_a_tunnel(tmp_path: Path) -> None:
    authority = CertificateAuthority(tmp_path)
    async with serving(authority.server("docs.example.com")) as site:
        site.page("/", "<p>in secret</p>")
        async with proxying({"docs.example.com:443": f"127.0.0.1:{site.port}"}, user="me", password="x") as proxy:
            network = Network(Proxies(https=f"http://me:x@{proxy.address}"), Authorities(extra=str(authority.file)))
            page = await fetch_page("https://docs.example.com/", network=network)
            assert b"in secret" in page.body
            assert proxy.asked == ["CONNECT docs.example.com:443 HTTP/1.1"]
            assert "proxy-authorization" not in site.received[0].headers, "the password is for the proxy alone"


@pytest.mark.parametrize("host", ["10.0.0.7", "wiki.corp"])
async def test_a_private_name_is_judged_though_the_proxy_would_go_there(
    site: WebServer, proxy: Proxy, host: str
) -> None:
    site.page("/", "internal")
    with pytest.raises(FetchError, match="private network"):
        await fetch_page(f"http://{host}/", network=by(proxy))
    assert proxy.asked == []
    page = await fetch_page(f"http://{host}/", network=by(proxy), rule=allowing(host))  # type: ignore[arg-type]  # a test's own
    assert page.body == b"internal"


async def test_the_metadata_service_of_a_cloud_is_not_asked_through_a_proxy(proxy: Proxy) -> None:
    for url in ("http://169.254.169.254/latest", "http://0xa9fea9fe/", "http://[fd00::1]/"):
        with pytest.raises(FetchError):
            await fetch_page(url, network=by(proxy))
    assert proxy.asked == []


async def test_a_public_address_dressed_up_as_a_name_is_not_fetched(proxy: Proxy) -> None:
    """It is 8.8.8.8: the check of the name and the connection would refer to different hosts."""
    for network in (Network(), by(proxy)):
        with pytest.raises(FetchError, match="disguised"):
            await fetch_page("http://0x08080808/", network=network)
    assert proxy.asked == []


async def test_a_proxy_that_wants_a_password_for_plain_http_is_given_it(site: WebServer) -> None:
    site.page("/", "in the open")
    async with proxying({"docs.example.com:80": f"127.0.0.1:{site.port}"}, user="me", password="x") as proxy:
        network = Network(Proxies(http=f"http://me:x@{proxy.address}"))
        assert (await fetch_page("http://docs.example.com/", network=network)).body == b"in the open"


async def test_a_proxy_can_be_spoken_to_over_tls(site: WebServer, tmp_path: Path) -> None:
    authority = CertificateAuthority(tmp_path)
    site.page("/", "in the open")
    hosts = {"docs.example.com:80": f"127.0.0.1:{site.port}"}
    async with proxying(hosts, tls=authority.server("127.0.0.1")) as proxy:
        network = Network(Proxies(http=f"https://{proxy.address}"), Authorities(extra=str(authority.file)))
        assert (await fetch_page("http://docs.example.com/", network=network)).body == b"in the open"


async def test_a_redirect_through_the_proxy_is_judged_again(site: WebServer, proxy: Proxy) -> None:
    site.moved("/out", "http://10.0.0.7/secrets")
    with pytest.raises(RedirectRefusedError):
        await fetch_page("http://docs.example.com/out", network=by(proxy))
    assert len(proxy.asked) == 1


async def test_a_host_of_no_proxy_and_this_machine_are_reached_directly(site: WebServer, proxy: Proxy) -> None:
    site.page("/", "direct")
    page = await fetch_page(site.url, network=by(proxy), rule=allowing("127.0.0.1"))  # type: ignore[arg-type]  # a test's own
    assert page.body == b"direct"
    assert proxy.asked == []


@pytest.mark.parametrize(("user", "phrase"), [("me", "407|password"), ("", "502|Bad Gateway|status")])
async def test_what_the_proxy_refuses_is_told(user: str, phrase: str) -> None:
    async with proxying({}, user=user, password="x") as proxy:
        with pytest.raises(FetchError, match=phrase):
            await fetch_page("https://docs.example.com/", network=by(proxy))
        if user:
            with pytest.raises(FetchError, match=phrase):
                await fetch_page("http://docs.example.com/", network=by(proxy))


async def test_the_search_engine_is_asked_through_the_proxy(site: WebServer, proxy: Proxy, tmp_path: Path) -> None:
    site.page("/search", '{"results":[{"title":"Found","url":"https://a.example/x","content":"it"}]}')
    engine = SearchEngine("searxng", "http://docs.example.com")
    context = make_context(tmp_path, network=by(proxy), search=engine)
    outcome = await WebSearch().run(WebSearchArgs(query="something"), context)
    assert "https://a.example/x" in str(outcome.content)
    assert proxy.asked[0].startswith("GET http://docs.example.com/search?q=something")
