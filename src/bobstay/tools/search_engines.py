"""Asks a search engine: SearXNG, Brave or Tavily, whichever the settings name."""

from typing import Annotated, Any, Literal
from urllib.parse import urlencode

import msgspec
from msgspec import Meta, Struct

from bobstay.system.network import Network
from bobstay.tools.http_fetch import FetchedPage, request
from bobstay.tools.web_address import BadUrlError, WebTarget, parse_url
from bobstay.tools.web_route import FetchError, WebRoute, route_to

_HOMES = {"brave": "https://api.search.brave.com/res/v1/web/search", "tavily": "https://api.tavily.com/search"}
_LIMIT = 2_000_000
_COUNT = 10


class SearchEngine(Struct, frozen=True, forbid_unknown_fields=True):
    """Where to search the web, from the settings."""

    kind: Literal["searxng", "brave", "tavily"]
    url: Annotated[str, Meta(description="The server's address; brave and tavily know their own")] = ""
    key: str = ""

    @property
    def endpoint(self) -> str:
        """The address questions go to, without any question."""
        url = self.url or _HOMES.get(self.kind, "")
        if self.kind == "searxng" and not url.rstrip("/").endswith("/search"):
            url = url.rstrip("/") + "/search"
        return url


class WebHit(Struct, frozen=True):
    title: str
    url: str
    snippet: str


async def search(
    engine: SearchEngine,
    query: str,
    only: tuple[str, ...] = (),
    never: tuple[str, ...] = (),
    *,
    network: Network | None = None,
) -> list[WebHit]:
    """Put `query` to the engine. Hits come only from the domains `only`, if any, and from none of `never`.

    Raises:
        FetchError: the engine could not be asked or gave no proper answer.
    """
    try:
        target = parse_url(engine.endpoint)
    except BadUrlError as error:
        raise FetchError(f"The search address in the settings, {engine.endpoint!r}, is no good: {error}.") from None
    route = await route_to(target, network or Network())  # the settings name this host, wherever it stands
    page = await _ask(engine, target, route, query, only, never)
    if page.status != 200:
        hint = " Check the key in the settings." if page.status in (401, 403) else ""
        raise FetchError(f"The search engine answered with status {page.status}.{hint}")
    hits = [hit for hit in _hits(engine, page.body) if _wanted(hit.url, only, never)]
    return hits[:_COUNT]


async def _ask(
    engine: SearchEngine, target: WebTarget, route: WebRoute, query: str, only: tuple[str, ...], never: tuple[str, ...]
) -> FetchedPage:
    headers = {"Accept": "application/json"}
    if engine.kind == "tavily":
        question: dict[str, Any] = {"query": query, "max_results": _COUNT}
        question |= {"include_domains": list(only)} if only else {}
        question |= {"exclude_domains": list(never)} if never else {}
        headers |= {"Content-Type": "application/json", "Authorization": f"Bearer {engine.key}"}
        body = msgspec.json.encode(question)
        return await request(target, route, limit=_LIMIT, method="POST", headers=headers, body=body)
    fields = {"q": _narrowed(query, only, never)}
    if engine.kind == "brave":
        headers["X-Subscription-Token"] = engine.key
        fields["count"] = str(2 * _COUNT)
    else:
        fields["format"] = "json"
        if engine.key:
            headers["Authorization"] = f"Bearer {engine.key}"
    joint = "&" if "?" in target.path else "?"
    asked = msgspec.structs.replace(target, path=f"{target.path}{joint}{urlencode(fields)}")
    return await request(asked, route, limit=_LIMIT, headers=headers)


def _narrowed(query: str, only: tuple[str, ...], never: tuple[str, ...]) -> str:
    within = " OR ".join(f"site:{domain}" for domain in only)
    without = " ".join(f"-site:{domain}" for domain in never)
    return " ".join(part for part in (query, within, without) if part)


def _hits(engine: SearchEngine, body: bytes) -> list[WebHit]:
    try:
        answer = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise FetchError("The search engine did not answer in JSON. Check its address in the settings.") from None
    if engine.kind == "brave":
        answer = answer.get("web") if isinstance(answer, dict) else None
    found = answer.get("results") if isinstance(answer, dict) else None
    rows = [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []
    return [
        WebHit(_text(row.get("title"), 300), url, _text(row.get("content") or row.get("description"), 1_000))
        for row in rows
        if (url := _text(row.get("url"), 2_000))
    ]


def _text(value: Any, length: int) -> str:
    return " ".join(value.split())[:length] if isinstance(value, str) else ""


def _wanted(url: str, only: tuple[str, ...], never: tuple[str, ...]) -> bool:
    try:
        host = parse_url(url).host
    except BadUrlError:
        return False
    return (not only or any(_within(host, domain) for domain in only)) and not any(
        _within(host, domain) for domain in never
    )


def _within(host: str, domain: str) -> bool:
    domain = domain.lower().strip().lstrip("*").strip(".")
    return host == domain or host.endswith("." + domain)
