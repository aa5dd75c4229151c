"""Encodes a session's events as stream-json messages, as hosts of the command line and SDK clients read them."""

from collections.abc import Callable
from typing import Literal

import msgspec
from msgspec import Struct

from bobstay.model.event import Event, MessageDone, Raw, RunDone, TurnStarted
from bobstay.model.live_events import BlockBegan, InputDelta, Live, MessageBegan, Retrying, TextDelta, ThinkingDelta
from bobstay.model.message import Usage
from bobstay.model.session_events import WorkerExited
from bobstay.providers.catalogue import lookup
from bobstay.server.compat.frame_entry import FrameEntry, Message
from bobstay.server.sessions.session_registry import SessionRegistry
from bobstay.server.sessions.session_status import StatusFold
from bobstay.server.sessions.session_view import Activity, SessionView, context_limit
from bobstay.wire.event_encoder import EventEncoder
from bobstay.wire.wire_frames import Facts


class _OneModel(Struct):
    usage: Usage = Usage()
    cost: float = 0.0
    window: int = 0
    max_output: int = 0


class _Totals(Struct):
    cost_usd: float = 0.0
    api_ms: int = 0
    models: dict[str, _OneModel] = {}

    def add(self, event: MessageDone, started: TurnStarted) -> None:
        self.cost_usd += event.cost
        self.api_ms += event.api_ms
        model = self.models.setdefault(event.model, _OneModel())
        # What the engine said of the model of the turn includes the settings.
        reported = started.window if lookup(started.model).name == event.model else 0
        model.window = reported or model.window or context_limit(event.model)
        model.max_output = lookup(event.model).output
        model.usage += event.usage
        model.cost += event.cost


class StreamJsonEncoder:
    """One per connection. It must get every frame of a session from the first on."""

    def __init__(self, session_id: str, registry: SessionRegistry) -> None:
        self._id = session_id
        self._registry = registry
        self._entry = ""
        self._totals = _Totals()
        self._started = TurnStarted(0, "", "")
        self._encoder = EventEncoder(
            session_id, self._facts, lambda: self._totals, partial=True, replay=True, entry=lambda: self._entry
        )
        self._message = ""
        self._open_blocks: set[tuple[str, int]] = set()
        self.status_fold = StatusFold()
        self.live = False
        """Whether the replay is over and frames are live."""

    @property
    def activity(self) -> Activity:
        """Activity of the agent as of the last frame."""
        if self.status_fold.asking:
            return "asking"
        return "active" if self.status_fold.in_turn else "idle"

    def messages(self, entry: FrameEntry) -> list[Message]:
        """The stream-json messages for a frame."""
        if entry.seq:
            return self._stored(entry)
        if entry.type == "stream.synchronized":
            self.live = True
            return self._encode([event for part in entry.payload.get("parts", ()) for event in self._part(part)])
        if entry.type in ("part.began", "part.delta"):
            return self._encode(self._part(entry.payload))
        if entry.type == "part.dropped":
            self._open_blocks.discard((str(entry.payload.get("message_id")), int(entry.payload.get("index", 0))))
        if entry.type == "model.retrying":
            return self._encode([msgspec.convert(entry.payload, Retrying)])
        return []

    def _stored(self, entry: FrameEntry) -> list[Message]:
        event = entry.event
        self.status_fold = self.status_fold.apply(event)
        self._entry = entry.id
        if isinstance(event, MessageDone):
            self._totals.add(event, self._started)
        if isinstance(event, Raw):
            return [event.data] if isinstance(event.data.get("type"), str) else []
        if isinstance(event, RunDone | TurnStarted):
            self._open_blocks.clear()
        if isinstance(event, TurnStarted):
            self._started = event
        frames = list(self._encoder.frames(event))
        for frame in frames:
            if entry.parent_call and "parent_tool_use_id" in frame:
                frame["parent_tool_use_id"] = entry.parent_call
        if frames and not any(frame.get("uuid") == entry.id for frame in frames):
            frames[-1]["uuid"] = entry.id  # clients use it as a cursor
        return frames

    def _encode(self, events: list[Live]) -> list[Message]:
        live: list[Event] = list(events)
        return [frame for event in live for frame in self._encoder.frames(event)]

    def _part(self, part: Message) -> list[Live]:
        """The live events for a part, with the beginning of its message and block if they were not sent yet."""
        if "message_id" not in part:
            return []
        message_id, index, kind = str(part["message_id"]), int(part["index"]), str(part["kind"])
        events: list[Live] = []
        if message_id != self._message:
            self._message = message_id
            events.append(MessageBegan(message_id, self._view.model, Usage()))
        if (message_id, index) not in self._open_blocks:
            self._open_blocks.add((message_id, index))
            what, call_id = str(part.get("name", "")), str(part.get("call_id", ""))
            events.append(BlockBegan(message_id, index, _BLOCKS.get(kind, "text"), call_id, what))
        text = part.get("text")
        if isinstance(text, str) and text:
            events.append(_DELTAS.get(kind, TextDelta)(message_id, index, text))
        return events

    @property
    def _view(self) -> SessionView:
        return self._registry.view(self._id)

    def _facts(self) -> Facts:
        view = self._view
        return Facts(cwd=view.cwd, tools=(), model=view.model, mode=view.permission_mode, api_key_source="none")


_BLOCKS: dict[str, Literal["text", "thinking", "tool_call"]] = {
    "text": "text",
    "thinking": "thinking",
    "tool_input": "tool_call",
}
_DELTAS: dict[str, Callable[[str, int, str], Live]] = {
    "text": TextDelta,
    "thinking": ThinkingDelta,
    "tool_input": InputDelta,
}


def agent_exit(entry: FrameEntry) -> WorkerExited | None:
    """The exit of a session's agent, if the frame is one. An idle agent that was stopped does not count."""
    if entry.type != "worker.exited":
        return None
    event = entry.event
    if not isinstance(event, WorkerExited) or event.kind not in ("native", "process") or event.why == "asleep":
        return None
    return event
