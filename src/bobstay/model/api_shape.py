"""Converts blocks to the JSON of Anthropic's Messages API and back; hosts and transcripts use that shape too."""

from collections.abc import Iterable
from typing import Any, Literal

from bobstay.model.message import Block, Image, ReplyPart, Stop, Text, Thinking, ToolCall, ToolReply, Usage

THINKING_ORIGIN = "anthropic"
"""The vendor whose signature thinking blocks in this shape carry."""


def block_json(block: Block) -> dict[str, Any]:
    """Return `block` as a content block of the API."""
    match block:
        case Text():
            return {"type": "text", "text": block.text}
        case Thinking(redacted=True):
            return {"type": "redacted_thinking", "data": block.signature}
        case Thinking():
            return {"type": "thinking", "thinking": block.text, "signature": block.signature}
        case Image():
            source = {"type": "base64", "media_type": block.media_type, "data": block.data}
            return {"type": "image", "source": source}
        case ToolCall():
            return {"type": "tool_use", "id": block.id, "name": block.name, "input": block.input}
        case ToolReply():
            return _tool_result(block)


def _tool_result(reply: ToolReply) -> dict[str, Any]:
    result: dict[str, Any] = {"tool_use_id": reply.call_id, "type": "tool_result", "content": reply_content(reply)}
    if reply.is_error:
        result["is_error"] = True
    return result


def reply_content(reply: ToolReply) -> str | list[dict[str, Any]]:
    """Return the content of a reply: a plain string if it is a single text, otherwise a list of blocks."""
    if not reply.content:
        return ""
    if len(reply.content) == 1 and isinstance(reply.content[0], Text):
        return reply.content[0].text
    return [block_json(part) for part in reply.content]


def usage_json(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": usage.output,
    }


def stop_json(stop: Stop | None) -> str | None:
    return "pause_turn" if stop == "pause" else stop


def message_json(
    role: Literal["user", "assistant"],
    blocks: Iterable[Block],
    *,
    id: str = "",
    model: str = "",
    stop: Stop | None = None,
    usage: Usage | None = None,
) -> dict[str, Any]:
    """Return a whole message. A user's has only `role` and `content`, as hosts send it."""
    content = [block_json(block) for block in blocks]
    if role == "user":
        return {"role": "user", "content": content}
    return {
        "id": id,
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": stop_json(stop),
        "stop_sequence": None,
        "usage": usage_json(usage or Usage()),
    }


def block_from_json(data: object) -> Block | None:
    """Return the block that `data` describes, or None if its type is unknown. Never raises."""
    if not isinstance(data, dict):
        return None
    match data.get("type"):
        case "text":
            text = data.get("text")
            return Text(text) if isinstance(text, str) else None
        case "thinking":
            return Thinking(_text(data, "thinking"), _text(data, "signature"), THINKING_ORIGIN)
        case "redacted_thinking":
            return Thinking("", _text(data, "data"), THINKING_ORIGIN, redacted=True)
        case "image":
            return _image(data.get("source"))
        case "tool_use":
            return _call(data)
        case "tool_result":
            return _reply(data)
        case _:
            return None


def blocks_from_json(content: object) -> tuple[Block, ...]:
    """Return the blocks of a message's `content`, which may be plain text; unknown blocks are left out."""
    if isinstance(content, str):
        return (Text(content),) if content else ()
    if not isinstance(content, list):
        return ()
    blocks = (block_from_json(entry) for entry in content)
    return tuple(block for block in blocks if block is not None)


def usage_from_json(data: object) -> Usage:
    """Return the four counts in `data`; a missing or invalid count is zero."""
    if not isinstance(data, dict):
        return Usage()
    return Usage(
        _count(data, "input_tokens"),
        _count(data, "output_tokens"),
        _count(data, "cache_read_input_tokens"),
        _count(data, "cache_creation_input_tokens"),
    )


_STOPS: dict[str, Stop] = {
    "end_turn": "end_turn",
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    "model_context_window_exceeded": "max_tokens",
    "stop_sequence": "stop_sequence",
    "refusal": "refusal",
    "pause_turn": "pause",
}


def stop_from_json(data: object) -> Stop | None:
    return _STOPS.get(data) if isinstance(data, str) else None


def _image(source: object) -> Image | None:
    if not isinstance(source, dict) or source.get("type") != "base64":
        return None
    media_type, data = _text(source, "media_type"), _text(source, "data")
    return Image(media_type, data) if media_type and data else None


def _call(data: dict[str, Any]) -> ToolCall | None:
    call_id, name, arguments = _text(data, "id"), _text(data, "name"), data.get("input")
    if not call_id or not name:
        return None
    if isinstance(arguments, dict):
        return ToolCall(call_id, name, arguments)
    return ToolCall(call_id, name, {}, malformed=arguments if isinstance(arguments, str) else repr(arguments))


def _reply(data: dict[str, Any]) -> ToolReply | None:
    call_id = _text(data, "tool_use_id")
    if not call_id:
        return None
    parts: list[ReplyPart] = []
    for block in blocks_from_json(data.get("content")):
        if isinstance(block, Text | Image):
            parts.append(block)  # noqa: PERF401 - the type checker narrows a loop, not a comprehension
    return ToolReply(call_id, tuple(parts), is_error=data.get("is_error") is True)


def _text(data: dict[str, Any], key: str) -> str:
    value = data.get(key)
    return value if isinstance(value, str) else ""


def _count(data: dict[str, Any], key: str) -> int:
    value = data.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def prompt_content(blocks: tuple[Block, ...]) -> str | list[dict[str, Any]]:
    """Return a prompt as hosts send it: a plain string if it is a single text, otherwise a list of blocks."""
    if len(blocks) == 1 and isinstance(blocks[0], Text):
        return blocks[0].text
    return [block_json(block) for block in blocks]
