"""Converts flat frames (`tool_use{tool}`, `tool_result{result}`, `system{message}`) to the usual form."""

from typing import Any

import msgspec

from bobstay.model.event import Decided
from bobstay.model.ids import new_id
from bobstay.model.live_events import BlockBegan, InputDelta, Live, MessageBegan, TextDelta
from bobstay.model.message import Usage
from bobstay.server.workers.process.untrusted_fields import text

_ENVELOPE = frozenset({"type", "tool_use_id", "is_error", "timestamp", "uuid", "session_id", "parent_tool_use_id"})


def nest_frame(frame: dict[str, Any]) -> dict[str, Any]:
    """The frame in the usual form; a frame that already has it is returned unchanged."""
    match frame.get("type"):
        case "tool_use" if "name" not in frame and isinstance(frame.get("tool"), str):
            return {**frame, "name": frame["tool"]}
        case "tool_result" if "content" not in frame and "tool_result" not in frame:
            return {**frame, "content": _content(frame)}
        case "system" if not frame.get("subtype") and isinstance(frame.get("message"), str):
            return {**frame, "subtype": "informational", "content": frame["message"]}
        case _:
            return frame


def _content(frame: dict[str, Any]) -> str:
    """The text of a result: all fields of the frame, whatever their names."""
    content = frame["result"] if "result" in frame else {key: frame[key] for key in frame if key not in _ENVELOPE}
    if isinstance(content, str):
        return content
    try:
        return msgspec.json.encode(content).decode() if content not in ({}, None) else ""
    except (UnicodeEncodeError, RecursionError):
        return repr(content)


class FlatPieces:
    """Converts pieces of an answer without ids or indexes: `stream_event{event_type, delta}`."""

    def __init__(self) -> None:
        self._id = ""
        self._kinds: list[str] = []

    def feed(self, frame: dict[str, Any], model: str) -> list[Live]:
        """The live events for a piece; nothing if it does not have this form."""
        kind, piece = text(frame, "event_type"), text(frame, "delta")
        if kind not in ("text_delta", "tool_use_delta") or not piece:
            return []
        found: list[Live] = []
        if not self._id:
            self._id = new_id()
            found.append(MessageBegan(self._id, model, Usage()))
        if kind not in self._kinds:
            self._kinds.append(kind)
            found.append(BlockBegan(self._id, len(self._kinds) - 1, "text" if kind == "text_delta" else "tool_call"))
        make = TextDelta if kind == "text_delta" else InputDelta
        return [*found, make(self._id, self._kinds.index(kind), piece)]

    def take_id(self) -> str:
        """The id of the answer whose pieces arrived; its blocks are stored under the same id."""
        id, self._id = self._id, ""
        self._kinds.clear()
        return id


def find_decision(meta: Any, call_id: str) -> Decided | None:
    """The permission decision of a call, according to the engine's metadata."""
    entries = meta if isinstance(meta, list) else ()
    for entry in entries:
        if isinstance(entry, dict) and entry.get("id") == call_id:
            decision = entry.get("permission_decision")
            if isinstance(decision, dict) and decision.get("decision") in ("accept", "reject"):
                return Decided(decision["decision"], text(decision, "source"), text(decision, "reason_type"))
    return None
