"""The trash over HTTP: list deleted sessions, restore one, remove one for good."""

import asyncio

from msgspec import Struct

from bobstay.server import deletion
from bobstay.server.api.endpoint import ApiCall, Endpoint
from bobstay.server.sessions.session_trash import Trashed
from bobstay.server.sessions.session_view import SessionView


class TrashList(Struct, frozen=True):
    sessions: tuple[Trashed, ...]


async def list_trash(call: ApiCall) -> TrashList:
    """List deleted sessions, those deleted last first."""
    return TrashList(tuple(await asyncio.to_thread(deletion.trash_of(call.console).listed)))


async def restore_trash(call: ApiCall) -> SessionView:
    """Bring a deleted session back."""
    return await deletion.undelete(call.console, call.path["id"], by=call.principal.name)


async def remove_trash(call: ApiCall) -> None:
    """Remove a deleted session for good, with the output it kept."""
    await deletion.remove_for_good(call.console, call.path["id"])


ENDPOINTS = (
    Endpoint("GET", "/trash", list_trash, returns=TrashList),
    Endpoint(
        "POST", "/trash/{id}/restore", restore_trash, "operate", returns=SessionView, errors=("conflict", "storage")
    ),
    Endpoint("DELETE", "/trash/{id}", remove_trash, "admin", status=204, errors=("storage",)),
)
