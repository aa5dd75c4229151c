"""WebSearch with each supported search engine."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest

from bobstay.permissions.access import Access
from bobstay.tools.base import Outcome, ToolError
from bobstay.tools.builtin.web_search import WebSearch, WebSearchArgs
from bobstay.tools.search_engines import SearchEngine
from tests.kit.tool_context import make_context
from tests.kit.web_server import WebServer, serving

ROWS = [
    {"title": "Docs", "url": "https://docs.example.com/a", "content": "About\n  things"},
    {"title": "Blog", "url": "https://blog.example.org/b", "content": "Opinions"},
    {"title": "Trap", "url": "javascript:alert(1)", "content": "No page"},
]


@pytest.fixture
async def site() -> AsyncIterator[WebServer]:
    async with serving() as site:
        yield site


async def run(engine: SearchEngine | None, folder: Path, **given: Any) -> Outcome:
    context = make_context(folder, **({"search": engine} if engine else {}))
    args = WebSearchArgs(**({"query": "how to"} | given))
    await WebSearch().check(args, context)
    return await WebSearch().run(args, context)


def answer(site: WebServer, path: str, data: Any) -> None:
    site.page(path, msgspec.json.encode(data), "application/json")


def asked(site: WebServer) -> dict[str, list[str]]:
    return parse_qs(urlsplit(site.received[-1].path).query)


async def test_searxng_is_asked_for_json_and_its_hits_are_listed(site: WebServer, tmp_path: Path) -> None:
    """H1-13"""
    answer(site, "/search", {"results": ROWS})
    outcome = await run(SearchEngine("searxng", site.url), tmp_path)
    assert asked(site) == {"q": ["how to"], "format": ["json"]}
    text = str(outcome.content)
    assert "1. Docs\n   https://docs.example.com/a\n   About things" in text
    assert "2. Blog" in text
    assert "javascript:" not in text
    assert [hit["title"] for hit in outcome.display["results"]] == ["Docs", "Blog"]


async def test_brave_gets_the_key_in_its_own_header(site: WebServer, tmp_path: Path) -> None:
    rows = [{"title": "T", "url": "https://x.example/", "description": "D"}]
    answer(site, "/brave", {"web": {"results": rows}})
    outcome = await run(SearchEngine("brave", site.url + "/brave", "secret"), tmp_path)
    assert site.received[0].headers["x-subscription-token"] == "secret"
    assert "https://x.example/\n   D" in str(outcome.content)


async def test_tavily_gets_the_question_as_json(site: WebServer, tmp_path: Path) -> None:
    answer(site, "/tavily", {"results": ROWS})
    await run(SearchEngine("tavily", site.url + "/tavily", "secret"), tmp_path, allowed_domains=["example.com"])
    (received,) = site.received
    assert received.method == "POST"
    assert received.headers["authorization"] == "Bearer secret"
    assert msgspec.json.decode(received.body) == {
        "query": "how to",
        "max_results": 10,
        "include_domains": ["example.com"],
    }


def test_the_known_engines_have_their_own_address() -> None:
    assert SearchEngine("brave").endpoint.startswith("https://api.search.brave.com/")
    assert SearchEngine("tavily").endpoint.startswith("https://api.tavily.com/")
    assert SearchEngine("searxng", "http://s.example/").endpoint == "http://s.example/search"
    assert SearchEngine("searxng", "http://s.example/x/search").endpoint == "http://s.example/x/search"


async def test_domains_narrow_the_results_whatever_the_engine_does(site: WebServer, tmp_path: Path) -> None:
    answer(site, "/search", {"results": ROWS})
    engine = SearchEngine("searxng", site.url)
    only = await run(engine, tmp_path, allowed_domains=["Example.com"])
    assert [hit["title"] for hit in only.display["results"]] == ["Docs"]
    assert asked(site)["q"] == ["how to site:Example.com"]
    never = await run(engine, tmp_path, blocked_domains=["docs.example.com"])
    assert [hit["title"] for hit in never.display["results"]] == ["Blog"]
    none = await run(engine, tmp_path, allowed_domains=["ample.com"])
    assert none.display["results"] == [], "a domain is not just any ending"
    assert "Nothing was found" in str(none.content)


async def test_both_lists_of_domains_at_once_make_no_sense(site: WebServer, tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="not both"):
        await run(
            SearchEngine("searxng", site.url), tmp_path, allowed_domains=["a.example"], blocked_domains=["b.example"]
        )


@pytest.mark.parametrize(
    ("raw", "phrase"),
    [
        (b"HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n", "status 401. Check the key"),
        (b"HTTP/1.1 302 Moved\r\nLocation: http://10.0.0.1/\r\nContent-Length: 0\r\n\r\n", "status 302"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>", "did not answer in JSON"),
    ],
)
async def test_a_useless_answer_is_explained(site: WebServer, tmp_path: Path, raw: bytes, phrase: str) -> None:
    site.answers["/search"] = raw
    with pytest.raises(ToolError) as caught:
        await run(SearchEngine("searxng", site.url), tmp_path)
    assert phrase in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("data", [[], None, {"results": 5}, {"results": [5, {"url": 1}, {"title": "no url"}]}, "x"])
async def test_an_odd_answer_means_nothing_found(site: WebServer, tmp_path: Path, data: Any) -> None:
    answer(site, "/search", data)
    for kind in ("searxng", "brave"):
        outcome = await run(SearchEngine(kind, site.url + "/search"), tmp_path)
        assert "Nothing was found" in str(outcome.content)


async def test_a_wrong_address_in_the_settings_is_explained(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="search address in the settings"):
        await run(SearchEngine("searxng", "not a url"), tmp_path)


async def test_without_an_engine_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="No search engine"):
        await run(None, tmp_path)


def test_the_call_states_where_it_goes(tmp_path: Path) -> None:
    engine = SearchEngine("searxng", "http://s.example")
    context = make_context(tmp_path, search=engine)
    assert WebSearch().access(WebSearchArgs("x"), context) == (Access("net", "http://s.example/search"),)
    assert WebSearch.needs == "search"
