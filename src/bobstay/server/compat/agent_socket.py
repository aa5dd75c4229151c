"""Compatibility WebSocket of one agent, in the protocol of the console for stream-json processes."""

import msgspec
from msgspec import Struct
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket

from bobstay.model.message import Text
from bobstay.model.session_events import SessionConfig
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
from bobstay.server.compat.frame_entry import FrameEntry, Message
from bobstay.server.compat.stream_json_encoder import StreamJsonEncoder, agent_exit
from bobstay.server.errors import ApiError
from bobstay.server.session_creation import UserMessage
from bobstay.server.streams.subscription import Streams

PATH = "/ws/agent"
MOST_NAMES = 1_000
"""Client-chosen agent names that are remembered; the oldest name is dropped, its session stays."""


class UserInput(Struct, frozen=True, tag="user_input"):
    text: str


class StartProcess(Struct, frozen=True, tag="start_process", rename="camel"):
    session_id: str | None = None
    working_dir: str | None = None
    system_prompt: str | None = None
    model: str | None = None


class KillProcess(Struct, frozen=True, tag="kill_process"):
    pass


_decoder: "msgspec.json.Decoder[UserInput | StartProcess | KillProcess]" = msgspec.json.Decoder(
    UserInput | StartProcess | KillProcess
)


class AgentTranslator:
    """Translates the frames of one agent. Tool calls and results are sent as blocks and in that console's flat form."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._encoder: StreamJsonEncoder | None = None
        self.session_id = ""
        """Empty until there is a session."""

    def attach(self, session_id: str) -> None:
        self.session_id = session_id
        self._encoder = StreamJsonEncoder(session_id, self._services.registry)

    def messages(self, entry: FrameEntry) -> list[Message]:
        messages: list[Message] = []
        encoder = self._encoder
        for frame in encoder.messages(entry) if encoder is not None else ():
            messages += ({"type": "claude_message", "data": data} for data in _with_flat_form(frame))
        ended = agent_exit(entry)
        if ended is not None and encoder is not None and encoder.live:
            if ended.error:
                messages.append({"type": "error", "message": ended.error})
            session = engine_session(self._services, self.session_id)
            messages.append({"type": "process_exit", "code": ended.code, "sessionId": session})
        if entry.type == "error":
            messages.append({"type": "error", "message": entry.payload.get("message", "")})
        return messages

    def status(self) -> Message:
        """The first message to a client."""
        if not self.session_id:
            return {"type": "status", "running": False, "sessionId": None}
        running = self._services.runner.worker(self.session_id) is not None
        return {"type": "status", "running": running, "sessionId": engine_session(self._services, self.session_id)}


def engine_session(services: Services, session_id: str) -> str:
    """The id with which the engine resumes this conversation: its own if it has one, else the session's."""
    view = services.registry.views.get(session_id)
    workers = view.workers if view is not None else ()
    return next((worker.engine_session for worker in reversed(workers) if worker.engine_session), session_id)


class AgentConnection:
    """One connection: executes the client's messages."""

    def __init__(
        self, agents: "AgentNames", name: str, principal: Principal, agent: AgentTranslator, feed: CompatFeed
    ) -> None:
        self._agents = agents
        self._services = agents.services
        self._name = name
        self._principal = principal
        self._agent = agent
        self._feed = feed

    async def attach(self, session_id: str, after: str = "") -> None:
        self._agent.attach(session_id)
        self._feed.send(self._agent.status())
        await subscribe_session(self._agents.streams, self._feed, session_id, after)

    async def receive(self, frame: str | bytes) -> None:
        async with report_errors(self._audit(), self._feed):
            require_scope(self._principal, "operate")
            message = decode_message(frame, _decoder)
            await self._execute(message)
            self._audit().record_action(message)  # a new one: the session may just have been created

    def _audit(self) -> SocketAudit:
        return SocketAudit(self._services, self._principal, PATH, self._agent.session_id)

    async def _execute(self, frame: UserInput | StartProcess | KillProcess) -> None:
        services, id = self._services, self._agent.session_id
        match frame:
            case StartProcess() if not id:
                await self._agents.bind_name(self._name, await self._start_session(frame), self)
            case StartProcess():
                # A running agent is not started again.
                await services.runner.wake(id)
                self._feed.send(self._agent.status())
            case UserInput() | KillProcess() if not id:
                raise ApiError("wrong_state", "The process is not running. Send start_process first.")
            case UserInput(text=text):
                if not text.strip():
                    raise ApiError("invalid", "The message is empty.")
                await services.commands.send_message(id, UserMessage((Text(text),), self._principal.name))
            case KillProcess():
                if services.runner.worker(id) is None:
                    raise ApiError("wrong_state", "The process is not running.")
                await services.runner.stop_agent(id, "stopped")

    async def _start_session(self, frame: StartProcess) -> str:
        """Open or create a session, under the same directory rules as any other."""
        if frame.session_id:
            view = self._services.registry.view(frame.session_id)
            self._services.roots.check(view.cwd)
            id = view.id
        else:
            config = SessionConfig(model=frame.model or "", append_system_prompt=frame.system_prompt or "")
            message = UserMessage((), self._principal.name)
            id = (await self._services.creation.launch(frame.working_dir or "", config, message)).id
        await self._services.runner.wake(id)
        return id


class AgentNames:
    """Maps agent names to sessions: a session's id, or a name under which a client started one."""

    def __init__(self, services: Services, streams: Streams) -> None:
        self.services = services
        self.streams = streams
        self._sessions_by_name: dict[str, str] = {}
        self._waiting: dict[str, set[AgentConnection]] = {}
        """Connections by names that have no session yet."""

    def route(self) -> WebSocketRoute:
        return WebSocketRoute(PATH, self._serve, name="compat_agent")

    async def bind_name(self, name: str, session_id: str, page: AgentConnection) -> None:
        """Bind a name to a session and attach all connections that wait for it."""
        if name:
            self._sessions_by_name[name] = session_id
            while len(self._sessions_by_name) > MOST_NAMES:
                del self._sessions_by_name[next(iter(self._sessions_by_name))]
        for one in {page, *(self._waiting.pop(name, ()) if name else ())}:
            await one.attach(session_id)

    async def _serve(self, websocket: WebSocket) -> None:
        name = websocket.query_params.get("agentId", "")
        principal = await accept_socket(self.services, websocket, lambda: None)
        if principal is None:
            return
        agent = AgentTranslator(self.services)
        async with open_feed(self.streams, principal, agent) as feed:
            page = AgentConnection(self, name, principal, agent, feed)
            id = self._sessions_by_name.get(name, name)
            if id in self.services.registry.views:
                await page.attach(id, websocket.query_params.get("after", ""))
            else:
                feed.send(agent.status())
                self._waiting.setdefault(name, set()).add(page)
            try:
                await run_socket(websocket, feed, page.receive, _visible)
            finally:
                others = self._waiting.get(name, set())
                others.discard(page)
                if not others:
                    self._waiting.pop(name, None)


def _visible(message: Message) -> list[Message]:
    return [] if message in (SYNCHRONIZED, HEARTBEAT) else [message]


def _with_flat_form(frame: Message) -> list[Message]:
    """A frame with the flat form that the console expects for it."""
    match frame:
        case {"type": "assistant", "message": {"content": [{"type": "tool_use", **call}]}}:
            return [frame, {"type": "tool_use", "tool": call["name"], "input": call["input"], "id": call["id"]}]
        case {"type": "user", "message": {"content": [{"type": "tool_result", **reply}]}}:
            flat = {"type": "tool_result", "tool_use_id": reply["tool_use_id"], "result": reply["content"]}
            return [frame, {**flat, "is_error": reply["is_error"]}]
        case {"type": "stream_event", "event": {"type": "content_block_delta", "delta": dict(delta)}}:
            return [{**frame, **_flat_delta(delta)}]
        case {"type": "system"}:
            return [{**frame, "message": str(frame.get("content") or frame.get("subtype", ""))}]
        case _:
            return [frame]


def _flat_delta(delta: Message) -> Message:
    if delta.get("type") == "text_delta":
        return {"event_type": "text_delta", "delta": delta["text"]}
    if delta.get("type") == "input_json_delta":
        return {"event_type": "tool_use_delta", "delta": delta["partial_json"]}
    return {}
