"""Parses prompts of hosts into message blocks."""

from typing import Any

from bobstay.model.api_shape import block_from_json
from bobstay.model.message import Block, Image, Text


def parse_prompt(frame: dict[str, Any]) -> tuple[Block, ...]:
    """The content of a `user` line. Unsupported content is replaced by a note that names it."""
    message = frame.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return (Text(content),) if content else ()
    if not isinstance(content, list):
        return ()
    return tuple(_block(entry) for entry in content)


def parse_client_id(frame: dict[str, Any]) -> str:
    given = frame.get("uuid")
    return given if isinstance(given, str) else ""


def is_verbatim(frame: dict[str, Any]) -> bool:
    """Whether the host composed the prompt, so that nothing in it is a command or a mention of a file."""
    return frame.get("client_composed") is True


def _block(entry: object) -> Block:
    block = block_from_json(entry)
    if isinstance(block, Text | Image):
        return block
    kind = entry.get("type") if isinstance(entry, dict) else type(entry).__name__
    return Text(f"[A part of this message was left out: content of type {kind!r} is not supported in a prompt.]")
