"""Converts streamed pieces of a model answer to live events."""

from typing import Any

from msgspec import Struct

from bobstay.model.api_shape import stop_from_json, usage_from_json
from bobstay.model.live_events import BlockBegan, InputDelta, Live, MessageBegan, TextDelta, ThinkingDelta
from bobstay.model.message import Stop, Usage
from bobstay.server.workers.process.untrusted_fields import text


class TokenCount(Struct, frozen=True):
    """The end of an answer, with its usage."""

    message_id: str
    stop: Stop | None
    usage: Usage


class PartialMessages:
    """The stream of one conversation: the pieces of one answer after the other."""

    def __init__(self) -> None:
        self._id = ""
        self._usage = Usage()

    def feed(self, event: dict[str, Any], message_id: str = "") -> Live | TokenCount | None:
        """The event for a piece; None for pieces without a meaning of their own."""
        if message_id:
            self._id = message_id
        match event.get("type"):
            case "message_start":
                return self._began(event.get("message"))
            case "content_block_start":
                return self._block(_index(event), event.get("content_block"))
            case "content_block_delta":
                return self._piece(_index(event), event.get("delta"))
            case "message_delta":
                return self._counted(event)
            case _:
                return None

    def _began(self, message: Any) -> Live | None:
        if not isinstance(message, dict):
            return None
        self._id = text(message, "id") or self._id
        self._usage = usage_from_json(message.get("usage"))
        return MessageBegan(self._id, text(message, "model"), self._usage)

    def _block(self, index: int, block: Any) -> Live | None:
        match block:
            case {"type": "text"}:
                return BlockBegan(self._id, index, "text")
            case {"type": "thinking" | "redacted_thinking"}:
                return BlockBegan(self._id, index, "thinking")
            case {"type": "tool_use", "id": str(call_id), "name": str(name)}:
                return BlockBegan(self._id, index, "tool_call", call_id, name)
            case _:
                return None

    def _piece(self, index: int, delta: Any) -> Live | None:
        match delta:
            case {"type": "text_delta", "text": str(piece)}:
                return TextDelta(self._id, index, piece)
            case {"type": "thinking_delta", "thinking": str(piece)}:
                return ThinkingDelta(self._id, index, piece)
            case {"type": "input_json_delta" | "tool_use_delta", "partial_json": str(piece)}:
                return InputDelta(self._id, index, piece)
            case _:
                return None

    def _counted(self, event: dict[str, Any]) -> TokenCount:
        delta = event.get("delta")
        stop = stop_from_json(delta.get("stop_reason")) if isinstance(delta, dict) else None
        final = usage_from_json(event.get("usage"))
        began = self._usage
        usage = Usage(
            final.input or began.input,
            final.output or began.output,
            final.cache_read or began.cache_read,
            final.cache_write or began.cache_write,
        )
        return TokenCount(self._id, stop, usage)


def _index(event: dict[str, Any]) -> int:
    value = event.get("index")
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1_000_000 else 0
