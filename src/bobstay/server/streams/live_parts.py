"""What is being said right now in one session: pieces put together, sent on in at most so many frames a second.

A late client gets the whole of each open part, as far as it was sent, and then goes on by offset with everybody else.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from msgspec import Struct, field

from bobstay.model.event import BlockDone, Durable, RunDone, ToolDone
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
from bobstay.server.streams.stream_frames import live

INTERVAL = 0.05
"""Seconds between two frames of one part: at most 20 a second."""
OUTPUT_TAIL = 64 * 1024
"""Characters of a running command's output that are kept, and the most one frame of it holds."""


class Clock(Protocol):
    """The two things needed of an event loop."""

    def time(self) -> float: ...

    def call_later(self, delay: float, callback: Callable[[], object], /) -> asyncio.TimerHandle: ...


class _Part(Struct):
    kind: str
    message_id: str
    index: int
    name: str = ""
    call_id: str = ""
    sent: deque[str] = field(default_factory=deque)
    """What went out, in the pieces it went out in; of output only the end."""
    kept: int = 0
    """Characters in `sent`."""
    offset: int = 0
    """Characters that went out, or were skipped."""
    waiting: list[str] = []
    waits: int = 0
    """Characters in `waiting`."""
    skipped: int = 0
    """Characters of output before those that wait, which nobody will see."""
    due: float = 0.0

    @property
    def key(self) -> dict[str, Any]:
        if self.kind == "output":
            return {"call_id": self.message_id}
        return {"message_id": self.message_id, "index": self.index, "kind": self.kind}


class LiveParts:
    """Feed it live events and stored ones; it publishes frames by `publish`."""

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
        self._message = ""
        """The message that was last heard of."""

    def live(self, event: Live) -> None:
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
                self._begin(event)
            case Retrying():
                self._give_up(self._message)
                said = {name: getattr(event, name) for name in ("attempt", "attempts", "delay", "status", "error")}
                self._publish(live("model.retrying", said, self._session))
            case Requesting(model=model):
                self._publish(live("model.requested", {"model": model}, self._session))
            case MessageBegan(message_id=message_id):
                self._message = message_id

    def stored(self, event: Durable) -> None:
        """A part that is in the log is no longer open here; what waits of it goes out first."""
        match event:
            case BlockDone(message_id=message_id, index=index):
                self._end((message_id, index))
            case ToolDone(reply=reply):
                self._end((reply.call_id, 0))
            case RunDone():
                for key in tuple(self._open):
                    self._end(key)
            case _:
                return

    def snapshot(self) -> list[dict[str, Any]]:
        """All open parts, whole as far as they were sent: what a client that joins now needs."""
        found: list[dict[str, Any]] = []
        for part in self._open.values():
            said = {**part.key, "offset": part.offset - part.kept, "text": "".join(part.sent)}
            if part.name:
                said.update(name=part.name, call_id=part.call_id)
            found.append(said)
        return found

    def flush(self) -> None:
        """Send all that waits, now."""
        for part in self._open.values():
            if part.waiting:
                self._send(part)
        self._stop_timer()

    @property
    def kept(self) -> int:
        """Characters held of all open parts."""
        return sum(part.kept + part.waits for part in self._open.values())

    # ------------------------------------------------------------ one part

    def _begin(self, began: BlockBegan) -> None:
        kind = "tool_input" if began.kind == "tool_call" else began.kind
        part = _Part(kind, began.message_id, began.index, began.name, began.call_id)
        self._open[began.message_id, began.index] = part
        self._message = began.message_id
        said = {**part.key, "name": began.name, "call_id": began.call_id}
        self._publish(live("part.began", said, self._session))

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
            self._timer = clock.call_later(wait, self._due)

    def _send(self, part: _Part) -> None:
        if part.kind == "output":
            _shorten(part)
        text = part.waiting[0] if len(part.waiting) == 1 else "".join(part.waiting)
        if part.skipped:  # what comes before a hole is of no use: a snapshot is one piece without holes
            part.sent.clear()
            part.kept = 0
        part.sent.append(text)
        part.kept += len(text)
        said = {**part.key, "offset": part.offset + part.skipped, "text": text}
        part.offset += part.skipped + len(text)
        part.waiting.clear()
        part.waits = part.skipped = 0
        part.due = self._clock.time() + self._interval
        while part.kind == "output" and part.kept - len(part.sent[0]) >= OUTPUT_TAIL:
            part.kept -= len(part.sent.popleft())
        self._publish(live("tool.output" if part.kind == "output" else "part.delta", said, self._session))

    def _end(self, key: tuple[str, int]) -> None:
        part = self._open.get(key)
        if part is not None:
            if part.waiting:
                self._send(part)
            del self._open[key]
        if not self._open:
            self._stop_timer()

    def _give_up(self, message_id: str) -> None:
        """The model is asked anew: what it had begun to say and was not stored is void."""
        void = [key for key, part in self._open.items() if part.kind != "output" and part.message_id == message_id]
        for key in void:
            self._publish(live("part.dropped", self._open.pop(key).key, self._session))

    # ------------------------------------------------------------ time

    @property
    def _clock(self) -> Clock:
        if self._given_clock is None:
            self._given_clock = asyncio.get_running_loop()  # asked once: it takes longer than all that is done with it
        return self._given_clock

    def _due(self) -> None:
        """Send what is due, and come back for the rest."""
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
            self._timer = self._clock.call_later(soonest - now, self._due)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _shorten(part: _Part) -> None:
    """Of output that nobody has seen yet, keep the end only."""
    if part.waits > OUTPUT_TAIL:
        text = "".join(part.waiting)[-OUTPUT_TAIL:]
        part.skipped += part.waits - len(text)
        part.waiting, part.waits = [text], len(text)
