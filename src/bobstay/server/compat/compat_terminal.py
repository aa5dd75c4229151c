"""A terminal on the socket of a worker, in the SDK's console's words (S004-30): `output`, `input`, `resize` in JSON."""

import codecs

import msgspec
from msgspec import Struct
from starlette.websockets import WebSocket

from bobstay.server.auth.principal import Principal
from bobstay.server.compat.compat_rest import refusal
from bobstay.server.compat.compat_sockets import decoded, needs
from bobstay.server.console import Console
from bobstay.server.errors import ApiError
from bobstay.server.socket_admission import admit_to_socket
from bobstay.server.streams.hub import HubClient
from bobstay.server.streams.terminal_socket import TerminalConnection, place_of
from bobstay.server.workers.scrollback import Piece, ScrollbackFollower, ScrollbackReset, TerminalExited, TerminalOutput
from bobstay.server.workers.terminal_worker import TerminalWorker


class TerminalInput(Struct, frozen=True, tag="input"):
    """What was typed."""

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


async def serve_terminal(console: Console, websocket: WebSocket, worker_id: str) -> None:
    """Connect a client with a terminal, from where it says it was (`?epoch=&offset=`)."""
    try:
        principal = await admit_to_socket(console, websocket, "terminal")
        terminal = console.crew.terminal(worker_id)
        follower = terminal.follow(*place_of(websocket))
    except ApiError as error:
        await websocket.send_denial_response(refusal(error))
        return
    client = HubClient(principal.name, principal=principal)
    await _Talk(websocket, terminal, follower, client, principal).attended(console.hub)


class _Talk(TerminalConnection):
    """Text instead of bytes: what is no UTF-8 is shown as such, and a character is never cut in two."""

    def __init__(
        self,
        websocket: WebSocket,
        terminal: TerminalWorker,
        follower: ScrollbackFollower,
        client: HubClient,
        principal: Principal,
    ) -> None:
        super().__init__(websocket, terminal, follower, client)
        self._principal = principal
        self._epoch = follower.epoch
        self._text = codecs.getincrementaldecoder("utf-8")("replace")

    async def begin(self, epoch: int, offset: int) -> None:
        """Nothing: each `output` says where it is."""

    async def show(self, piece: Piece) -> None:
        match piece:
            case TerminalOutput(offset=offset, data=data):
                text = self._text.decode(data)
                behind = offset + len(data) - len(self._text.getstate()[0])
                if text:
                    await self.tell({"type": "output", "data": text, "epoch": self._epoch, "offset": behind})
            case ScrollbackReset(epoch=epoch, offset=offset, reason=reason):
                self._epoch = epoch
                self._text.reset()
                await self.tell({"type": "reset", "reason": reason, "epoch": epoch, "offset": offset})
            case TerminalExited(code=code, signal=signal):
                await self.tell({"type": "exit", "exitCode": code or 0, "signal": signal or None})

    def take(self, data: bytes | None, text: str | None) -> None:
        needs(self._principal, "terminal")
        match decoded(text if text is not None else data or b"", _decoder):
            case TerminalInput(data=typed):
                self.type_in(typed.encode("utf-8", "replace"))
            case TerminalResize(cols=columns, rows=rows):
                self.resize(columns, rows)
            case TerminalUserMessage() | TerminalCancel():
                raise ApiError("not_supported", "A terminal is typed into: send `input`; Ctrl-C is `\\u0003`.")
