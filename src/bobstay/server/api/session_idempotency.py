"""Sessions that are asked for twice: the same request with the same `client_id` makes one, also after a restart."""

from collections.abc import Awaitable, Callable
from hashlib import sha256

from bobstay.model.ids import uuid_of
from bobstay.server.api.endpoint import ApiCall
from bobstay.server.api.idempotency import fingerprint
from bobstay.server.deletion import trash_of
from bobstay.server.errors import ApiError
from bobstay.server.session_commands import UserMessage, say_first
from bobstay.server.sessions.session_view import SessionView
from bobstay.sessions.log import SessionMissing


async def made_once(call: ApiCall, words: UserMessage, make: Callable[[str], Awaitable[SessionView]]) -> SessionView:
    """What `make` makes under the id it is given, or the session that is there under this id already.

    `words` are said in it once: if it was made and they were not stored any more, they are now. The
    id follows from who asks and from the whole request, so that no table is needed to know it again.

    Raises:
        ApiError: conflict, the session was made and deleted since; or it cannot be started.
        LogError: its log cannot be written.
    """
    if not call.body.client_id:
        return await _made(call, make(""))
    id = uuid_of(sha256(f"{call.principal.name}\0{fingerprint(call)}".encode()).digest()[:16])
    async with call.console.making.of(id):  # the same request may be under way
        try:
            return await say_first(call.console, id, words)
        except SessionMissing:
            if trash_of(call.console).holds(id):
                text = "The session that was made with this client_id was deleted. Restore it, or send another id."
                raise ApiError("conflict", text, session_id=id) from None
        return await _made(call, make(id))


async def _made(call: ApiCall, making: Awaitable[SessionView]) -> SessionView:
    view = await making
    call.made = view.id
    return view
