"""Push notifications over HTTP: the server's public key, and the subscriptions of devices."""

from typing import Annotated
from urllib.parse import urlsplit

from msgspec import Meta, Struct

from bobstay.server.api.endpoint import ApiCall, Endpoint
from bobstay.server.db.state_tables import Subscription
from bobstay.server.errors import ApiError


class PushKey(Struct, frozen=True):
    public_key: str
    """For `applicationServerKey`: an uncompressed point of P-256, base64url."""


class SubscriptionKeys(Struct, frozen=True):
    p256dh: Annotated[str, Meta(max_length=200)]
    auth: Annotated[str, Meta(max_length=100)]


class NewSubscription(Struct, frozen=True):
    """The output of `PushSubscription.toJSON()`, with a label."""

    endpoint: Annotated[str, Meta(min_length=1, max_length=2_000)]
    keys: SubscriptionKeys
    label: Annotated[str, Meta(max_length=200)] = ""
    completed: bool = False
    """Whether to notify about completed work too; interactions and failures are always sent."""


class PushDevice(Struct, frozen=True):
    id: str
    label: str
    who: str
    service: str
    """Host of the push service. The full endpoint is not shown, because it allows sending."""
    created_at: float
    completed: bool
    mine: bool
    """Whether it was created by the client of this request."""


class PushDevices(Struct, frozen=True):
    subscriptions: tuple[PushDevice, ...]


async def push_key(call: ApiCall) -> PushKey:
    """Show the server's public key for push subscriptions."""
    return PushKey(call.services.notifier.public_key())


async def subscribe(call: ApiCall) -> PushDevice:
    """Subscribe a device to push notifications; revoking the client that created it ends the subscription."""
    new: NewSubscription = call.body
    keys = {"p256dh": new.keys.p256dh, "auth": new.keys.auth}
    made = await call.services.notifier.subscribe(
        call.principal.name,
        call.principal.client,
        new.endpoint,
        keys,
        label=new.label,
        completed=new.completed,
    )
    return _device(call, made)


async def list_subscriptions(call: ApiCall) -> PushDevices:
    """List your push subscriptions; an admin sees everybody's."""
    found = await call.services.notifier.devices()
    return PushDevices(tuple(_device(call, device) for device in found if _may(call, device)))


async def unsubscribe(call: ApiCall) -> None:
    """Remove a push subscription."""
    notifier = call.services.notifier
    device = next((device for device in await notifier.devices() if device.id == call.path["id"]), None)
    if device is None or not _may(call, device):
        raise ApiError("not_found", "There is no such device, or it is not yours.")
    await notifier.unsubscribe(device.id)


def _may(call: ApiCall, device: Subscription) -> bool:
    return device.who == call.principal.name or call.principal.may("admin")


def _device(call: ApiCall, device: Subscription) -> PushDevice:
    return PushDevice(
        device.id,
        device.label,
        device.who,
        urlsplit(device.endpoint).hostname or "",
        device.created_at,
        device.completed,
        device.client == call.principal.client,
    )


ENDPOINTS = (
    Endpoint("GET", "/push/key", push_key, returns=PushKey, errors=("not_supported",)),
    Endpoint(
        "POST",
        "/push/subscriptions",
        subscribe,
        "read",
        NewSubscription,
        returns=PushDevice,
        status=201,
        errors=("too_many", "not_supported"),
        body_limit=16 * 1024,
    ),
    Endpoint("GET", "/push/subscriptions", list_subscriptions, returns=PushDevices, errors=("not_supported",)),
    Endpoint("DELETE", "/push/subscriptions/{id}", unsubscribe, "read", errors=("not_supported",)),
)
