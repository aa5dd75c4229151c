"""Client for the configured search engine: SearXNG, Brave or Tavily."""

from typing import Annotated, Any, Literal
from urllib.parse import urlencode

import msgspec
from msgspec import Meta, Struct

from bobstay.http.http_error import HttpError
from bobstay.http.network import Network
from bobstay.http.pinned_request import HttpResponse, resolve, send_request
from bobstay.http.web_address import BadUrlError, WebTarget, parse_url
from bobstay.tools.http_fetch import FetchError

_ENDPOINTS = {"brave": "https://api.search.brave.com/res/v1/web/search", "tavily": "https://api.tavily.com/search"}
_LIMIT = 2_000_000
_COUNT = 10


class SearchEngine(Struct, frozen=True, forbid_unknown_fields=True):
    """The configured search engine."""

    kind: Literal["searxng", "brave", "tavily"]
    url: Annotated[str, Meta(description="The server's address; brave and tavily know their own")] = ""
    key: str = ""

    @property
    def endpoint(self) -> str:
        """The URL of the search API, without a query."""
        url = self.url or _ENDPOINTS.get(self.kind, "")
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
    """Search for `query`. Hits are limited to the domains `only`, if any, and exclude those in `never`.

    Raises:
        FetchError: the engine could not be reached or returned an invalid response.
    """
    try:
        target = parse_url(engine.endpoint)
    except BadUrlError as error:
        raise FetchError(f"The search address in the settings, {engine.endpoint!r}, is not valid: {error}.") from None
    try:
        page = await _send_query(engine, target, network or Network(), query, only, never)
    except HttpError as error:
        raise FetchError(str(error)) from None
    if page.status != 200:
        hint = " Check the key in the settings." if page.status in (401, 403) else ""
        raise FetchError(f"The search engine answered with status {page.status}.{hint}")
    hits = [hit for hit in _parse_hits(engine, page.body) if _is_wanted(hit.url, only, never)]
    return hits[:_COUNT]


async def _send_query(
    engine: SearchEngine, target: WebTarget, network: Network, query: str, only: tuple[str, ...], never: tuple[str, ...]
) -> HttpResponse:
    route = await resolve(target, network)  # the settings name this host, so it may be private
    headers = {"Accept": "application/json"}
    if engine.kind == "tavily":
        question: dict[str, Any] = {"query": query, "max_results": _COUNT}
        question |= {"include_domains": list(only)} if only else {}
        question |= {"exclude_domains": list(never)} if never else {}
        headers |= {"Content-Type": "application/json", "Authorization": f"Bearer {engine.key}"}
        body = msgspec.json.encode(question)
        return await send_request(target, route, network, limit=_LIMIT, method="POST", headers=headers, body=body)
    fields = {"q": _restrict_query(query, only, never)}
    if engine.kind == "brave":
        headers["X-Subscription-Token"] = engine.key
        fields["count"] = str(2 * _COUNT)
    else:
        fields["format"] = "json"
        if engine.key:
            headers["Authorization"] = f"Bearer {engine.key}"
    joint = "&" if "?" in target.path else "?"
    with_query = msgspec.structs.replace(target, path=f"{target.path}{joint}{urlencode(fields)}")
    return await send_request(with_query, route, network, limit=_LIMIT, headers=headers)


def _restrict_query(query: str, only: tuple[str, ...], never: tuple[str, ...]) -> str:
    within = " OR ".join(f"site:{domain}" for domain in only)
    without = " ".join(f"-site:{domain}" for domain in never)
    return " ".join(part for part in (query, within, without) if part)


def _parse_hits(engine: SearchEngine, body: bytes) -> list[WebHit]:
    try:
        answer = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise FetchError("The search engine did not answer in JSON. Check its address in the settings.") from None
    if engine.kind == "brave":
        answer = answer.get("web") if isinstance(answer, dict) else None
    found = answer.get("results") if isinstance(answer, dict) else None
    rows = [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []
    return [
        WebHit(_one_line(row.get("title"), 300), url, _one_line(row.get("content") or row.get("description"), 1_000))
        for row in rows
        if (url := _one_line(row.get("url"), 2_000))
    ]


def _one_line(value: Any, length: int) -> str:
    return " ".join(value.split())[:length] if isinstance(value, str) else ""


def _is_wanted(url: str, only: tuple[str, ...], never: tuple[str, ...]) -> bool:
    try:
        host = parse_url(url).host
    except BadUrlError:
        return False
    return (not only or any(_is_within(host, domain) for domain in only)) and not any(
        _is_within(host, domain) for domain in never
    )


def _is_within(host: str, domain: str) -> bool:
    domain = domain.lower().strip().lstrip("*").strip(".")
    return host == domain or host.endswith("." + domain)
