"""Live parts of one session: collects deltas of unfinished messages and outputs, and publishes them at a limited rate.

A client that joins late gets each open part as far as it was sent, and continues by offset like all others.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from msgspec import Struct, field

from bobstay.model.agent_events import AgentEnded, AgentStarted
from bobstay.model.background_events import BackgroundEvent
from bobstay.model.event import (
    BlockDone,
    Durable,
    InputDropped,
    InputQueued,
    InteractionEvent,
    MessageDone,
    NoticeEvent,
    Prompted,
    Pruned,
    RunDone,
    SettingsEvent,
    TasksReplaced,
    ToolDone,
    ToolStarted,
    TurnStarted,
)
from bobstay.model.live_events import (
    BlockBegan,
    InputDelta,
    Live,
    MessageBegan,
    Requesting,
    Retrying,
    TextDelta,
    ThinkingDelta,
    ToolProgress,
)
from bobstay.model.session_events import SessionEvent, WorkerEvent
from bobstay.server.streams.stream_frames import live

INTERVAL = 0.05
"""Seconds between two frames of one part: at most 20 a second."""
OUTPUT_TAIL = 64 * 1024
"""Characters of a running command's output that are kept, and the maximum of one frame."""


class Clock(Protocol):
    """The two methods of an event loop that are needed."""

    def time(self) -> float: ...

    def call_later(self, delay: float, callback: Callable[[], object], /) -> asyncio.TimerHandle: ...


class _Part(Struct):
    kind: str
    message_id: str
    index: int
    name: str = ""
    call_id: str = ""
    parent_call: str = ""
    sent: deque[str] = field(default_factory=deque)
    """Text that was sent, in the chunks of its frames; of output only the end."""
    kept: int = 0
    """Characters in `sent`."""
    offset: int = 0
    """Characters that were sent or skipped."""
    waiting: list[str] = []
    waits: int = 0
    """Characters in `waiting`."""
    skipped: int = 0
    """Characters of output before `waiting` that are never sent."""
    due: float = 0.0

    @property
    def key(self) -> dict[str, Any]:
        if self.kind == "output":
            return {"call_id": self.message_id}
        return {"message_id": self.message_id, "index": self.index, "kind": self.kind}


class LiveParts:
    """Takes live and stored events and publishes frames with `publish`."""

    def __init__(
        self,
        session_id: str,
        publish: Callable[[bytes], None],
        interval: float = INTERVAL,
        clock: Clock | None = None,
    ) -> None:
        self._session = session_id
        self._publish = publish
        self._interval = interval
        self._given_clock = clock
        self._open: dict[tuple[str, int], _Part] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._messages: dict[str, str] = {}
        """The message that began last, of the session's agent and of each sub-agent, by the call that started it."""

    def live(self, event: Live, parent_call: str = "") -> None:
        """`parent_call`: the call that started the sub-agent whose event it is."""
        match event:
            case TextDelta(text=text):
                self._add("text", event.message_id, event.index, text)
            case ThinkingDelta(text=text):
                self._add("thinking", event.message_id, event.index, text)
            case InputDelta(json=text):
                self._add("tool_input", event.message_id, event.index, text)
            case ToolProgress(call_id=call_id, text=text):
                self._add("output", call_id, 0, text)
            case BlockBegan():
                self._begin(event, parent_call)
            case Retrying():
                self._drop_message(self._messages.get(parent_call, ""))
                data = {name: getattr(event, name) for name in ("attempt", "attempts", "delay", "status", "error")}
                self._publish(live("model.retrying", data, self._session))
            case Requesting() if parent_call:
                return
            case Requesting(model=model):
                self._publish(live("model.requested", {"model": model}, self._session))
            case MessageBegan(message_id=message_id):
                self._messages[parent_call] = message_id

    def stored(self, event: Durable) -> None:
        """Close the parts that are now in the log, after sending what waits of them."""
        match event:
            case BlockDone(message_id=message_id, index=index):
                self._end((message_id, index))
            case ToolDone(reply=reply):
                self._end((reply.call_id, 0))
            case RunDone():
                for key in [key for key, part in self._open.items() if not part.parent_call]:
                    self._end(key)
            case AgentEnded(call_id=call_id):
                self._messages.pop(call_id, None)
                for key in [key for key, part in self._open.items() if part.parent_call == call_id]:
                    self._end(key)
            case InteractionEvent() | SettingsEvent() | SessionEvent():
                return
            case WorkerEvent() | BackgroundEvent() | AgentStarted() | NoticeEvent():
                return
            case InputQueued() | InputDropped() | Prompted() | TurnStarted() | MessageDone() | Pruned():
                return
            case ToolStarted() | TasksReplaced():
                return

    def snapshot(self) -> list[dict[str, Any]]:
        """All open parts as far as they were sent, for a client that joins now."""
        found: list[dict[str, Any]] = []
        for part in self._open.values():
            data = {**part.key, "offset": part.offset - part.kept, "text": "".join(part.sent)}
            if part.name:
                data.update(name=part.name, call_id=part.call_id)
            if part.parent_call:
                data.update(parent_call=part.parent_call)
            found.append(data)
        return found

    def flush(self) -> None:
        """Send everything that waits immediately."""
        for part in self._open.values():
            if part.waiting:
                self._send(part)
        self._stop_timer()

    @property
    def kept(self) -> int:
        """Characters held of all open parts."""
        return sum(part.kept + part.waits for part in self._open.values())

    # ------------------------------------------------------------ one part

    def _begin(self, began: BlockBegan, parent_call: str) -> None:
        kind = "tool_input" if began.kind == "tool_call" else began.kind
        part = _Part(kind, began.message_id, began.index, began.name, began.call_id, parent_call)
        self._open[began.message_id, began.index] = part
        self._messages[parent_call] = began.message_id
        data = {**part.key, "name": began.name, "call_id": began.call_id, "parent_call": parent_call}
        self._publish(live("part.began", data, self._session))

    def _add(self, kind: str, message_id: str, index: int, text: str) -> None:
        if not text:
            return
        part = self._open.get((message_id, index))
        if part is None:
            part = self._open[message_id, index] = _Part(kind, message_id, index)
        part.waiting.append(text)
        part.waits += len(text)
        if kind == "output" and part.waits > 4 * OUTPUT_TAIL:
            _shorten(part)
        clock = self._clock
        wait = part.due - clock.time()
        if wait <= 0:
            self._send(part)
        elif self._timer is None:
            self._timer = clock.call_later(wait, self._send_due)

    def _send(self, part: _Part) -> None:
        if part.kind == "output":
            _shorten(part)
        text = part.waiting[0] if len(part.waiting) == 1 else "".join(part.waiting)
        if part.skipped:  # a snapshot is contiguous, so text before a gap is dropped
            part.sent.clear()
            part.kept = 0
        part.sent.append(text)
        part.kept += len(text)
        data = {**part.key, "offset": part.offset + part.skipped, "text": text}
        part.offset += part.skipped + len(text)
        part.waiting.clear()
        part.waits = part.skipped = 0
        part.due = self._clock.time() + self._interval
        while part.kind == "output" and part.kept - len(part.sent[0]) >= OUTPUT_TAIL:
            part.kept -= len(part.sent.popleft())
        self._publish(live("tool.output" if part.kind == "output" else "part.delta", data, self._session))

    def _end(self, key: tuple[str, int]) -> None:
        part = self._open.get(key)
        if part is not None:
            if part.waiting:
                self._send(part)
            del self._open[key]
        if not self._open:
            self._stop_timer()

    def _drop_message(self, message_id: str) -> None:
        """Drop the open parts of a message, because the model request is retried."""
        void = [key for key, part in self._open.items() if part.kind != "output" and part.message_id == message_id]
        for key in void:
            self._publish(live("part.dropped", self._open.pop(key).key, self._session))

    # ------------------------------------------------------------ time

    @property
    def _clock(self) -> Clock:
        if self._given_clock is None:
            self._given_clock = asyncio.get_running_loop()  # cached, because the lookup costs more than its use
        return self._given_clock

    def _send_due(self) -> None:
        """Send the parts that are due, and schedule the rest."""
        self._timer = None
        now = self._clock.time()
        soonest = 0.0
        for part in self._open.values():
            if part.waiting:
                if part.due <= now:
                    self._send(part)
                elif not soonest or part.due < soonest:
                    soonest = part.due
        if soonest:
            self._timer = self._clock.call_later(soonest - now, self._send_due)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _shorten(part: _Part) -> None:
    """Keep only the end of output that was not sent yet."""
    if part.waits > OUTPUT_TAIL:
        text = "".join(part.waiting)[-OUTPUT_TAIL:]
        part.skipped += part.waits - len(text)
        part.waiting, part.waits = [text], len(text)
