"""WebSocket of one terminal: binary frames for input and output, JSON for control messages.

The server's first frame is `hello` with the epoch and the offset of the first byte that follows. A client that
reconnects sends its position (`?epoch=&offset=`) and continues there; if that is not possible, `reset` tells it to
clear its screen. A client that does not keep up is reset to the latest screenful.
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

from bobstay.server.api.browser_socket import CODES
from bobstay.server.api.dispatch import error_response
from bobstay.server.auth.principal import Principal, Scope
from bobstay.server.errors import ApiError, Problem
from bobstay.server.streams.hub import Hub, HubClient
from bobstay.server.workers.scrollback import (
    Piece,
    ScrollbackReset,
    ScrollbackSubscriber,
    TerminalExited,
    TerminalOutput,
)
from bobstay.server.workers.terminal_worker import TerminalWorker

PATH = "/api/v1/workers/{id}/pty"
LONGEST_INPUT = 256 * 1024
LONGEST_MESSAGE = 4_096
LONGEST_NUMBER = 15
STALL_TIMEOUT = 30.0
"""Seconds after which a client that reads nothing is closed."""

Admit = Callable[[HTTPConnection, Scope | None], Awaitable[Principal]]
Find = Callable[[str], TerminalWorker]
"""Find the terminal with an id.

Raises:
    ApiError: there is none.
"""


class Resize(Struct, frozen=True, tag="resize"):
    cols: int
    rows: int


class Ack(Struct, frozen=True, tag="ack"):
    """The position up to which the client has shown output. After the first one, it is sent at most 1 MiB beyond it."""

    epoch: int
    offset: int


_decoder: "msgspec.json.Decoder[Resize | Ack]" = msgspec.json.Decoder(Resize | Ack)


def terminal_route(hub: Hub, find: Find, admit: Admit, path: str = PATH) -> WebSocketRoute:
    """The route of terminals. `admit` checks the scope `terminal` before anything else.

    `Hub.revoke` closes the connection when its credential is revoked.
    """

    async def serve(websocket: WebSocket) -> None:
        try:
            principal = await admit(websocket, "terminal")
            terminal = find(websocket.path_params["id"])
            follower = terminal.subscribe(*requested_position(websocket))
        except ApiError as error:
            await websocket.send_denial_response(error_response(error))
            return
        client = HubClient(principal.name, principal=principal)
        await TerminalConnection(websocket, terminal, follower, client).serve(hub)

    return WebSocketRoute(path, serve, name="terminal")


class TerminalConnection:
    """One client of a terminal. Subclasses may use another message format."""

    def __init__(
        self, websocket: WebSocket, terminal: TerminalWorker, follower: ScrollbackSubscriber, client: HubClient
    ) -> None:
        self._websocket = websocket
        self._terminal = terminal
        self._follower = follower
        self._client = client
        self._sending = asyncio.Lock()

    async def serve(self, hub: Hub) -> None:
        """Accept and serve the client; `Hub.revoke` ends it."""
        hub.add_client(self._client)
        try:
            await self._websocket.accept()
            await self._serve()
        finally:
            self._follower.close()
            self._client.close("gone")
            hub.remove_client(self._client)

    async def _serve(self) -> None:
        """Read and write until either side ends the connection. The terminal keeps running."""
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
        await self.send_hello(self._follower.epoch, self._follower.position)
        while True:
            piece = await self._follower.next_piece()
            await self.send_piece(piece)
            if isinstance(piece, ScrollbackReset) and piece.reason == "behind":
                self._terminal.redraw()

    async def _read(self) -> None:
        while True:
            message = await self._websocket.receive()
            if message["type"] == "websocket.disconnect":
                return
            try:
                self.receive(message.get("bytes"), message.get("text"))
            except ApiError as error:
                await self._send_error(error.problem)

    # ------------------------------------------------------------ message format

    async def send_hello(self, epoch: int, offset: int) -> None:
        await self.send_json({"type": "hello", "epoch": epoch, "offset": offset})

    async def send_piece(self, piece: Piece) -> None:
        match piece:
            case TerminalOutput(data=data):
                await self._send({"type": "websocket.send", "bytes": data})
            case ScrollbackReset(epoch=epoch, offset=offset, reason=reason):
                await self.send_json({"type": "reset", "epoch": epoch, "offset": offset, "reason": reason})
            case TerminalExited():
                await self.send_json({"type": "exit", **msgspec.structs.asdict(piece)})

    def receive(self, data: bytes | None, text: str | None) -> None:
        """Raises:
        ApiError: the message is invalid.
        """
        if data is not None:
            self.write_input(data)
            return
        match _decode(text or ""):
            case Resize(cols=columns, rows=rows):
                self.resize(columns, rows)
            case Ack(epoch=epoch, offset=offset):
                self._follower.ack(epoch, offset)

    # ------------------------------------------------------------ for subclasses

    def write_input(self, data: bytes) -> None:
        if len(data) > LONGEST_INPUT:
            raise ApiError("too_large", f"At most {LONGEST_INPUT} bytes of input are allowed at once.")
        self._terminal.write(data)

    def resize(self, columns: int, rows: int) -> None:
        self._terminal.resize(columns, rows)

    async def _send_error(self, problem: Problem) -> None:
        await self.send_json({"type": "error", "code": problem.code, "message": problem.message})

    async def send_json(self, data: dict[str, Any]) -> None:
        await self._send({"type": "websocket.send", "text": msgspec.json.encode(data).decode()})

    async def _send(self, message: dict[str, Any]) -> None:
        """Send one frame at a time; closes a client that does not read in time."""
        async with self._sending:
            try:
                await asyncio.wait_for(self._websocket.send(message), STALL_TIMEOUT)
            except TimeoutError:
                self._client.close("slow_consumer")
                raise


def requested_position(websocket: WebSocket) -> tuple[int | None, int]:
    """The epoch and offset in the query of a client that reconnects.

    Raises:
        ApiError: they are not numbers.
    """
    epoch, offset = (websocket.query_params.get(name, "") for name in ("epoch", "offset"))
    if not epoch and not offset:
        return None, 0
    for number in (epoch, offset):
        if not (number.isascii() and number.isdigit() and len(number) <= LONGEST_NUMBER):
            raise ApiError("invalid", "`epoch` and `offset` must be integers, from the last connection.")
    return int(epoch), int(offset)


def _decode(text: str) -> Resize | Ack:
    if len(text) > LONGEST_MESSAGE:
        raise ApiError("too_large", f"A message may have at most {LONGEST_MESSAGE} characters.")
    try:
        return _decoder.decode(text)
    except msgspec.ValidationError as error:
        raise ApiError("invalid", f"Invalid message: {error}") from None
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        raise ApiError("invalid_json", "Invalid JSON") from None
