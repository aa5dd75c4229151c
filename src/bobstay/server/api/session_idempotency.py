"""Idempotent creation of sessions: a repeated request with the same `client_id` creates one, also after a restart."""

from collections.abc import Awaitable, Callable
from hashlib import sha256

from bobstay.model.ids import uuid_of
from bobstay.server.api.endpoint import ApiCall
from bobstay.server.api.idempotency import fingerprint
from bobstay.server.errors import ApiError
from bobstay.server.session_creation import UserMessage
from bobstay.server.sessions.session_view import SessionView
from bobstay.sessions.log import SessionMissing


async def create_once(
    call: ApiCall, message: UserMessage, make: Callable[[str], Awaitable[SessionView]]
) -> SessionView:
    """The session that `make` creates under the given id, or the existing one with this id.

    `message` is sent once: if the session was created but the message not stored, it is sent now. The id
    is derived from the principal and the whole request, so that no table is needed to recognise it.

    Raises:
        ApiError: conflict, the session was created and deleted since; or it cannot be started.
        LogError: its log cannot be written.
    """
    if not call.body.client_id:
        return await _create(call, make(""))
    id = uuid_of(sha256(f"{call.principal.name}\0{fingerprint(call)}".encode()).digest()[:16])
    async with call.services.creating.of(id):  # the same request may be running
        try:
            return await call.services.creation.send_first_message(id, message)
        except SessionMissing:
            if call.services.deletion.trash.holds(id):
                text = "The session that was created with this client_id was deleted. Restore it, or send another id."
                raise ApiError("conflict", text, session_id=id) from None
        return await _create(call, make(id))


async def _create(call: ApiCall, creating: Awaitable[SessionView]) -> SessionView:
    view = await creating
    call.created_session = view.id
    return view
