"""Transcript of a session as plain text, for programs that read it in one piece."""

from collections.abc import Iterable

import msgspec

from bobstay.engine.state import State
from bobstay.model.event import Envelope
from bobstay.model.message import Block, Image, Text, Thinking, ToolCall, ToolReply

MAX_BLOCK = 4_000
MAX_TEXT = 100_000


def render_transcript(branch: Iterable[Envelope]) -> str:
    """Render all messages; of a long transcript the end is kept."""
    state = State()
    for envelope in branch:
        state = state.apply(envelope.event)
    parts = [
        f"{'assistant' if message.role == 'assistant' else 'user'}: {text}"
        for message in state.messages
        for block in message.blocks
        if (text := _render_block(block))
    ]
    whole = "\n\n".join(parts)
    left_out = len(whole) - MAX_TEXT
    return whole if left_out <= 0 else f"[{left_out} characters before this are left out]\n{whole[-MAX_TEXT:]}"


def _render_block(block: Block) -> str:
    match block:
        case Text(text=text):
            return _cut(text)
        case Thinking():
            return ""
        case Image():
            return "[image]"
        case ToolCall(name=name, input=given):
            return f"[calls {name}] {_cut(msgspec.json.encode(given).decode(errors='replace'))}"
        case ToolReply(is_error=is_error):
            return f"[{'error' if is_error else 'result'}] {_cut(block.text)}"


def _cut(text: str) -> str:
    return text if len(text) <= MAX_BLOCK else f"{text[:MAX_BLOCK]} [… {len(text) - MAX_BLOCK} characters left out]"
