"""Notifications over HTTP: the key a browser subscribes with, and the devices that are told."""

from typing import Annotated
from urllib.parse import urlsplit

from msgspec import Meta, Struct

from bobstay.server.api.endpoint import ApiCall, Endpoint
from bobstay.server.db.state_tables import Subscription
from bobstay.server.errors import ApiError
from bobstay.server.notifications.notifier import Notifier


class PushKey(Struct, frozen=True):
    public_key: str
    """For `applicationServerKey`: an uncompressed point of P-256, base64url."""


class SubscriptionKeys(Struct, frozen=True):
    p256dh: Annotated[str, Meta(max_length=200)]
    auth: Annotated[str, Meta(max_length=100)]


class NewSubscription(Struct, frozen=True):
    """What `PushSubscription.toJSON()` gives, and what it is called."""

    endpoint: Annotated[str, Meta(min_length=1, max_length=2_000)]
    keys: SubscriptionKeys
    label: Annotated[str, Meta(max_length=200)] = ""
    completed: bool = False
    """Tell it of work that is done, too; questions and failures are always told."""


class PushDevice(Struct, frozen=True):
    id: str
    label: str
    who: str
    service: str
    """The host that delivers. The whole address is not shown: who has it can send."""
    created_at: float
    completed: bool
    mine: bool
    """It was made by the very client that asks."""


class PushDevices(Struct, frozen=True):
    subscriptions: tuple[PushDevice, ...]


async def push_key(call: ApiCall) -> PushKey:
    """Show the public key of this server for subscriptions."""
    return PushKey(_bell(call).public_key())


async def subscribe(call: ApiCall) -> PushDevice:
    """Let a device be told of questions and failures; it goes when the client that made it is revoked."""
    new: NewSubscription = call.body
    keys = {"p256dh": new.keys.p256dh, "auth": new.keys.auth}
    made = await _bell(call).subscribe(
        call.principal.name,
        call.principal.client,
        new.endpoint,
        keys,
        label=new.label,
        completed=new.completed,
    )
    return _device(call, made)


async def list_subscriptions(call: ApiCall) -> PushDevices:
    """List your devices that are told of news; an admin sees everybody's."""
    found = await _bell(call).devices()
    return PushDevices(tuple(_device(call, device) for device in found if _may(call, device)))


async def unsubscribe(call: ApiCall) -> None:
    """Stop telling a device of news."""
    bell = _bell(call)
    device = next((device for device in await bell.devices() if device.id == call.path["id"]), None)
    if device is None or not _may(call, device):
        raise ApiError("not_found", "There is no such device, or it is not yours.")
    await bell.unsubscribe(device.id)


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


def _bell(call: ApiCall) -> Notifier:
    bell = call.console.bell
    if bell is None:
        raise ApiError("not_supported", "This server sends no notifications.")
    return bell


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
