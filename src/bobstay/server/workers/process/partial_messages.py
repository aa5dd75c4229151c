"""Pieces of a model's answer, as an engine passes them on, to what is shown while it happens."""

from typing import Any

from msgspec import Struct

from bobstay.model.api_shape import stop_from_json, usage_from_json
from bobstay.model.live_events import BlockBegan, InputDelta, Live, MessageBegan, TextDelta, ThinkingDelta
from bobstay.model.message import Stop, Usage
from bobstay.server.workers.process.untrusted_fields import text


class TokenCount(Struct, frozen=True):
    """The end of an answer, with what it took."""

    message_id: str
    stop: Stop | None
    usage: Usage


class PartialMessages:
    """One talk's stream of pieces: an answer's, then the next one's."""

    def __init__(self) -> None:
        self._id = ""
        self._usage = Usage()

    def feed(self, event: dict[str, Any], message_id: str = "") -> Live | TokenCount | None:
        """What a piece means; None for pieces that mean nothing by themselves."""
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
            case {"type": "text_delta", "text": str(words)}:
                return TextDelta(self._id, index, words)
            case {"type": "thinking_delta", "thinking": str(words)}:
                return ThinkingDelta(self._id, index, words)
            case {"type": "input_json_delta" | "tool_use_delta", "partial_json": str(words)}:
                return InputDelta(self._id, index, words)
            case _:
                return None

    def _counted(self, event: dict[str, Any]) -> TokenCount:
        delta = event.get("delta")
        stop = stop_from_json(delta.get("stop_reason")) if isinstance(delta, dict) else None
        said = usage_from_json(event.get("usage"))
        began = self._usage
        usage = Usage(
            said.input or began.input,
            said.output or began.output,
            said.cache_read or began.cache_read,
            said.cache_write or began.cache_write,
        )
        return TokenCount(self._id, stop, usage)


def _index(event: dict[str, Any]) -> int:
    value = event.get("index")
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1_000_000 else 0
