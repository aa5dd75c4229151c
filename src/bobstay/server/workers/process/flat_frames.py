"""Flat frames of engines (`tool_use{tool}`, `tool_result{result}`, `system{message}`) in the usual shape."""

from typing import Any

import msgspec

from bobstay.model.event import Decided
from bobstay.model.ids import new_id
from bobstay.model.live_events import BlockBegan, InputDelta, Live, MessageBegan, TextDelta
from bobstay.model.message import Usage
from bobstay.server.workers.process.untrusted_fields import text

_ENVELOPE = frozenset({"type", "tool_use_id", "is_error", "timestamp", "uuid", "session_id", "parent_tool_use_id"})


def usual_frame(frame: dict[str, Any]) -> dict[str, Any]:
    """The same frame as most engines would send it. A frame in the usual shape comes back as it is."""
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
    """A result's text: all that the frame says, under whatever name."""
    said = frame["result"] if "result" in frame else {key: frame[key] for key in frame if key not in _ENVELOPE}
    if isinstance(said, str):
        return said
    try:
        return msgspec.json.encode(said).decode() if said not in ({}, None) else ""
    except (UnicodeEncodeError, RecursionError):
        return repr(said)


class FlatPieces:
    """Pieces of an answer without ids or indexes: `stream_event{event_type, delta}`."""

    def __init__(self) -> None:
        self._id = ""
        self._kinds: list[str] = []

    def feed(self, frame: dict[str, Any], model: str) -> list[Live]:
        """What is shown for a piece; nothing if it is none of this form."""
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
        """The id of the answer whose pieces came; its blocks are stored under the same."""
        id, self._id = self._id, ""
        self._kinds.clear()
        return id


def decision_in(meta: Any, call_id: str) -> Decided | None:
    """How the permission question of a call was settled, as the engine's metadata say."""
    entries = meta if isinstance(meta, list) else ()
    for entry in entries:
        if isinstance(entry, dict) and entry.get("id") == call_id:
            said = entry.get("permission_decision")
            if isinstance(said, dict) and said.get("decision") in ("accept", "reject"):
                return Decided(said["decision"], text(said, "source"), text(said, "reason_type"))
    return None
