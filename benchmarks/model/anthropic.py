"""The model speaking Anthropic Messages."""

from typing import Any

import msgspec

from benchmarks.model.script import Reply, Tool


class _Block(msgspec.Struct, frozen=True):
    type: str = ""


class _Message(msgspec.Struct, frozen=True):
    content: str | list[_Block] = ""


class _Tool(msgspec.Struct, frozen=True):
    name: str = ""
    input_schema: dict[str, Any] = {}


class Asked(msgspec.Struct, frozen=True):
    """What counts in a request; the rest is skipped unread, which keeps the model cheap."""

    messages: list[_Message] = []
    tools: list[_Tool] = []
    model: str = ""
    stream: bool = False

    def offered(self) -> list[Tool]:
        return [Tool(tool.name, tool.input_schema) for tool in self.tools]

    def done(self) -> int:
        blocks = (m.content for m in self.messages if not isinstance(m.content, str))
        return sum(block.type == "tool_result" for found in blocks for block in found)


decode = msgspec.json.Decoder(Asked).decode
_encode = msgspec.json.encode


def stream(reply: Reply, asked: Asked, number: int) -> bytes:
    frames = [_frame("message_start", message=_message(asked, number))]
    frames.append(_frame("content_block_start", index=0, content_block={"type": "text", "text": ""}))
    frames += [
        _frame("content_block_delta", index=0, delta={"type": "text_delta", "text": piece}) for piece in reply.pieces
    ]
    frames.append(_frame("content_block_stop", index=0))
    for index, call in enumerate((*([reply.call] if reply.call else ()), *reply.more), 1):
        block = {"type": "tool_use", "id": f"toolu_{number:08}_{index}", "name": call.name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": _encode(call.input).decode()}
        frames.append(_frame("content_block_start", index=index, content_block=block))
        frames.append(_frame("content_block_delta", index=index, delta=delta))
        frames.append(_frame("content_block_stop", index=index))
    frames.append(_frame("message_delta", delta={"stop_reason": _stop(reply), "stop_sequence": None}, usage=_usage(20)))
    frames.append(_frame("message_stop"))
    return b"".join(frames)


def whole(reply: Reply, asked: Asked, number: int) -> bytes:
    blocks: list[dict[str, Any]] = [{"type": "text", "text": "".join(reply.pieces)}]
    if reply.call:
        blocks.append({"type": "tool_use", "id": f"toolu_{number:08}", **msgspec.to_builtins(reply.call)})
    message = _message(asked, number) | {"content": blocks, "stop_reason": _stop(reply), "usage": _usage(20)}
    return _encode(message)


def _message(asked: Asked, number: int) -> dict[str, Any]:
    return {
        "id": f"msg_{number:08}",
        "type": "message",
        "role": "assistant",
        "model": asked.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": _usage(1),
    }


def _usage(output: int) -> dict[str, int]:
    return {
        "input_tokens": 1200,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": output,
    }


def _stop(reply: Reply) -> str:
    return "tool_use" if reply.call else "end_turn"


def _frame(kind: str, **fields: Any) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (kind.encode(), _encode({"type": kind, **fields}))
