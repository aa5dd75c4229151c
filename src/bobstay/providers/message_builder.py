"""Message builder: assembles the pieces of a streamed answer into blocks, for every vendor's format."""

from typing import Any, Literal, TypeAlias

from bobstay.model.event import BlockDone, MessageDone
from bobstay.model.ids import new_id
from bobstay.model.live_events import BlockBegan, InputDelta, MessageBegan, TextDelta, ThinkingDelta
from bobstay.model.message import Block, Stop, Text, Thinking, ToolCall, Usage
from bobstay.providers.base import Chunk
from bobstay.providers.message_encoding import from_json

BlockKind: TypeAlias = Literal["text", "thinking", "tool_call"]

GENERATED_PREFIX = "made_"
"""Prefix of the ids of calls that the vendor sent without one."""


def generate_call_id() -> str:
    """Return an id that every vendor accepts: at most 40 characters."""
    return GENERATED_PREFIX + new_id().replace("-", "")


def parse_input(text: str) -> tuple[dict[str, Any], str]:
    """Return a call's input and, if `text` is not a JSON object, the malformed text. Empty text is an empty input."""
    if not text.strip():
        return {}, ""
    try:
        value = from_json(text.encode("utf-8", "replace"))
    except ValueError:
        return {}, text
    return (value, "") if isinstance(value, dict) else ({}, text)


class MessageBuilder:
    """Builds one message. At most one block is open; opening another closes it."""

    def __init__(self, model: str, origin: str) -> None:
        self.model = model
        self.origin = origin
        self.message_id = ""
        self.usage = Usage()
        self.cost = 0.0
        """In US dollars, if the vendor reports it."""
        self.calls = 0
        """Calls completed or open so far."""
        self.blocks = 0
        self.kind: BlockKind | None = None
        """Kind of the open block."""
        self.call_id = ""
        self.name = ""
        self.signature = ""
        """Signature of the open block."""
        self._pieces: list[str] = []
        self._counted = Usage()

    def begin(self, message_id: str, model: str = "", usage: Usage | None = None) -> MessageBegan:
        self.message_id = message_id or new_id()
        self.model = model or self.model
        self._counted = usage or Usage()
        return MessageBegan(self.message_id, self.model, self._counted)

    @property
    def text(self) -> str:
        """Text of the open block so far."""
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""

    def open(self, kind: BlockKind, call_id: str = "", name: str = "") -> list[Chunk]:
        chunks = self.close()
        self.kind = kind
        self.call_id = (call_id or generate_call_id()) if kind == "tool_call" else ""
        self.name = name
        self.signature = ""
        self._pieces = []
        if kind == "tool_call":
            self.calls += 1
        chunks.append(BlockBegan(self.message_id, self.blocks, kind, self.call_id, name))
        return chunks

    def add(self, kind: BlockKind, piece: str) -> list[Chunk]:
        """Add to the open block; if it is of another kind, a new one is opened."""
        if not piece:
            return []
        chunks = self.open(kind) if self.kind != kind else []
        self._pieces.append(piece)
        if kind == "text":
            chunks.append(TextDelta(self.message_id, self.blocks, piece))
        elif kind == "thinking":
            chunks.append(ThinkingDelta(self.message_id, self.blocks, piece))
        else:
            chunks.append(InputDelta(self.message_id, self.blocks, piece))
        return chunks

    def close(self, whole: str | None = None) -> list[Chunk]:
        """Complete the open block, if any; `whole` is its text if the vendor repeats it at the end."""
        if self.kind is None:
            return []
        text = self.text if whole is None else whole
        block: Block
        if self.kind == "text":
            block = Text(text)
        elif self.kind == "thinking":
            block = Thinking(text, self.signature, self.origin, redacted=not text)
        else:
            parsed, malformed = parse_input(text)
            block = ToolCall(self.call_id, self.name, parsed, malformed, self.signature)
        done = BlockDone(self.message_id, self.blocks, block, self.model, self._counted)
        self.kind = None
        self._pieces = []
        self.blocks += 1
        return [done]

    def add_call(self, call_id: str, name: str, text: str, signature: str = "") -> list[Chunk]:
        """Add a call that arrived in one piece; `text` is the JSON of its input."""
        chunks = self.open("tool_call", call_id, name)
        chunks += self.add("tool_call", text)
        self.signature = signature
        return chunks + self.close()

    def end(self, stop: Stop, request_id: str) -> list[Chunk]:
        """Close the open block and end the message. The stop reason is corrected to match whether there are calls."""
        chunks = self.close()
        if stop == "end_turn" and self.calls:
            stop = "tool_use"
        elif stop == "tool_use" and not self.calls:
            stop = "end_turn"
        chunks.append(MessageDone(self.message_id, self.model, stop, self.usage, self.cost, request_id=request_id))
        return chunks
