"""Compatibility protocol of a terminal on a worker's socket: `output`, `input` and `resize` as JSON."""

import codecs

import msgspec
from msgspec import Struct
from starlette.websockets import WebSocket

from bobstay.server.api.services import Services
from bobstay.server.api.socket_admission import admit_to_socket
from bobstay.server.api.terminal_socket import TerminalConnection, requested_position
from bobstay.server.auth.principal import Principal
from bobstay.server.compat.compat_rest import compat_error
from bobstay.server.compat.compat_sockets import decode_message, require_scope
from bobstay.server.errors import ApiError
from bobstay.server.streams.hub import HubClient
from bobstay.server.workers.scrollback import (
    Piece,
    ScrollbackReset,
    ScrollbackSubscriber,
    TerminalExited,
    TerminalOutput,
)
from bobstay.server.workers.terminal_worker import TerminalWorker


class TerminalInput(Struct, frozen=True, tag="input"):
    """Typed input."""

    data: str


class TerminalResize(Struct, frozen=True, tag="resize"):
    cols: int
    rows: int


class TerminalUserMessage(Struct, frozen=True, tag="user-message"):
    pass


class TerminalCancel(Struct, frozen=True, tag="cancel"):
    pass


_decoder: "msgspec.json.Decoder[TerminalInput | TerminalResize | TerminalUserMessage | TerminalCancel]" = (
    msgspec.json.Decoder(TerminalInput | TerminalResize | TerminalUserMessage | TerminalCancel)
)


async def serve_terminal(services: Services, websocket: WebSocket, worker_id: str) -> None:
    """Connect a client to a terminal, from its last position (`?epoch=&offset=`)."""
    try:
        principal = await admit_to_socket(services, websocket, "terminal")
        terminal = services.auxiliary_workers.terminal(worker_id)
        follower = terminal.subscribe(*requested_position(websocket))
    except ApiError as error:
        await websocket.send_denial_response(compat_error(error))
        return
    client = HubClient(principal.name, principal=principal)
    await _CompatTerminal(websocket, terminal, follower, client, principal).serve(services.streams.hub)


class _CompatTerminal(TerminalConnection):
    """Sends text instead of bytes: invalid UTF-8 is replaced, and no character is split."""

    def __init__(
        self,
        websocket: WebSocket,
        terminal: TerminalWorker,
        follower: ScrollbackSubscriber,
        client: HubClient,
        principal: Principal,
    ) -> None:
        super().__init__(websocket, terminal, follower, client)
        self._principal = principal
        self._epoch = follower.epoch
        self._text = codecs.getincrementaldecoder("utf-8")("replace")

    async def send_hello(self, epoch: int, offset: int) -> None:
        """Send nothing: each `output` contains its position."""

    async def send_piece(self, piece: Piece) -> None:
        match piece:
            case TerminalOutput(offset=offset, data=data):
                text = self._text.decode(data)
                behind = offset + len(data) - len(self._text.getstate()[0])
                if text:
                    await self.send_json({"type": "output", "data": text, "epoch": self._epoch, "offset": behind})
            case ScrollbackReset(epoch=epoch, offset=offset, reason=reason):
                self._epoch = epoch
                self._text.reset()
                await self.send_json({"type": "reset", "reason": reason, "epoch": epoch, "offset": offset})
            case TerminalExited(code=code, signal=signal):
                await self.send_json({"type": "exit", "exitCode": code or 0, "signal": signal or None})

    def receive(self, data: bytes | None, text: str | None) -> None:
        require_scope(self._principal, "terminal")
        match decode_message(text if text is not None else data or b"", _decoder):
            case TerminalInput(data=typed):
                self.write_input(typed.encode("utf-8", "replace"))
            case TerminalResize(cols=columns, rows=rows):
                self.resize(columns, rows)
            case TerminalUserMessage() | TerminalCancel():
                raise ApiError("not_supported", "A terminal accepts `input` only; Ctrl-C is `\\u0003`.")
