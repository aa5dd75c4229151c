"""Fetches one page: follows redirects, as far as the permission rules let it, to hosts they allow."""

import asyncio
from collections.abc import Callable
from typing import TypeAlias
from urllib.parse import urljoin

from bobstay.http.http_error import HttpError
from bobstay.http.network import ConnectionTarget, Network
from bobstay.http.pinned_request import HttpResponse, resolve, send_request
from bobstay.http.web_address import BadUrlError, WebTarget, is_disguised_number, is_public, parse_url
from bobstay.permissions.access import Effect, PolicyDecision
from bobstay.permissions.host_rules import parse_address

UrlRule: TypeAlias = Callable[[str], PolicyDecision]
"""Judges a URL by the session's permission rules."""

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_ACCEPT = {"Accept": "text/markdown, text/html;q=0.9, text/plain;q=0.8, */*;q=0.5"}


class FetchError(Exception):
    """A page could not be fetched. The text says why and what to do."""


class RedirectRefusedError(FetchError):
    """The page redirects to another host that no rule allows."""

    def __init__(self, target: str, why: str) -> None:
        super().__init__(
            f"The page has moved to {target}\nIt was not followed there ({why}). Fetch that address if you want it."
        )
        self.target = target


def undecided(_url: str) -> PolicyDecision:
    """The rule of a session without permission rules."""
    return PolicyDecision(Effect.ASK, "no rule covers it")


async def fetch_page(
    url: str,
    *,
    rule: UrlRule = undecided,
    network: Network | None = None,
    limit: int = 5_000_000,
    timeout: float = 30,  # noqa: ASYNC109 - it covers all redirects together
    max_redirects: int = 5,
) -> HttpResponse:
    """Fetch `url`, following redirects within the host, and to other hosts only where `rule` allows.

    Addresses of private networks and of this machine are fetched only if a rule names them.

    Raises:
        FetchError: the page could not be fetched; the text says why.
    """
    try:
        async with asyncio.timeout(timeout):
            return await _follow(_parse_target(url), rule, network or Network(), limit, max_redirects)
    except HttpError as error:
        raise FetchError(str(error)) from None
    except TimeoutError:
        raise FetchError(f"{url} did not answer in full within {timeout:g} seconds.") from None


async def _follow(target: WebTarget, rule: UrlRule, network: Network, limit: int, max_redirects: int) -> HttpResponse:
    for _ in range(max_redirects + 1):
        route = await find_allowed_route(target, rule, network)
        page = await send_request(target, route, network, limit=limit, headers=_ACCEPT)
        location = page.headers.get("location", "")
        if page.status not in _REDIRECTS or not location:
            return page
        moved = _parse_target(urljoin(target.url, location))
        _require_redirect_allowed(target, moved, rule)
        target = moved
    raise FetchError(f"More than {max_redirects} redirects, the last one to {target.url}: it would not end.")


def _parse_target(url: str) -> WebTarget:
    try:
        return parse_url(url)
    except BadUrlError as error:
        raise FetchError(f"{url[:200]!r} cannot be fetched: {error}.") from None


def _require_redirect_allowed(old: WebTarget, new: WebTarget, rule: UrlRule) -> None:
    decision = rule(new.url)
    if decision.effect is Effect.DENY:
        raise FetchError(
            f"The page has moved to {new.url}, which is not allowed: {decision.why or 'a rule denies it'}."
        )
    if old.scheme == "https" and new.scheme == "http" and decision.effect is not Effect.ALLOW:
        raise RedirectRefusedError(new.url, "it would leave https")
    if new.host != old.host and decision.effect is not Effect.ALLOW:
        raise RedirectRefusedError(new.url, decision.why or "no rule allows that host")


async def find_allowed_route(target: WebTarget, rule: UrlRule, network: Network) -> ConnectionTarget:
    """Find the route to the host of `target` and check it, so that the addresses dialled are the ones checked.

    Raises:
        FetchError: the host is private and no rule names it.
        HttpError: the host is unknown.
    """
    route = await resolve(target, network)
    # A private name (localhost, wiki.corp, 10.0.0.1) is under local control; a public name may point anywhere.
    is_private_name = not parse_address(target.url).public
    if is_private_name and _is_named_by_rule(rule, target.url):
        return route
    if is_disguised_number(target.host):
        raise FetchError(f"{target.host} is an IP address disguised as a host name. Write the address in full.")
    # Through a proxy only the name can be checked: the proxy resolves it.
    private = [number for number in route.addresses if not is_public(number)] if route.proxy is None else []
    if route.proxy is not None and is_private_name:
        private = [target.host]
    if not all(_is_named_by_rule(rule, target.at(number)) for number in private):
        raise FetchError(
            f"{target.host} is at {private[0]}, an address of this machine or a private network. That is fetched "
            f"only if a permission rule names it, such as WebFetch(domain:{private[0]})."
        )
    return route


def _is_named_by_rule(rule: UrlRule, url: str) -> bool:
    decision = rule(url)
    return decision.effect is Effect.ALLOW and decision.reason_type == "rule"
