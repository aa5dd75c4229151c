"""Compatibility WebSocket of one worker, agent or terminal, in the protocol of the SDK's console."""

from typing import TypeAlias

import msgspec
from msgspec import Struct
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket

from bobstay.model.message import Text
from bobstay.server.api.services import Services
from bobstay.server.auth.principal import Principal
from bobstay.server.compat.compat_feed import HEARTBEAT, SYNCHRONIZED, CompatFeed, open_feed, subscribe_session
from bobstay.server.compat.compat_sockets import (
    SocketAudit,
    accept_socket,
    decode_message,
    report_errors,
    require_scope,
    run_socket,
)
from bobstay.server.compat.compat_terminal import serve_terminal
from bobstay.server.compat.frame_entry import FrameEntry, Message
from bobstay.server.compat.stream_json_encoder import StreamJsonEncoder, agent_exit
from bobstay.server.errors import ApiError
from bobstay.server.session_creation import UserMessage
from bobstay.server.streams.subscription import Streams

PATH = "/ws/session/{sid}/worker/{wid}"
ANY_AGENT = "agent"
"""Names the agent of a session, even if it was never started."""


class WorkerUserMessage(Struct, frozen=True, tag="user-message"):
    content: str
    id: str = ""
    """Chosen by the client: a message repeated with the same id is delivered once."""


class WorkerCancel(Struct, frozen=True, tag="cancel"):
    pass


class WorkerInput(Struct, frozen=True, tag="input"):
    pass


class WorkerResize(Struct, frozen=True, tag="resize"):
    pass


class WorkerImage(Struct, frozen=True, tag="image"):
    pass


_ClientFrame: TypeAlias = WorkerUserMessage | WorkerCancel | WorkerInput | WorkerResize | WorkerImage
_decoder: "msgspec.json.Decoder[_ClientFrame]" = msgspec.json.Decoder(_ClientFrame)


class WorkerTranslator:
    """Translates the frames of one agent: its messages and its activity."""

    def __init__(self, session_id: str, worker_id: str, services: Services) -> None:
        self._encoder = StreamJsonEncoder(session_id, services.registry)
        self._worker_id = worker_id
        self._activity = ""

    def messages(self, entry: FrameEntry) -> list[Message]:
        messages: list[Message] = [{"type": "sdk-message", "message": frame} for frame in self._encoder.messages(entry)]
        if not self._encoder.live:
            return messages
        ended = agent_exit(entry)
        if self._encoder.activity != self._activity:
            self._activity = self._encoder.activity
            change: Message = {"type": "activity", "state": self._activity}
            # `active` precedes the first message of a turn, `idle` follows the last.
            messages = [change, *messages] if self._activity == "active" else [*messages, change]
        if ended is not None and self._worker_id in (ended.worker, ANY_AGENT):
            if ended.error:
                messages.append({"type": "error", "message": ended.error, "code": "worker_exited"})
            messages.append({"type": "exit", "exitCode": ended.code or 0, "signal": ended.signal or None})
        if entry.type == "error":
            payload = entry.payload
            messages.append(
                {"type": "error", "message": payload.get("message", ""), "code": payload.get("code", "internal")}
            )
        return messages


class _AgentReceiver:
    """Executes a client's messages to an agent."""

    def __init__(self, services: Services, principal: Principal, session_id: str, feed: CompatFeed) -> None:
        self._services = services
        self._principal = principal
        self._session_id = session_id
        self._feed = feed

    async def receive(self, frame: str | bytes) -> None:
        audit = SocketAudit(self._services, self._principal, PATH, self._session_id)
        async with report_errors(audit, self._feed):
            message = decode_message(frame, _decoder)
            await self._execute(message)
            audit.record_action(message)

    async def _execute(self, frame: _ClientFrame) -> None:
        match frame:
            case WorkerUserMessage(content=content, id=id):
                require_scope(self._principal, "operate")
                if not content.strip():
                    raise ApiError("invalid", "The message is empty.")
                message = UserMessage((Text(content),), self._principal.name, id)
                await self._services.commands.send_message(self._session_id, message)
            case WorkerCancel():
                require_scope(self._principal, "operate")
                await self._services.commands.interrupt(self._session_id, by=self._principal.name)
            case WorkerInput() | WorkerResize():
                raise ApiError("not_supported", "This worker is an agent, not a terminal: send `user-message`.")
            case WorkerImage():
                text = "This socket accepts no images: send them with POST /api/v1/sessions/{id}/messages."
                raise ApiError("not_supported", text)


def worker_route(services: Services, streams: Streams) -> WebSocketRoute:
    async def serve(websocket: WebSocket) -> None:
        session_id, worker_id = websocket.path_params["sid"], websocket.path_params["wid"]
        if _kind(services, session_id, worker_id) == "terminal":
            await serve_terminal(services, websocket, worker_id)
            return
        principal = await accept_socket(services, websocket, lambda: _check(services, session_id, worker_id))
        if principal is None:
            return
        translator = WorkerTranslator(session_id, worker_id, services)
        after = websocket.query_params.get("after", "")
        async with open_feed(streams, principal, translator) as feed:
            await subscribe_session(streams, feed, session_id, after)
            await run_socket(websocket, feed, _AgentReceiver(services, principal, session_id, feed).receive, _visible)

    return WebSocketRoute(PATH, serve, name="compat_worker")


def _visible(message: Message) -> list[Message]:
    return [] if message in (SYNCHRONIZED, HEARTBEAT) else [message]


def _kind(services: Services, session_id: str, worker_id: str) -> str:
    view = services.registry.views.get(session_id)
    workers = view.workers if view is not None else ()
    return next((worker.kind for worker in workers if worker.id == worker_id), "")


def _check(services: Services, session_id: str, worker_id: str) -> None:
    services.registry.view(session_id)
    kind = _kind(services, session_id, worker_id)
    if not kind and worker_id != ANY_AGENT:
        raise ApiError("not_found", f"There is no such worker in this session. Its agent can be named `{ANY_AGENT}`.")
    if kind == "git_diff":
        raise ApiError("not_supported", "Changes of a worktree are on the session's stream, as `diff.changed`.")
