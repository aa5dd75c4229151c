"""The WebSocket of one terminal: bytes both ways, and a few words of JSON about them.

The server's first frame is `hello` with the epoch and the offset of the first byte that follows. A client that has been
here before says where it was (`?epoch=&offset=`) and goes on there; where that is not possible `reset` tells it to
clear its screen. A client that does not keep up is not waited for: it is reset to the newest screenful.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Struct
from starlette.requests import HTTPConnection
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from bobstay.server.api.dispatch import failure
from bobstay.server.auth.principal import Principal, Scope
from bobstay.server.errors import ApiError, Problem
from bobstay.server.streams.browser_socket import CODES
from bobstay.server.streams.hub import Hub, HubClient
from bobstay.server.workers.scrollback import Piece, ScrollbackFollower, ScrollbackReset, TerminalExited, TerminalOutput
from bobstay.server.workers.terminal_worker import TerminalWorker

PATH = "/api/v1/workers/{id}/pty"
LONGEST_INPUT = 256 * 1024
LONGEST_WORDS = 4_096
LONGEST_NUMBER = 15
STALLED = 30.0
"""Seconds after which a client that takes nothing at all is closed."""

Admit = Callable[[HTTPConnection, Scope | None], Awaitable[Principal]]
Find = Callable[[str], TerminalWorker]
"""The terminal of an id.

Raises:
    ApiError: there is none.
"""


class Resize(Struct, frozen=True, tag="resize"):
    cols: int
    rows: int


class Ack(Struct, frozen=True, tag="ack"):
    """What the client has shown so far. One that says so once is not sent more than 1 MiB beyond it from then on."""

    epoch: int
    offset: int


_decoder: "msgspec.json.Decoder[Resize | Ack]" = msgspec.json.Decoder(Resize | Ack)


def terminal_route(hub: Hub, find: Find, admit: Admit, path: str = PATH) -> WebSocketRoute:
    """The route of terminals. `admit` is asked for the scope `terminal`, before anything else is looked at.

    `Hub.revoke` closes the connection when what it came in with is revoked.
    """

    async def serve(websocket: WebSocket) -> None:
        try:
            principal = await admit(websocket, "terminal")
            terminal = find(websocket.path_params["id"])
            follower = terminal.follow(*place_of(websocket))
        except ApiError as error:
            await websocket.send_denial_response(failure(error))
            return
        client = HubClient(principal.name, principal=principal)
        await TerminalConnection(websocket, terminal, follower, client).attended(hub)

    return WebSocketRoute(path, serve, name="terminal")


class TerminalConnection:
    """One client of a terminal, in the words of this route. Another route may have words of its own."""

    def __init__(
        self, websocket: WebSocket, terminal: TerminalWorker, follower: ScrollbackFollower, client: HubClient
    ) -> None:
        self._websocket = websocket
        self._terminal = terminal
        self._follower = follower
        self._client = client
        self._sending = asyncio.Lock()

    async def attended(self, hub: Hub) -> None:
        """Let the client in, and serve it; `Hub.revoke` ends that."""
        hub.join(self._client)
        try:
            await self._websocket.accept()
            await self._serve()
        finally:
            self._follower.close()
            self._client.close("gone")
            hub.forget(self._client)

    async def _serve(self) -> None:
        """Until either side ends it. The terminal goes on (FM-15)."""
        tasks: set[asyncio.Task[Any]] = {
            asyncio.create_task(self._read()),
            asyncio.create_task(self._write()),
            asyncio.create_task(self._client.ended.wait()),
        }
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        why = self._client.closed
        if why:
            with suppress(WebSocketDisconnect, RuntimeError, TimeoutError, OSError):  # it may be gone already
                await asyncio.wait_for(self._websocket.close(CODES.get(why, 1011), why), 5.0)

    async def _write(self) -> None:
        await self.begin(self._follower.epoch, self._follower.position)
        while True:
            piece = await self._follower.take()
            await self.show(piece)
            if isinstance(piece, ScrollbackReset) and piece.reason == "behind":
                self._terminal.redraw()

    async def _read(self) -> None:
        while True:
            message = await self._websocket.receive()
            if message["type"] == "websocket.disconnect":
                return
            try:
                self.take(message.get("bytes"), message.get("text"))
            except ApiError as error:
                await self._complain(error.problem)

    # ------------------------------------------------------------ the words

    async def begin(self, epoch: int, offset: int) -> None:
        await self.tell({"type": "hello", "epoch": epoch, "offset": offset})

    async def show(self, piece: Piece) -> None:
        match piece:
            case TerminalOutput(data=data):
                await self._send({"type": "websocket.send", "bytes": data})
            case ScrollbackReset(epoch=epoch, offset=offset, reason=reason):
                await self.tell({"type": "reset", "epoch": epoch, "offset": offset, "reason": reason})
            case TerminalExited():
                await self.tell({"type": "exit", **msgspec.structs.asdict(piece)})

    def take(self, data: bytes | None, text: str | None) -> None:
        """Raises:
        ApiError: it is nothing that is taken here.
        """
        if data is not None:
            self.type_in(data)
            return
        match _decoded(text or ""):
            case Resize(cols=columns, rows=rows):
                self.resize(columns, rows)
            case Ack(epoch=epoch, offset=offset):
                self._follower.ack(epoch, offset)

    # ------------------------------------------------------------ for whoever has other words

    def type_in(self, data: bytes) -> None:
        if len(data) > LONGEST_INPUT:
            raise ApiError("too_large", f"At most {LONGEST_INPUT} bytes can be typed at once.")
        self._terminal.write(data)

    def resize(self, columns: int, rows: int) -> None:
        self._terminal.resize(columns, rows)

    async def _complain(self, problem: Problem) -> None:
        await self.tell({"type": "error", "code": problem.code, "message": problem.message})

    async def tell(self, words: dict[str, Any]) -> None:
        await self._send({"type": "websocket.send", "text": msgspec.json.encode(words).decode()})

    async def _send(self, message: dict[str, Any]) -> None:
        """One frame after the other; waits while the client takes none, but not for ever."""
        async with self._sending:
            try:
                await asyncio.wait_for(self._websocket.send(message), STALLED)
            except TimeoutError:
                self._client.close("slow_consumer")
                raise


def place_of(websocket: WebSocket) -> tuple[int | None, int]:
    """Where a client says it was.

    Raises:
        ApiError: these are no numbers.
    """
    epoch, offset = (websocket.query_params.get(name, "") for name in ("epoch", "offset"))
    if not epoch and not offset:
        return None, 0
    for number in (epoch, offset):
        if not (number.isascii() and number.isdigit() and len(number) <= LONGEST_NUMBER):
            raise ApiError("invalid", "`epoch` and `offset` are whole numbers, as the last connection told them.")
    return int(epoch), int(offset)


def _decoded(text: str) -> Resize | Ack:
    if len(text) > LONGEST_WORDS:
        raise ApiError("too_large", f"A message may have at most {LONGEST_WORDS} characters.")
    try:
        return _decoder.decode(text)
    except msgspec.ValidationError as error:
        raise ApiError("invalid", f"This is no message of a terminal: {error}") from None
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        raise ApiError("invalid_json", "Invalid JSON") from None
