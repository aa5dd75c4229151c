"""The WebSocket of one agent as the console of stream-json processes had it (S003-20, S003-21)."""

import msgspec
from msgspec import Struct
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket

from bobstay.model.message import Text
from bobstay.model.session_events import SessionConfig
from bobstay.server import session_commands
from bobstay.server.auth.principal import Principal
from bobstay.server.compat.compat_feed import HEARTBEAT, SYNCHRONIZED, CompatFeed, feed_of, follow_session
from bobstay.server.compat.compat_sockets import SocketSpeaker, admitted, decoded, needs, talk, told_of
from bobstay.server.compat.frame_entry import FrameEntry, Message
from bobstay.server.compat.stream_json_encoder import StreamJsonEncoder, exited
from bobstay.server.console import Console
from bobstay.server.errors import ApiError
from bobstay.server.session_commands import UserMessage
from bobstay.server.streams.subscription import Streams

PATH = "/ws/agent"
MOST_NAMES = 1_000
"""Names of pages' own that are remembered; the oldest is forgotten, its session is not."""


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
    """Translates for one agent. Calls and results come twice: as blocks, and flat, as that console read them."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._spoken: StreamJsonEncoder | None = None
        self.session_id = ""
        """Empty until there is a session."""

    def attach(self, session_id: str) -> None:
        self.session_id = session_id
        self._spoken = StreamJsonEncoder(session_id, self._console.registry)

    def messages(self, entry: FrameEntry) -> list[Message]:
        told: list[Message] = []
        spoken = self._spoken
        for said in spoken.messages(entry) if spoken is not None else ():
            told += ({"type": "claude_message", "data": data} for data in _both_ways(said))
        ended = exited(entry)
        if ended is not None and spoken is not None and spoken.live:
            if ended.error:
                told.append({"type": "error", "message": ended.error})
            session = engine_session(self._console, self.session_id)
            told.append({"type": "process_exit", "code": ended.code, "sessionId": session})
        if entry.type == "error":
            told.append({"type": "error", "message": entry.words.get("message", "")})
        return told

    def status(self) -> Message:
        """S003-20: what a page is told first."""
        if not self.session_id:
            return {"type": "status", "running": False, "sessionId": None}
        running = self._console.runner.worker(self.session_id) is not None
        return {"type": "status", "running": running, "sessionId": engine_session(self._console, self.session_id)}


def engine_session(console: Console, session_id: str) -> str:
    """The id by which the engine goes on with this talk: its own if it has one, else the session's."""
    view = console.registry.views.get(session_id)
    workers = view.workers if view is not None else ()
    return next((worker.engine_session for worker in reversed(workers) if worker.engine_session), session_id)


class AgentConnection:
    """One connection, and what it says."""

    def __init__(
        self, agents: "AgentNames", name: str, principal: Principal, agent: AgentTranslator, feed: CompatFeed
    ) -> None:
        self._agents = agents
        self._console = agents.console
        self._name = name
        self._principal = principal
        self._agent = agent
        self._feed = feed

    async def attach(self, session_id: str, after: str = "") -> None:
        self._agent.attach(session_id)
        self._feed.say(self._agent.status())
        await follow_session(self._agents.streams, self._feed, session_id, after)

    async def heard(self, said: str | bytes) -> None:
        async with told_of(self._speaker(), self._feed):
            needs(self._principal, "operate")
            message = decoded(said, _decoder)
            await self._take(message)
            self._speaker().noted(message)  # the session may have begun just now

    def _speaker(self) -> SocketSpeaker:
        return SocketSpeaker(self._console, self._principal, PATH, self._agent.session_id)

    async def _take(self, said: UserInput | StartProcess | KillProcess) -> None:
        console, id = self._console, self._agent.session_id
        match said:
            case StartProcess() if not id:
                await self._agents.begun(self._name, await self._begin(said), self)
            case StartProcess():
                # S003-12: one that runs is not started twice.
                await console.runner.wake(id)
                self._feed.say(self._agent.status())
            case UserInput() | KillProcess() if not id:
                raise ApiError("wrong_state", "The process is not running. Begin with start_process.")
            case UserInput(text=text):
                if not text.strip():
                    raise ApiError("invalid", "The message is empty.")
                await session_commands.message(console, id, UserMessage((Text(text),), self._principal.name))
            case KillProcess():
                if console.runner.worker(id) is None:
                    raise ApiError("wrong_state", "The process is not running.")
                await console.runner.rest(id, "stopped")

    async def _begin(self, said: StartProcess) -> str:
        """S003-21 D: like any other session, where sessions may work and nowhere else."""
        if said.session_id:
            view = self._console.registry.view(said.session_id)
            session_commands.check_bounds(self._console, view)
            id = view.id
        else:
            config = SessionConfig(model=said.model or "", append_system_prompt=said.system_prompt or "")
            words = UserMessage((), self._principal.name)
            id = (await session_commands.launch(self._console, said.working_dir or "", config, words)).id
        await self._console.runner.wake(id)
        return id


class AgentNames:
    """Which session an agent's name means: a session's id, or a name a page began one under."""

    def __init__(self, console: Console, streams: Streams) -> None:
        self.console = console
        self.streams = streams
        self._named: dict[str, str] = {}
        self._waiting: dict[str, set[AgentConnection]] = {}
        """Pages of names that mean no session yet."""

    def route(self) -> WebSocketRoute:
        return WebSocketRoute(PATH, self._serve, name="compat_agent")

    async def begun(self, name: str, session_id: str, page: AgentConnection) -> None:
        """From now on the name means this session, to all who came under it (S003-23)."""
        if name:
            self._named[name] = session_id
            while len(self._named) > MOST_NAMES:
                del self._named[next(iter(self._named))]
        for one in {page, *(self._waiting.pop(name, ()) if name else ())}:
            await one.attach(session_id)

    async def _serve(self, websocket: WebSocket) -> None:
        name = websocket.query_params.get("agentId", "")
        principal = await admitted(self.console, websocket, lambda: None)
        if principal is None:
            return
        agent = AgentTranslator(self.console)
        async with feed_of(self.streams, principal, agent) as feed:
            page = AgentConnection(self, name, principal, agent, feed)
            id = self._named.get(name, name)
            if id in self.console.registry.views:
                await page.attach(id, websocket.query_params.get("after", ""))
            else:
                feed.say(agent.status())
                self._waiting.setdefault(name, set()).add(page)
            try:
                await talk(websocket, feed, page.heard, _shown)
            finally:
                others = self._waiting.get(name, set())
                others.discard(page)
                if not others:
                    self._waiting.pop(name, None)


def _shown(message: Message) -> list[Message]:
    return [] if message in (SYNCHRONIZED, HEARTBEAT) else [message]


def _both_ways(said: Message) -> list[Message]:
    """A frame, and after it what that console expects on its own (S003-7)."""
    match said:
        case {"type": "assistant", "message": {"content": [{"type": "tool_use", **call}]}}:
            return [said, {"type": "tool_use", "tool": call["name"], "input": call["input"], "id": call["id"]}]
        case {"type": "user", "message": {"content": [{"type": "tool_result", **reply}]}}:
            flat = {"type": "tool_result", "tool_use_id": reply["tool_use_id"], "result": reply["content"]}
            return [said, {**flat, "is_error": reply["is_error"]}]
        case {"type": "stream_event", "event": {"type": "content_block_delta", "delta": dict(delta)}}:
            return [{**said, **_flat_delta(delta)}]
        case {"type": "system"}:
            return [{**said, "message": str(said.get("content") or said.get("subtype", ""))}]
        case _:
            return [said]


def _flat_delta(delta: Message) -> Message:
    if delta.get("type") == "text_delta":
        return {"event_type": "text_delta", "delta": delta["text"]}
    if delta.get("type") == "input_json_delta":
        return {"event_type": "tool_use_delta", "delta": delta["partial_json"]}
    return {}
