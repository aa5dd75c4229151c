"""The WebSocket of one worker as the SDK's console had it (S004-13, S004-14, S004-30), for agents and terminals."""

from typing import TypeAlias

import msgspec
from msgspec import Struct
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket

from bobstay.model.message import Text
from bobstay.server import session_commands
from bobstay.server.auth.principal import Principal
from bobstay.server.compat.compat_feed import HEARTBEAT, SYNCHRONIZED, CompatFeed, feed_of, follow_session
from bobstay.server.compat.compat_sockets import SocketSpeaker, admitted, decoded, needs, talk, told_of
from bobstay.server.compat.compat_terminal import serve_terminal
from bobstay.server.compat.frame_entry import FrameEntry, Message
from bobstay.server.compat.stream_json_encoder import StreamJsonEncoder, exited
from bobstay.server.console import Console
from bobstay.server.errors import ApiError
from bobstay.server.session_commands import UserMessage
from bobstay.server.streams.subscription import Streams

PATH = "/ws/session/{sid}/worker/{wid}"
ANY_AGENT = "agent"
"""Names the agent of a session before it was ever started."""


class WorkerUserMessage(Struct, frozen=True, tag="user-message"):
    content: str
    id: str = ""
    """The client's own id of it: sent twice, it is heard once."""


class WorkerCancel(Struct, frozen=True, tag="cancel"):
    pass


class WorkerInput(Struct, frozen=True, tag="input"):
    pass


class WorkerResize(Struct, frozen=True, tag="resize"):
    pass


class WorkerImage(Struct, frozen=True, tag="image"):
    pass


_Said: TypeAlias = WorkerUserMessage | WorkerCancel | WorkerInput | WorkerResize | WorkerImage
_decoder: "msgspec.json.Decoder[_Said]" = msgspec.json.Decoder(_Said)


class WorkerTranslator:
    """Translates for one agent: its messages, and what it is doing."""

    def __init__(self, session_id: str, worker_id: str, console: Console) -> None:
        self._spoken = StreamJsonEncoder(session_id, console.registry)
        self._worker_id = worker_id
        self._told = ""

    def messages(self, entry: FrameEntry) -> list[Message]:
        told: list[Message] = [{"type": "sdk-message", "message": said} for said in self._spoken.messages(entry)]
        if not self._spoken.live:
            return told
        ended = exited(entry)
        if self._spoken.activity != self._told:
            self._told = self._spoken.activity
            change: Message = {"type": "activity", "state": self._told}
            # Active before the first word of a turn, idle after its last.
            told = [change, *told] if self._told == "active" else [*told, change]
        if ended is not None and self._worker_id in (ended.worker, ANY_AGENT):
            if ended.error:
                told.append({"type": "error", "message": ended.error, "code": "worker_exited"})
            told.append({"type": "exit", "exitCode": ended.code or 0, "signal": ended.signal or None})
        if entry.type == "error":
            words = entry.words
            told.append({"type": "error", "message": words.get("message", ""), "code": words.get("code", "internal")})
        return told


class _Listening:
    """What a client says to an agent."""

    def __init__(self, console: Console, principal: Principal, session_id: str, feed: CompatFeed) -> None:
        self._console = console
        self._principal = principal
        self._session_id = session_id
        self._feed = feed

    async def heard(self, said: str | bytes) -> None:
        speaker = SocketSpeaker(self._console, self._principal, PATH, self._session_id)
        async with told_of(speaker, self._feed):
            message = decoded(said, _decoder)
            await self._take(message)
            speaker.noted(message)

    async def _take(self, said: _Said) -> None:
        match said:
            case WorkerUserMessage(content=content, id=id):
                needs(self._principal, "operate")
                if not content.strip():
                    raise ApiError("invalid", "The message is empty.")
                words = UserMessage((Text(content),), self._principal.name, id)
                await session_commands.message(self._console, self._session_id, words)
            case WorkerCancel():
                needs(self._principal, "operate")
                await session_commands.interrupt(self._console, self._session_id, by=self._principal.name)
            case WorkerInput() | WorkerResize():
                raise ApiError("not_supported", "An agent has no keyboard and no screen: send `user-message`.")
            case WorkerImage():
                text = "This socket takes no pictures: send them with POST /api/v1/sessions/{id}/messages."
                raise ApiError("not_supported", text)


def worker_route(console: Console, streams: Streams) -> WebSocketRoute:
    async def serve(websocket: WebSocket) -> None:
        session_id, worker_id = websocket.path_params["sid"], websocket.path_params["wid"]
        if _kind(console, session_id, worker_id) == "terminal":
            await serve_terminal(console, websocket, worker_id)
            return
        principal = await admitted(console, websocket, lambda: _check(console, session_id, worker_id))
        if principal is None:
            return
        translator = WorkerTranslator(session_id, worker_id, console)
        after = websocket.query_params.get("after", "")
        async with feed_of(streams, principal, translator) as feed:
            await follow_session(streams, feed, session_id, after)
            await talk(websocket, feed, _Listening(console, principal, session_id, feed).heard, _shown)

    return WebSocketRoute(PATH, serve, name="compat_worker")


def _shown(message: Message) -> list[Message]:
    return [] if message in (SYNCHRONIZED, HEARTBEAT) else [message]


def _kind(console: Console, session_id: str, worker_id: str) -> str:
    view = console.registry.views.get(session_id)
    workers = view.workers if view is not None else ()
    return next((worker.kind for worker in workers if worker.id == worker_id), "")


def _check(console: Console, session_id: str, worker_id: str) -> None:
    console.registry.view(session_id)
    kind = _kind(console, session_id, worker_id)
    if not kind and worker_id != ANY_AGENT:
        raise ApiError("not_found", f"There is no such worker in this session. Its agent can be named `{ANY_AGENT}`.")
    if kind == "git_diff":
        raise ApiError("not_supported", "Changes of a work tree are told on the session's stream, as `diff.changed`.")
