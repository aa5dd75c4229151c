"""What all WebSockets of the compatibility routes share: letting in, reading, writing, closing."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from starlette.websockets import WebSocket, WebSocketDisconnect

from bobstay.server.api.dispatch import of_log
from bobstay.server.auth.principal import Principal, Scope
from bobstay.server.compat.compat_feed import SYNCHRONIZED, CompatFeed
from bobstay.server.compat.compat_rest import refusal
from bobstay.server.compat.frame_entry import Message
from bobstay.server.console import Console
from bobstay.server.errors import ApiError
from bobstay.server.socket_admission import admit_to_socket
from bobstay.server.streams.browser_socket import CODES
from bobstay.sessions.log import LogError
from bobstay.sessions.log_codec import to_json

LARGEST_FRAME = 1024 * 1024
"""Characters of a message from a client."""
POLITE = 5.0
T = TypeVar("T", bound=Struct)

Heard = Callable[[str | bytes], Awaitable[None]]


async def admitted(console: Console, websocket: WebSocket, check: Callable[[], object]) -> Principal | None:
    """Accept a connection; None if it was refused, with an answer one can read. `check` may raise to refuse."""
    try:
        principal = await admit_to_socket(console, websocket, "read")
        check()
    except ApiError as error:
        await websocket.send_denial_response(refusal(error))
        return None
    except LogError as error:
        await websocket.send_denial_response(refusal(of_log(error)))
        return None
    await websocket.accept()
    return principal


async def talk(websocket: WebSocket, feed: CompatFeed, heard: Heard, shown: Callable[[Message], list[Message]]) -> None:
    """Send what the feed tells, in the words of `shown`, and take what the client says, until either side ends it."""

    async def write() -> None:
        while told := await feed.take():
            for _, message in told:
                for said in shown(message):
                    await websocket.send_text(to_json(said).decode())

    ended = asyncio.create_task(feed.client.ended.wait())
    writing = asyncio.create_task(write())
    hearing = asyncio.create_task(_hear(websocket, heard))
    tasks: set[asyncio.Task[Any]] = {ended, writing, hearing}
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        why = feed.client.closed
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        if why:
            with contextlib.suppress(WebSocketDisconnect, RuntimeError, TimeoutError):
                await asyncio.wait_for(websocket.close(CODES.get(why, 1011), why), POLITE)
    for task in (writing, hearing):
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, WebSocketDisconnect | RuntimeError):
            raise error


def decoded(said: str | bytes, decoder: "msgspec.json.Decoder[T]") -> T:
    """Raises:
    ApiError: it is too long, no JSON (S003-22), or nothing that is taken here.
    """
    if len(said) > LARGEST_FRAME:
        raise ApiError("too_large", f"A message may have at most {LARGEST_FRAME} characters.", limit=LARGEST_FRAME)
    try:
        return decoder.decode(said)
    except msgspec.ValidationError as error:
        raise ApiError("invalid", f"The message is not as it should be: {error}") from None
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise ApiError("invalid_json", "Invalid JSON") from None


def needs(principal: Principal, scope: Scope) -> None:
    if not principal.may(scope):
        raise ApiError("forbidden", f"This needs the scope `{scope}`.", needed=scope)


class SocketSpeaker(Struct, frozen=True):
    """Who says something on a socket, about which session."""

    console: Console
    principal: Principal
    path: str
    session_id: str

    def noted(self, message: Struct) -> None:
        """Write down what was done."""
        detail = {"path": self.path}
        self.console.audit.record(self.principal.name, type(message).__name__, detail, self.session_id)

    def refused(self, error: ApiError) -> None:
        if error.status in (401, 403):
            detail = {"path": self.path, "code": error.problem.code}
            name = self.principal.name
            self.console.refusals.record(self.console.audit, name, "socket", detail, self.session_id)


@contextlib.asynccontextmanager
async def told_of(speaker: SocketSpeaker, feed: CompatFeed) -> AsyncGenerator[None, None]:
    """Nothing a client says ends the connection: what goes wrong is told it."""
    try:
        yield
    except ApiError as error:
        speaker.refused(error)
        feed.say(problem_of(error))
    except LogError as error:
        feed.say(problem_of(of_log(error)))


def problem_of(error: ApiError) -> Message:
    return {"type": "error", "message": error.problem.message, "code": error.problem.code}


def plain(message: Message) -> list[Message]:
    """For routes that pass on all but the mark."""
    return [] if message is SYNCHRONIZED else [message]


async def _hear(websocket: WebSocket, heard: Heard) -> None:
    while True:
        message = await websocket.receive()
        if message["type"] == "websocket.disconnect":
            return
        text, data = message.get("text"), message.get("bytes")
        await heard(text if text is not None else data or b"")
