"""Shared code of the compatibility WebSockets: authorization, reading, writing and closing."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from starlette.websockets import WebSocket, WebSocketDisconnect

from bobstay.server.api.browser_socket import CODES
from bobstay.server.api.services import Services
from bobstay.server.api.socket_admission import admit_to_socket
from bobstay.server.auth.principal import Principal, Scope
from bobstay.server.compat.compat_feed import SYNCHRONIZED, CompatFeed
from bobstay.server.compat.compat_rest import compat_error
from bobstay.server.compat.frame_entry import Message
from bobstay.server.errors import ApiError, error_of_log
from bobstay.sessions.log import LogError
from bobstay.sessions.log_codec import to_json

LARGEST_FRAME = 1024 * 1024
"""Maximum characters of a message from a client."""
CLOSE_TIMEOUT = 5.0
T = TypeVar("T", bound=Struct)

Receiver = Callable[[str | bytes], Awaitable[None]]


async def accept_socket(services: Services, websocket: WebSocket, check: Callable[[], object]) -> Principal | None:
    """Accept a connection; None if it was refused with an error response. `check` may raise to refuse it."""
    try:
        principal = await admit_to_socket(services, websocket, "read")
        check()
    except ApiError as error:
        await websocket.send_denial_response(compat_error(error))
        return None
    except LogError as error:
        await websocket.send_denial_response(compat_error(error_of_log(error)))
        return None
    await websocket.accept()
    return principal


async def run_socket(
    websocket: WebSocket, feed: CompatFeed, receive: Receiver, convert: Callable[[Message], list[Message]]
) -> None:
    """Send the feed's messages, passed through `convert`, and receive the client's, until either side ends it."""

    async def write() -> None:
        while batch := await feed.next_batch():
            for _, message in batch:
                for converted in convert(message):
                    await websocket.send_text(to_json(converted).decode())

    ended = asyncio.create_task(feed.client.ended.wait())
    writing = asyncio.create_task(write())
    reading = asyncio.create_task(_read(websocket, receive))
    tasks: set[asyncio.Task[Any]] = {ended, writing, reading}
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        why = feed.client.closed
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        if why:
            with contextlib.suppress(WebSocketDisconnect, RuntimeError, TimeoutError):
                await asyncio.wait_for(websocket.close(CODES.get(why, 1011), why), CLOSE_TIMEOUT)
    for task in (writing, reading):
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, WebSocketDisconnect | RuntimeError):
            raise error


def decode_message(raw: str | bytes, decoder: "msgspec.json.Decoder[T]") -> T:
    """Raises:
    ApiError: the message is too long, not JSON, or not of a known type.
    """
    if len(raw) > LARGEST_FRAME:
        raise ApiError("too_large", f"A message may have at most {LARGEST_FRAME} characters.", limit=LARGEST_FRAME)
    try:
        return decoder.decode(raw)
    except msgspec.ValidationError as error:
        raise ApiError("invalid", f"Invalid message: {error}") from None
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise ApiError("invalid_json", "Invalid JSON") from None


def require_scope(principal: Principal, scope: Scope) -> None:
    if not principal.may(scope):
        raise ApiError("forbidden", f"This needs the scope `{scope}`.", needed=scope)


class SocketAudit(Struct, frozen=True):
    """Records actions and refusals on one socket in the audit log."""

    services: Services
    principal: Principal
    path: str
    session_id: str

    def record_action(self, message: Struct) -> None:
        """Record a message that was executed."""
        name = type(message).__name__.removeprefix("Worker")  # the audit log keeps the names of both sockets' messages
        self.services.audit.record(self.principal.name, name, {"path": self.path}, self.session_id)

    def record_refusal(self, error: ApiError) -> None:
        if error.status in (401, 403):
            detail = {"path": self.path, "code": error.problem.code}
            name = self.principal.name
            self.services.refusals.record(name, "socket", detail, self.session_id)


@contextlib.asynccontextmanager
async def report_errors(audit: SocketAudit, feed: CompatFeed) -> AsyncGenerator[None, None]:
    """Send errors to the client instead of ending the connection."""
    try:
        yield
    except ApiError as error:
        audit.record_refusal(error)
        feed.send(error_message(error))
    except LogError as error:
        feed.send(error_message(error_of_log(error)))


def error_message(error: ApiError) -> Message:
    return {"type": "error", "message": error.problem.message, "code": error.problem.code}


def without_mark(message: Message) -> list[Message]:
    """Convert for routes that send everything but the synchronization mark."""
    return [] if message is SYNCHRONIZED else [message]


async def _read(websocket: WebSocket, receive: Receiver) -> None:
    while True:
        message = await websocket.receive()
        if message["type"] == "websocket.disconnect":
            return
        text, data = message.get("text"), message.get("bytes")
        await receive(text if text is not None else data or b"")
