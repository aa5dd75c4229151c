"""What is being said right now in one session: pieces put together, sent on in at most so many frames a second.

A late client gets the whole of each open part and then only what is new, by offset.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from bobstay.model.event import BlockDone, Durable, RunDone, ToolDone
from bobstay.model.live import (
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
from bobstay.server.stream.frames import live

INTERVAL = 0.05
"""Seconds between two frames of one part."""
OUTPUT_TAIL = 64 * 1024
"""Characters of a running command's output that a late client gets."""


class _Part(Struct):
    kind: str
    message_id: str
    index: int
    name: str = ""
    pieces: list[str] = []
    length: int = 0
    sent: int = 0
    """Pieces already sent, and how many characters those are."""
    sent_length: int = 0
    due: float = 0.0

    @property
    def key(self) -> dict[str, Any]:
        if self.kind == "output":
            return {"call_id": self.message_id}
        return {"message_id": self.message_id, "index": self.index, "kind": self.kind}


class Parts:
    """Feed it live events and stored ones; it publishes frames by `publish`."""

    def __init__(self, session_id: str, publish: Callable[[bytes], None], interval: float = INTERVAL) -> None:
        self._session = session_id
        self._publish = publish
        self._interval = interval
        self._open: dict[tuple[str, int], _Part] = {}
        self._timer: asyncio.TimerHandle | None = None

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
            case BlockBegan(message_id=message_id, index=index, kind=kind):
                part = _Part("tool_input" if kind == "tool_call" else kind, message_id, index, event.name)
                self._open[message_id, index] = part
                said = {**part.key, "name": event.name, "call_id": event.call_id}
                self._publish(live("part.began", said, self._session))
            case Retrying():
                said = {name: getattr(event, name) for name in ("attempt", "attempts", "delay", "error")}
                self._publish(live("model.retrying", said, self._session))
            case Requesting(model=model):
                self._publish(live("model.requested", {"model": model}, self._session))
            case MessageBegan():
                return

    def stored(self, event: Durable) -> None:
        """A part that is in the log is no longer open here."""
        match event:
            case BlockDone(message_id=message_id, index=index):
                self._open.pop((message_id, index), None)
            case ToolDone(reply=reply):
                self._open.pop((reply.call_id, 0), None)
            case RunDone():
                self._open.clear()
            case _:
                return

    def snapshot(self) -> list[dict[str, Any]]:
        """All open parts whole, as a client that joins now needs them."""
        self.flush()
        found = []
        for part in self._open.values():
            text = "".join(part.pieces)
            start = max(len(text) - OUTPUT_TAIL, 0) if part.kind == "output" else 0
            place = part.length - len(text) + start
            found.append({**part.key, "name": part.name, "offset": place, "text": text[start:]})
        return found

    def _add(self, kind: str, message_id: str, index: int, text: str) -> None:
        part = self._open.get((message_id, index))
        if part is None:
            part = self._open[message_id, index] = _Part(kind, message_id, index)
        part.pieces.append(text)
        part.length += len(text)
        now = asyncio.get_running_loop().time()
        if now >= part.due:
            self._send(part, now)
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._interval, self.flush)

    def flush(self) -> None:
        """Send all that waits."""
        self._timer = None
        if self._open:
            now = asyncio.get_running_loop().time()
            for part in self._open.values():
                if part.sent < len(part.pieces):
                    self._send(part, now)

    def _send(self, part: _Part, now: float) -> None:
        text = "".join(part.pieces[part.sent :])
        name = "tool.output" if part.kind == "output" else "part.delta"
        self._publish(live(name, {**part.key, "offset": part.sent_length, "text": text}, self._session))
        part.sent_length += len(text)
        part.sent = len(part.pieces)
        part.due = now + self._interval
        if part.kind == "output" and part.length - part.sent_length == 0 and len(part.pieces) > 256:
            kept = "".join(part.pieces)[-OUTPUT_TAIL:]
            part.pieces, part.sent = [kept], 1
