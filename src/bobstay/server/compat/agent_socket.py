"""The WebSocket of one agent as the console of stream-json processes had it (S003-20, S003-21)."""

import msgspec
from msgspec import Struct
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket

from bobstay.model.around import SessionConfig
from bobstay.model.message import Text
from bobstay.server import commands
from bobstay.server.commands import Words
from bobstay.server.compat.entry import Entry, Message
from bobstay.server.compat.feed import HEARTBEAT, SYNCHRONIZED, Feed, session_feed
from bobstay.server.compat.sockets import admitted, decoded, needs, problem_of, talk, told_of
from bobstay.server.compat.spoken import Spoken, exited
from bobstay.server.console import Console
from bobstay.server.doors.principal import Principal
from bobstay.server.errors import ApiError
from bobstay.server.stream.follow import Streams

PATH = "/ws/agent"


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


class Agent:
    """Translates for one agent. Calls and results come twice: as blocks, and flat, as that console read them."""

    def __init__(self, session_id: str, console: Console) -> None:
        self._id = session_id
        self._console = console
        self._spoken = Spoken(session_id, console.registry)

    def messages(self, entry: Entry) -> list[Message]:
        told: list[Message] = []
        for said in self._spoken.messages(entry):
            told += ({"type": "claude_message", "data": data} for data in _both_ways(said))
        ended = exited(entry)
        if ended is not None and self._spoken.live:
            if ended.error:
                told.append({"type": "error", "message": ended.error})
            session = engine_session(self._console, self._id)
            told.append({"type": "process_exit", "code": ended.code, "sessionId": session})
        if entry.type == "error":
            told.append({"type": "error", "message": entry.words.get("message", "")})
        return told


class _Listening:
    def __init__(self, console: Console, principal: Principal, session_id: str, feed: Feed) -> None:
        self._console = console
        self._principal = principal
        self._session_id = session_id
        self._feed = feed

    async def heard(self, said: str | bytes) -> None:
        async with told_of(self._problem):
            needs(self._principal, "operate")
            await self._take(decoded(said, _decoder))

    async def _take(self, said: UserInput | StartProcess | KillProcess) -> None:
        console, id = self._console, self._session_id
        match said:
            case UserInput(text=text):
                if not text.strip():
                    raise ApiError("invalid", "The message is empty.")
                await commands.message(console, id, Words((Text(text),), self._principal.name))
            case StartProcess():
                # S003-12: one that runs is not started twice.
                await console.runner.wake(id)
                self._feed.say(status(console, id))
            case KillProcess():
                if console.runner.worker(id) is None:
                    raise ApiError("wrong_state", "The process is not running.")
                await console.runner.rest(id, "stopped")

    def _problem(self, error: ApiError) -> None:
        self._feed.say(problem_of(error))


def status(console: Console, session_id: str) -> Message:
    running = console.runner.worker(session_id) is not None
    return {"type": "status", "running": running, "sessionId": engine_session(console, session_id)}


def engine_session(console: Console, session_id: str) -> str:
    """The id by which the engine goes on with this talk: its own if it has one, else the session's."""
    view = console.registry.views.get(session_id)
    workers = view.workers if view is not None else ()
    return next((worker.engine_session for worker in reversed(workers) if worker.engine_session), session_id)


class Agents:
    """Which session an agent's name means: a session's id, or a name a client began one under."""

    def __init__(self, console: Console, streams: Streams) -> None:
        self._console = console
        self._streams = streams
        self._named: dict[str, str] = {}

    def route(self) -> WebSocketRoute:
        return WebSocketRoute(PATH, self._serve, name="compat_agent")

    async def _serve(self, websocket: WebSocket) -> None:
        console = self._console
        name = websocket.query_params.get("agentId", "")
        principal = await admitted(console, websocket, lambda: None)
        if principal is None:
            return
        session_id = self._session(name)
        if not session_id:
            await websocket.send_json({"type": "status", "running": False, "sessionId": None})
            session_id = await self._begun(websocket, principal, name)
            if not session_id:
                return
        after = websocket.query_params.get("after", "")
        translator = Agent(session_id, console)
        async with session_feed(console, self._streams, principal, session_id, translator, after) as feed:
            feed.say(status(console, session_id))
            await talk(websocket, feed, _Listening(console, principal, session_id, feed).heard, _shown)

    def _session(self, name: str) -> str:
        id = self._named.get(name, name)
        return id if id in self._console.registry.views else ""

    async def _begun(self, websocket: WebSocket, principal: Principal, name: str) -> str:
        """Wait until the client has a session begun; empty if it leaves before."""
        session_id = ""
        while not session_id:
            message = await websocket.receive()
            if message["type"] == "websocket.disconnect":
                return ""
            problems: list[ApiError] = []
            async with told_of(problems.append):
                needs(principal, "operate")
                session_id = await self._begin(
                    decoded(message.get("text") or message.get("bytes") or b"", _decoder), principal
                )
            for problem in problems:
                await websocket.send_json(
                    {"type": "error", "message": problem.problem.message, "code": problem.problem.code}
                )
        if name:
            self._named[name] = session_id
        return session_id

    async def _begin(self, said: UserInput | StartProcess | KillProcess, principal: Principal) -> str:
        if not isinstance(said, StartProcess):
            raise ApiError("wrong_state", "The process is not running. Begin with start_process.")
        if said.session_id:
            id = self._console.registry.view(said.session_id).id
        else:
            config = SessionConfig(model=said.model or "", append_system_prompt=said.system_prompt or "")
            words = Words((), principal.name)
            id = (await commands.launch(self._console, said.working_dir or "", config, words)).id
        await self._console.runner.wake(id)
        return id


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
