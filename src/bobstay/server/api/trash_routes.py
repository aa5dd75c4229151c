"""The trash over HTTP: list deleted sessions, restore or permanently remove them."""

import asyncio

from msgspec import Struct

from bobstay.server.api.endpoint import ApiCall, Endpoint
from bobstay.server.sessions.session_trash import Trashed
from bobstay.server.sessions.session_view import SessionView


class TrashList(Struct, frozen=True):
    sessions: tuple[Trashed, ...]


async def list_trash(call: ApiCall) -> TrashList:
    """List deleted sessions, the most recently deleted first."""
    return TrashList(tuple(await asyncio.to_thread(call.services.deletion.trash.listed)))


async def restore_trash(call: ApiCall) -> SessionView:
    """Restore a deleted session."""
    return await call.services.deletion.undelete(call.path["id"], by=call.principal.name)


async def remove_trash(call: ApiCall) -> None:
    """Permanently remove a deleted session with its stored output."""
    await call.services.deletion.remove_for_good(call.path["id"])


ENDPOINTS = (
    Endpoint("GET", "/trash", list_trash, returns=TrashList),
    Endpoint(
        "POST", "/trash/{id}/restore", restore_trash, "operate", returns=SessionView, errors=("conflict", "storage")
    ),
    Endpoint("DELETE", "/trash/{id}", remove_trash, "admin", status=204, errors=("storage",)),
)
