"""Hands a notification to a push service, wherever its address leads, and nowhere it must not."""

import asyncio
import time
from hashlib import sha256
from ipaddress import ip_address
from typing import Literal, TypeAlias

from msgspec import Struct

from bobstay.permissions.host_rules import address
from bobstay.server.auth.host_names import is_loopback
from bobstay.server.notifications.notification import Notification
from bobstay.server.notifications.push_encryption import BadKeys, SubscriptionSecrets, encrypted
from bobstay.server.notifications.vapid import Vapid, b64url
from bobstay.system.network import Network
from bobstay.tools.http_fetch import request
from bobstay.tools.web_address import BadUrlError, WebTarget, is_odd_number, is_public, parse_url
from bobstay.tools.web_route import FetchError, WebRoute, route_to

Outcome: TypeAlias = Literal["sent", "gone", "later", "refused"]
SECONDS = 15.0
MOST_ANSWER = 4_096
LONGEST_ENDPOINT = 2_000
HOURS = {"ask": 24, "failed": 24, "completed": 4}
"""How long a service keeps what it cannot deliver."""


class BadEndpoint(ValueError):  # noqa: N818 - reads as what happened
    """Nothing is sent to such an address. The text says why."""


class PushResult(Struct, frozen=True):
    outcome: Outcome
    words: str = ""
    wait: float = 0.0
    """Seconds the service asks us to wait, if it does."""


def check_endpoint(text: str, *, loopback: bool) -> WebTarget:
    """The address of a push service, by its spelling. `loopback`: services on this very machine are allowed.

    Raises:
        BadEndpoint
    """
    if len(text) > LONGEST_ENDPOINT:
        raise BadEndpoint(f"The endpoint has more than {LONGEST_ENDPOINT} characters.")
    try:
        target = parse_url(text)
    except BadUrlError as error:
        raise BadEndpoint(f"The endpoint cannot be used: {error}.") from None
    local = _is_local(target.host)
    if target.scheme != "https" and not (local and loopback):
        raise BadEndpoint("The endpoint must be an https:// address.")
    if is_odd_number(target.host) or (not _is_outside(target.host) and not (local and loopback)):
        raise BadEndpoint("The endpoint must not be an address of this machine or of a private network.")
    if not local and ("." not in target.host and ":" not in target.host):
        raise BadEndpoint("The endpoint must name a host of the open internet.")
    return target


async def reachable(target: WebTarget, *, loopback: bool, network: Network | None = None) -> WebRoute:
    """The way to the service. It is connected to by the numbers that were judged, so that no second answer of the name
    service leads elsewhere; through a proxy, which looks the name up itself, the name is judged.

    Raises:
        BadEndpoint: an address of a private network, or of this machine where that is not allowed.
        FetchError: the host is not known.
    """
    route = await route_to(target, network or Network())
    private = route.proxy is not None and not address(target.url).public
    if private or any(not is_public(number) and not (loopback and is_loopback(number)) for number in route.addresses):
        raise BadEndpoint(f"{target.host} is at an address of this machine or of a private network.")
    return route


async def post(
    endpoint: str,
    keys: SubscriptionSecrets,
    told: Notification,
    vapid: Vapid,
    subject: str,
    *,
    loopback: bool,
    network: Network | None = None,
) -> PushResult:
    """One attempt."""
    try:
        target = check_endpoint(endpoint, loopback=loopback)
        body = encrypted(told.message(), keys)
        headers = {
            "Authorization": vapid.authorization(f"{target.scheme}://{target.netloc}", subject, time.time()),
            "Content-Encoding": "aes128gcm",
            "Content-Type": "application/octet-stream",
            "TTL": str(HOURS[told.kind] * 3600),
            "Urgency": "normal" if told.kind == "completed" else "high",
            "Topic": b64url(sha256(told.tag.encode("utf-8", "replace")).digest())[:32],
        }
        async with asyncio.timeout(SECONDS):
            route = await reachable(target, loopback=loopback, network=network)
            answer = await request(target, route, limit=MOST_ANSWER, method="POST", headers=headers, body=body)
    except (BadEndpoint, BadKeys) as error:
        return PushResult("refused", str(error))
    except (FetchError, TimeoutError) as error:
        return PushResult("later", str(error) or "it took too long")
    if 200 <= answer.status < 300:
        return PushResult("sent")
    if answer.status in (404, 410):
        return PushResult("gone")
    words = f"the service answered with {answer.status}"
    if answer.status == 429 or answer.status >= 500:
        asked = answer.headers.get("retry-after", "")
        return PushResult("later", words, float(asked) if asked.isascii() and asked.isdigit() else 0.0)
    return PushResult("refused", words)


def _is_outside(host: str) -> bool:
    """Whether an address is public. A name is looked up when something is sent."""
    if host == "localhost" or host.endswith(".localhost"):
        return False
    try:
        ip_address(host.strip("[]"))
    except ValueError:
        return True
    return is_public(host.strip("[]"))


def _is_local(host: str) -> bool:
    return host == "localhost" or is_loopback(host)
