"""Sends a notification to a push service, and refuses endpoints in private networks."""

import asyncio
import time
from hashlib import sha256
from ipaddress import ip_address
from typing import Literal, TypeAlias

from msgspec import Struct

from bobstay.http.http_error import HttpError
from bobstay.http.network import ConnectionTarget, Network
from bobstay.http.pinned_request import resolve, send_request
from bobstay.http.web_address import BadUrlError, WebTarget, is_disguised_number, is_public, parse_url
from bobstay.permissions.host_rules import parse_address
from bobstay.server.auth.host_names import is_loopback
from bobstay.server.notifications.notification import Notification
from bobstay.server.notifications.push_encryption import BadKeys, SubscriptionSecrets, encrypt
from bobstay.server.notifications.vapid import Vapid, b64url

Outcome: TypeAlias = Literal["sent", "gone", "later", "refused"]
SECONDS = 15.0
MOST_ANSWER = 4_096
LONGEST_ENDPOINT = 2_000
HOURS = {"ask": 24, "failed": 24, "completed": 4}
"""How long a push service keeps an undelivered notification."""


class BadEndpoint(ValueError):  # noqa: N818 - reads as what happened
    """The endpoint is not allowed. The text says why."""


class PushResult(Struct, frozen=True):
    outcome: Outcome
    reason: str = ""
    wait: float = 0.0
    """Seconds to wait before a retry, if the service sent Retry-After."""


def check_endpoint(text: str, *, loopback: bool) -> WebTarget:
    """Parse and check the URL of a push service. `loopback` allows services on this machine.

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
    if is_disguised_number(target.host) or (not _is_outside(target.host) and not (local and loopback)):
        raise BadEndpoint("The endpoint must not be an address of this machine or of a private network.")
    if not local and ("." not in target.host and ":" not in target.host):
        raise BadEndpoint("The endpoint must name a host of the open internet.")
    return target


async def find_push_route(target: WebTarget, *, loopback: bool, network: Network | None = None) -> ConnectionTarget:
    """The route to the service. The connection uses the IP addresses that were checked here, so that a second DNS
    answer cannot lead elsewhere; for a proxy, which resolves the name itself, the name is checked.

    Raises:
        BadEndpoint: an address of a private network, or of this machine where that is not allowed.
        HttpError: the host is unknown.
    """
    route = await resolve(target, network or Network())
    private = route.proxy is not None and not parse_address(target.url).public
    if private or any(not is_public(number) and not (loopback and is_loopback(number)) for number in route.addresses):
        raise BadEndpoint(f"{target.host} is at an address of this machine or of a private network.")
    return route


async def send_push(
    endpoint: str,
    keys: SubscriptionSecrets,
    notification: Notification,
    vapid: Vapid,
    subject: str,
    *,
    loopback: bool,
    network: Network | None = None,
) -> PushResult:
    """Send a notification once."""
    try:
        target = check_endpoint(endpoint, loopback=loopback)
        body = encrypt(notification.message(), keys)
        headers = {
            "Authorization": vapid.authorization(f"{target.scheme}://{target.netloc}", subject, time.time()),
            "Content-Encoding": "aes128gcm",
            "Content-Type": "application/octet-stream",
            "TTL": str(HOURS[notification.kind] * 3600),
            "Urgency": "normal" if notification.kind == "completed" else "high",
            "Topic": b64url(sha256(notification.tag.encode("utf-8", "replace")).digest())[:32],
        }
        async with asyncio.timeout(SECONDS):
            route = await find_push_route(target, loopback=loopback, network=network)
            answer = await send_request(
                target, route, network or Network(), limit=MOST_ANSWER, method="POST", headers=headers, body=body
            )
    except (BadEndpoint, BadKeys) as error:
        return PushResult("refused", str(error))
    except (HttpError, TimeoutError) as error:
        return PushResult("later", str(error) or "timeout")
    if 200 <= answer.status < 300:
        return PushResult("sent")
    if answer.status in (404, 410):
        return PushResult("gone")
    reason = f"the service answered with {answer.status}"
    if answer.status == 429 or answer.status >= 500:
        asked = answer.headers.get("retry-after", "")
        return PushResult("later", reason, float(asked) if asked.isascii() and asked.isdigit() else 0.0)
    return PushResult("refused", reason)


def _is_outside(host: str) -> bool:
    """Whether an IP address is public. A host name is resolved when something is sent."""
    if host == "localhost" or host.endswith(".localhost"):
        return False
    try:
        ip_address(host.strip("[]"))
    except ValueError:
        return True
    return is_public(host.strip("[]"))


def _is_local(host: str) -> bool:
    return host == "localhost" or is_loopback(host)
