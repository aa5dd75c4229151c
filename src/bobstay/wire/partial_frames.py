"""Streaming frames for hosts that want partial messages: the API's stream events, for the models of any vendor."""

import msgspec

from bobstay.model.api_shape import block_json, stop_json, usage_json
from bobstay.model.event import BlockDone, MessageDone
from bobstay.model.live_events import BlockBegan, InputDelta, MessageBegan, TextDelta, ThinkingDelta
from bobstay.model.message import Block, Stop, Text, Thinking, ToolCall, Usage
from bobstay.redaction.redactor import RedactedStream, Redactor
from bobstay.wire.wire_frames import Frame, stream_event


class Partials:
    """Encodes one message at a time. Everything left open is closed, so that hosts always get a complete stream."""

    def __init__(self, session_id: str, redactor: Redactor | None = None) -> None:
        self._session_id = session_id
        self._redactor = redactor or Redactor()
        self._redacted: dict[int, RedactedStream] = {}
        """Text of each block that is held back because it may be the beginning of a secret."""
        self._message_id = ""
        self._usage = Usage()
        self._open: dict[int, bool] = {}
        """The open blocks, and whether a delta of each was sent."""

    def message_began(self, event: MessageBegan) -> list[Frame]:
        frames = self.close()
        self._message_id, self._usage = event.message_id, event.usage
        message: Frame = {
            "id": event.message_id,
            "type": "message",
            "role": "assistant",
            "model": event.model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage_json(event.usage),
        }
        return [*frames, self._frame({"type": "message_start", "message": message})]

    def block_began(self, event: BlockBegan) -> list[Frame]:
        self._open[event.index] = False
        empty: Frame
        match event.kind:
            case "text":
                empty = {"type": "text", "text": ""}
            case "thinking":
                empty = {"type": "thinking", "thinking": "", "signature": ""}
            case "tool_call":
                empty = {"type": "tool_use", "id": event.call_id, "name": event.name, "input": {}}
        return [self._start(event.index, empty)]

    def text(self, event: TextDelta) -> list[Frame]:
        return self._piece(event.index, "text", event.text)

    def thinking(self, event: ThinkingDelta) -> list[Frame]:
        return self._piece(event.index, "thinking", event.text)

    def input(self, event: InputDelta) -> list[Frame]:
        return self._piece(event.index, "input_json", event.json)

    def before_block(self, event: BlockDone) -> list[Frame]:
        """Return the frames before the full message of a block: the whole block, if it had no deltas."""
        if event.message_id != self._message_id:
            return []
        frames: list[Frame] = []
        if event.index not in self._open:
            self._open[event.index] = False
            frames.append(self._start(event.index, _emptied(event.block)))
        if rest := self._rest(event):
            frames.append(rest)
        if not self._open[event.index] and (delta := _whole(event.block)):
            frames.append(self._delta(event.index, delta))
        if isinstance(event.block, Thinking) and event.block.signature and not event.block.redacted:
            frames.append(self._delta(event.index, {"type": "signature_delta", "signature": event.block.signature}))
        return frames

    def after_block(self, event: BlockDone) -> list[Frame]:
        if event.message_id != self._message_id or event.index not in self._open:
            return []
        del self._open[event.index]
        return [self._frame({"type": "content_block_stop", "index": event.index})]

    def message_done(self, event: MessageDone) -> list[Frame]:
        return self._end(event.stop, event.usage) if event.message_id == self._message_id else []

    def close(self) -> list[Frame]:
        """End an unfinished message after an interrupt or a fault, or before another begins."""
        return self._end(None, self._usage) if self._message_id else []

    def _end(self, stop: Stop | None, usage: Usage) -> list[Frame]:
        frames = [self._frame({"type": "content_block_stop", "index": index}) for index in sorted(self._open)]
        delta = {"stop_reason": stop_json(stop), "stop_sequence": None}
        frames.append(self._frame({"type": "message_delta", "delta": delta, "usage": usage_json(usage)}))
        frames.append(self._frame({"type": "message_stop"}))
        self._open.clear()
        self._redacted.clear()
        self._message_id = ""
        return frames

    def _piece(self, index: int, kind: str, text: str) -> list[Frame]:
        stream = self._redacted.get(index)
        if stream is None:
            stream = self._redacted[index] = self._redactor.stream()
        shown = stream.feed(text)
        return [self._delta(index, _delta_of(kind, shown))] if shown else []

    def _rest(self, event: BlockDone) -> Frame | None:
        """Return the text that was still held back when the block ended."""
        stream = self._redacted.pop(event.index, None)
        rest = stream.flush() if stream is not None else ""
        return self._delta(event.index, _delta_of(_kind(event.block), rest)) if rest else None

    def _start(self, index: int, block: Frame) -> Frame:
        return self._frame({"type": "content_block_start", "index": index, "content_block": block})

    def _delta(self, index: int, delta: Frame) -> Frame:
        self._open[index] = True
        return self._frame({"type": "content_block_delta", "index": index, "delta": delta})

    def _frame(self, event: Frame) -> Frame:
        return stream_event(self._session_id, self._message_id, event)


def _kind(block: Block) -> str:
    return "text" if isinstance(block, Text) else "thinking" if isinstance(block, Thinking) else "input_json"


def _delta_of(kind: str, text: str) -> Frame:
    return {"type": f"{kind}_delta", {"input_json": "partial_json"}.get(kind, kind): text}


def _emptied(block: Block) -> Frame:
    match block:
        case Text():
            return {"type": "text", "text": ""}
        case Thinking(redacted=False):
            return {"type": "thinking", "thinking": "", "signature": ""}
        case ToolCall():
            return {"type": "tool_use", "id": block.id, "name": block.name, "input": {}}
        case _:
            return block_json(block)


def _whole(block: Block) -> Frame | None:
    match block:
        case Text() if block.text:
            return {"type": "text_delta", "text": block.text}
        case Thinking(redacted=False) if block.text:
            return {"type": "thinking_delta", "thinking": block.text}
        case ToolCall():
            text = block.malformed or msgspec.json.encode(block.input).decode()
            return {"type": "input_json_delta", "partial_json": text}
        case _:
            return None
