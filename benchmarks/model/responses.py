"""The model speaking OpenAI's Responses API."""

from typing import Any

import msgspec

from benchmarks.model.script import Reply, Tool


class _Item(msgspec.Struct, frozen=True):
    type: str = ""


class _Tool(msgspec.Struct, frozen=True):
    type: str = ""
    name: str = ""
    parameters: dict[str, Any] | None = None
    tools: list["_Tool"] = []


class Asked(msgspec.Struct, frozen=True):
    """What counts in a request; the rest is skipped unread, which keeps the model cheap."""

    input: str | list[_Item] = ""
    tools: list[_Tool] = []
    model: str = ""
    stream: bool = False

    def offered(self) -> list[Tool]:
        flat = [inner for tool in self.tools for inner in ([tool] if tool.type != "namespace" else tool.tools)]
        return [Tool(tool.name or tool.type, tool.parameters or {}) for tool in flat]

    def done(self) -> int:
        return 0 if isinstance(self.input, str) else sum(item.type.endswith("_call_output") for item in self.input)


decode = msgspec.json.Decoder(Asked).decode
_encode = msgspec.json.encode


def stream(reply: Reply, asked: Asked, number: int) -> bytes:
    frames = _Frames()
    items = _items(reply, number)
    frames.add("response.created", response=_response(asked, number, None))
    message = items[0]
    place = {"item_id": message["id"], "output_index": 0, "content_index": 0}
    frames.add("response.output_item.added", output_index=0, item=message | {"status": "in_progress", "content": []})
    empty = {"type": "output_text", "text": "", "annotations": []}
    frames.add("response.content_part.added", **place, part=empty)
    for piece in reply.pieces:
        frames.add("response.output_text.delta", **place, delta=piece)
    frames.add("response.output_text.done", **place, text=message["content"][0]["text"])
    frames.add("response.content_part.done", **place, part=message["content"][0])
    frames.add("response.output_item.done", output_index=0, item=message)
    for call in items[1:]:
        place = {"item_id": call["id"], "output_index": 1}
        frames.add("response.output_item.added", output_index=1, item=call | {"status": "in_progress", "arguments": ""})
        frames.add("response.function_call_arguments.delta", **place, delta=call["arguments"])
        frames.add("response.function_call_arguments.done", **place, arguments=call["arguments"])
        frames.add("response.output_item.done", output_index=1, item=call)
    frames.add("response.completed", response=_response(asked, number, items))
    return b"".join(frames.parts)


def whole(reply: Reply, asked: Asked, number: int) -> bytes:
    return _encode(_response(asked, number, _items(reply, number)))


class _Frames:
    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def add(self, kind: str, **fields: Any) -> None:
        data = _encode({"type": kind, "sequence_number": len(self.parts), **fields})
        self.parts.append(b"event: %s\ndata: %s\n\n" % (kind.encode(), data))


def _items(reply: Reply, number: int) -> list[dict[str, Any]]:
    text = {"type": "output_text", "text": "".join(reply.pieces), "annotations": []}
    items: list[dict[str, Any]] = [
        {"type": "message", "id": f"msg_{number:08}", "status": "completed", "role": "assistant", "content": [text]}
    ]
    if reply.call:
        named = {"id": f"fc_{number:08}", "call_id": f"call_{number:08}", "name": reply.call.name}
        arguments = _encode(reply.call.input).decode()
        items.append({"type": "function_call", **named, "arguments": arguments, "status": "completed"})
    return items


def _response(asked: Asked, number: int, items: list[dict[str, Any]] | None) -> dict[str, Any]:
    usage = {
        "input_tokens": 1200,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 20,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 1220,
    }
    return {
        "id": f"resp_{number:08}",
        "object": "response",
        "created_at": 1_700_000_000,
        "status": "in_progress" if items is None else "completed",
        "model": asked.model,
        "output": items or [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "error": None,
        "usage": None if items is None else usage,
    }
