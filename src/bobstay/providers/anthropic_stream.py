"""Converts the stream events of an Anthropic answer to chunks."""

from collections.abc import Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from bobstay.model.event import BlockDone, MessageDone
from bobstay.model.ids import new_id
from bobstay.model.live_events import BlockBegan, InputDelta, MessageBegan, TextDelta, ThinkingDelta
from bobstay.model.message import Block, Stop, Text, Thinking, ToolCall, Usage
from bobstay.providers.base import Chunk, ProviderError
from bobstay.providers.message_builder import generate_call_id, parse_input
from bobstay.providers.message_encoding import from_json

STOPS: dict[str, Stop] = {
    "end_turn": "end_turn",
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    "model_context_window_exceeded": "max_tokens",
    "stop_sequence": "stop_sequence",
    "refusal": "refusal",
    "pause_turn": "pause",
}


class _Delta(Struct):
    type: str = ""
    text: str | None = None
    thinking: str | None = None
    partial_json: str | None = None
    signature: str | None = None
    stop_reason: str | None = None


class _Event(Struct):
    type: str = ""
    index: int = 0
    delta: _Delta | None = None
    content_block: dict[str, Any] | None = None
    message: dict[str, Any] | None = None
    usage: dict[str, Any] | None = None


_decode = msgspec.json.Decoder(_Event).decode


class _OpenBlock:
    """A block that is not complete yet."""

    __slots__ = ("index", "kind", "parts", "seed", "signature")

    def __init__(self, index: int, kind: str, seed: dict[str, Any]) -> None:
        self.index = index
        self.kind = kind
        self.seed = seed
        self.parts: list[str] = []
        self.signature = ""


class AnthropicMessageReader:
    """Call `feed` with the data of each event. `complete` is set once the vendor says that the message is complete."""

    def __init__(self, model: str, headers: dict[str, str], origin: str = "anthropic") -> None:
        self.complete = False
        self._origin = origin
        self._model = model
        self._headers = headers
        self._id = ""
        self._usage = Usage()
        self._final = Usage()
        self._stop: Stop | None = None
        self._open: dict[int, _OpenBlock] = {}
        self._blocks = 0
        self._called = False
        self._query = ""

    def feed(self, data: bytes) -> Sequence[Chunk]:
        try:
            event = _decode(data)
        except (ValueError, RecursionError):
            event = _decode_leniently(data)
        kind = event.type
        if kind == "content_block_delta":
            return self._add_delta(event)
        if kind == "message_start":
            return self._begin_message(event.message or {})
        if kind == "error":
            raise self._stream_error(data)
        if not self._id:
            return ()  # a ping, or an unknown event
        if kind == "content_block_start":
            return self._start_block(event.index, event.content_block or {})
        if kind == "content_block_stop":
            return self._finish_block(event.index)
        if kind == "message_delta":
            self._final = _update_usage(event.usage or {}, self._final)
            if event.delta is not None and event.delta.stop_reason:
                self._stop = STOPS.get(event.delta.stop_reason, "end_turn")
        elif kind == "message_stop":
            return self._end_message()
        return ()

    def _begin_message(self, message: dict[str, Any]) -> Sequence[Chunk]:
        if self._id:
            return ()
        identity, model, usage = message.get("id"), message.get("model"), message.get("usage")
        self._id = identity if isinstance(identity, str) and identity else new_id()
        if isinstance(model, str) and model:
            self._model = model
        self._usage = self._final = _update_usage(usage if isinstance(usage, dict) else {}, Usage())
        return (MessageBegan(self._id, self._model, self._usage),)

    def _start_block(self, position: int, seed: dict[str, Any]) -> Sequence[Chunk]:
        kind = seed.get("type")
        if not isinstance(kind, str) or position in self._open:
            return ()
        shown = _BLOCK_KINDS.get(kind)
        building = _OpenBlock(self._blocks, kind, seed)
        self._open[position] = building
        if shown is None:
            return ()
        self._blocks += 1
        if shown == "tool_call":
            seed["id"] = _get_string(seed, "id") or generate_call_id()
            return (BlockBegan(self._id, building.index, shown, call_id=seed["id"], name=_get_string(seed, "name")),)
        began = BlockBegan(self._id, building.index, shown)
        first = _get_string(seed, "text") or _get_string(seed, "thinking")
        if not first:
            return (began,)
        building.parts.append(first)
        delta = TextDelta if shown == "text" else ThinkingDelta
        return (began, delta(self._id, building.index, first))

    def _add_delta(self, event: _Event) -> Sequence[Chunk]:
        building = self._open.get(event.index)
        delta = event.delta
        if building is None or delta is None:
            return ()
        if delta.text:
            building.parts.append(delta.text)
            return (TextDelta(self._id, building.index, delta.text),) if building.kind == "text" else ()
        if delta.partial_json:
            building.parts.append(delta.partial_json)
            return (InputDelta(self._id, building.index, delta.partial_json),) if building.kind == "tool_use" else ()
        if delta.thinking:
            building.parts.append(delta.thinking)
            return (ThinkingDelta(self._id, building.index, delta.thinking),) if building.kind == "thinking" else ()
        if delta.signature:
            building.signature += delta.signature
        return ()

    def _finish_block(self, position: int) -> Sequence[Chunk]:
        building = self._open.pop(position, None)
        if building is None:
            return ()
        if building.kind == "server_tool_use":
            self._query = _search_query(building)
        if building.kind not in _BLOCK_KINDS:
            return ()
        block = self._build_block(building)
        self._called = self._called or isinstance(block, ToolCall)
        done = BlockDone(self._id, building.index, block, model=self._model, usage=self._usage)
        if building.kind == "web_search_tool_result" and isinstance(block, Text):
            return (TextDelta(self._id, building.index, block.text), done)
        return (done,)

    def _build_block(self, building: _OpenBlock) -> Block:
        text = "".join(building.parts)
        match building.kind:
            case "thinking":
                signature = building.signature or _get_string(building.seed, "signature")
                return Thinking(text, signature=signature, origin=self._origin)
            case "redacted_thinking":
                return Thinking("", signature=_get_string(building.seed, "data"), origin=self._origin, redacted=True)
            case "tool_use":
                return _build_call(building.seed, text)
            case "web_search_tool_result":
                return Text(_describe_search(self._query, building.seed.get("content")))
            case _:
                return Text(text)

    def _end_message(self) -> Sequence[Chunk]:
        self.complete = True
        stop = self._stop or ("tool_use" if self._called else "end_turn")
        request_id = self._headers.get("request-id", "")
        return (MessageDone(self._id, self._model, stop, self._final, request_id=request_id),)

    def _stream_error(self, data: bytes) -> ProviderError:
        from bobstay.providers.error_kinds import classify

        return classify(None, data, self._headers, "anthropic")


_BLOCK_KINDS: dict[str, Literal["text", "thinking", "tool_call"]] = {
    "text": "text",
    "thinking": "thinking",
    "redacted_thinking": "thinking",
    "tool_use": "tool_call",
    "web_search_tool_result": "text",
}


def _decode_leniently(data: bytes) -> _Event:
    """Decode again, replacing invalid UTF-8. Raises `ProviderError` if the data is still not an event."""
    try:
        value = from_json(data)
        return msgspec.convert(value, _Event)
    except ValueError as error:
        raise ProviderError(f"The model server sent an event that cannot be read: {error}", kind="protocol") from error


def _update_usage(counts: dict[str, Any], before: Usage) -> Usage:
    """Update the usage with the reported counts; the others stay as they were."""

    def count(name: str, known: int) -> int:
        value = counts.get(name)
        return value if isinstance(value, int) and value >= 0 else known

    return Usage(
        input=count("input_tokens", before.input),
        output=count("output_tokens", before.output),
        cache_read=count("cache_read_input_tokens", before.cache_read),
        cache_write=count("cache_creation_input_tokens", before.cache_write),
    )


def _build_call(seed: dict[str, Any], text: str) -> ToolCall:
    identity, name = _get_string(seed, "id"), _get_string(seed, "name")
    whole = seed.get("input")
    if not text.strip() and isinstance(whole, dict):
        # Some servers send the complete input here, where Anthropic's own sends an empty object.
        return ToolCall(identity, name, whole)
    value, malformed = parse_input(text)
    return ToolCall(identity, name, value, malformed=malformed)


def _search_query(building: _OpenBlock) -> str:
    value = _build_call(building.seed, "".join(building.parts)).input.get("query")
    return value if isinstance(value, str) else ""


def _describe_search(query: str, content: Any) -> str:
    """Describe a search that the vendor ran as text, which can be shown, logged and sent to any model later."""
    title = f'Web search for "{query}"' if query else "Web search"
    if isinstance(content, dict):
        return f"{title} failed: {content.get('error_code', 'unknown reason')}"
    results = content if isinstance(content, list) else []
    lines = [
        f"- {_get_string(result, 'title')}: {_get_string(result, 'url')}"
        for result in results
        if isinstance(result, dict)
    ]
    return "\n".join([f"{title}:", *(lines or ["(nothing found)"])])


def _get_string(value: dict[str, Any], key: str) -> str:
    found = value.get(key)
    return found if isinstance(found, str) else ""
