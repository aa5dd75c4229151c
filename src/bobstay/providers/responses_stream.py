"""Converts the stream events of OpenAI's Responses API to chunks."""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from bobstay.model.message import Stop, Usage
from bobstay.providers.base import Chunk, ProviderError
from bobstay.providers.http_exchange import decode_event
from bobstay.providers.message_builder import MessageBuilder

ORIGIN = "openai"
"""The origin of thinking blocks."""


class _Details(Struct):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class _Usage(Struct):
    input_tokens: int = 0
    output_tokens: int = 0
    input_tokens_details: _Details | None = None


class _Error(Struct):
    code: str | int | None = None
    message: str | None = None
    type: str | None = None


class _Incomplete(Struct):
    reason: str | None = None


class _Response(Struct):
    id: str = ""
    model: str = ""
    usage: _Usage | None = None
    error: _Error | None = None
    incomplete_details: _Incomplete | None = None


class _Part(Struct):
    text: str | None = None
    refusal: str | None = None


class _Item(Struct):
    type: str
    id: str | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None
    content: list[_Part] | None = None
    summary: list[_Part] | None = None
    encrypted_content: str | None = None
    status: str | None = None
    action: Any = None
    """The query of a hosted search."""


class _Event(Struct):
    type: str
    response: _Response | None = None
    item: _Item | None = None
    delta: str | None = None
    error: _Error | None = None
    code: str | int | None = None
    message: str | None = None


_decoder = msgspec.json.Decoder(_Event)


class ResponsesStreamReader:
    """Reads the events of one response in order."""

    def __init__(self, model: str, headers: dict[str, str] | None = None, origin: str = ORIGIN) -> None:
        self.answer = MessageBuilder(model, origin)
        self.done = False
        self._headers = headers or {}
        self._refused = False

    def feed(self, data: bytes) -> Iterator[Chunk]:
        """Convert one event to chunks.

        Raises:
            ProviderError: The event reports a failure, or cannot be decoded.
        """
        try:
            event = decode_event(data, _decoder)
        except ProviderError:
            if _is_unrequested(data):
                return
            raise
        kind = event.type
        if kind in ("response.failed", "error"):
            raise self._stream_error(event, data)
        if not self.answer.message_id:
            response = event.response or _Response()
            yield self.answer.begin(response.id, response.model)
        if kind in _DELTAS:
            if event.delta and (_DELTAS[kind] != "tool_call" or self.answer.kind == "tool_call"):
                yield from self.answer.add(_DELTAS[kind], event.delta)
        elif kind == "response.output_item.added" and event.item is not None:
            yield from self._start_item(event.item)
        elif kind == "response.output_item.done" and event.item is not None:
            yield from self._finish_item(event.item)
        elif kind == "response.reasoning_summary_part.added" and self.answer.kind == "thinking" and self.answer.text:
            yield from self.answer.add("thinking", "\n\n")
        elif kind in ("response.completed", "response.incomplete"):
            yield from self._finish(event.response or _Response())

    def _start_item(self, item: _Item) -> Iterator[Chunk]:
        if item.type == "function_call":
            yield from self.answer.open("tool_call", item.call_id or "", item.name or "")
        elif item.type == "reasoning":
            yield from self.answer.open("thinking")

    def _finish_item(self, item: _Item) -> Iterator[Chunk]:
        """Complete a block from the finished item, which repeats all that was streamed."""
        answer = self.answer
        if item.type == "function_call":
            if answer.kind != "tool_call" or (item.call_id and answer.call_id != item.call_id):
                yield from answer.open("tool_call", item.call_id or "", item.name or "")
            yield from answer.close(item.arguments)
        elif item.type == "reasoning":
            if answer.kind != "thinking":
                yield from answer.open("thinking")
            texts = [part.text for part in (item.summary or item.content or ()) if part.text]
            answer.signature = _make_signature(item)
            yield from answer.close("\n\n".join(texts))
        elif item.type == "web_search_call":
            yield from answer.open("thinking")
            yield from answer.add("thinking", _describe_search(item.action))
            kept = {"type": item.type, "status": item.status or "completed", "action": item.action}
            answer.signature = msgspec.json.encode(kept).decode()
            yield from answer.close()
        elif item.type == "message":
            parts = item.content or ()
            self._refused = self._refused or any(part.refusal for part in parts)
            whole = "".join(part.text or part.refusal or "" for part in parts)
            if whole and answer.kind != "text":
                yield from answer.add("text", whole)
            yield from answer.close(whole)

    def _finish(self, response: _Response) -> Iterator[Chunk]:
        self.done = True
        self.answer.usage = _read_usage(response.usage or _Usage())
        reason = response.incomplete_details.reason if response.incomplete_details else None
        stop: Stop = "refusal" if self._refused or reason == "content_filter" else "end_turn"
        if reason == "max_output_tokens":
            stop = "max_tokens"
        yield from self.answer.end(stop, self._headers.get("x-request-id", ""))

    def _stream_error(self, event: _Event, data: bytes) -> ProviderError:
        from bobstay.providers.error_kinds import classify

        failure = classify(None, data, self._headers, ORIGIN)
        error = event.error or (event.response and event.response.error) or _Error(event.code)
        if isinstance(error.code, str) and "policy" in error.code:
            return ProviderError(str(failure), kind="refused", status=failure.status)
        return failure


class _AnyItem(Struct):
    type: str


class _AnyEvent(Struct):
    type: str
    item: _AnyItem | None = None


def _is_unrequested(data: bytes) -> bool:
    """Whether an event concerns a feature that was never requested, so that its shape does not matter."""
    try:
        event = msgspec.json.decode(data, type=_AnyEvent)
    except (msgspec.DecodeError, RecursionError):
        return False
    if event.item is not None:
        return event.item.type not in ("message", "reasoning", "function_call")
    return event.type not in _DELTAS and event.type not in _KNOWN_EVENTS


def _describe_search(action: Any) -> str:
    """Describe a hosted search as text for the thinking block that represents it."""
    query = action.get("query") if isinstance(action, dict) else None
    return f"Searched the web for: {query}" if isinstance(query, str) and query else ""


def _make_signature(item: _Item) -> str:
    """Return what must be sent back for the model to continue its reasoning."""
    if not item.encrypted_content:
        return ""
    summary = [{"type": "summary_text", "text": part.text} for part in item.summary or ()]
    kept = {"type": "reasoning", "summary": summary, "encrypted_content": item.encrypted_content}
    return msgspec.json.encode(kept).decode()


_DELTAS: dict[str, Any] = {
    "response.output_text.delta": "text",
    "response.refusal.delta": "text",
    "response.reasoning_summary_text.delta": "thinking",
    "response.reasoning_text.delta": "thinking",
    "response.function_call_arguments.delta": "tool_call",
}


_KNOWN_EVENTS = ("response.created", "response.completed", "response.incomplete", "response.failed", "error")


def _read_usage(usage: _Usage) -> Usage:
    details = usage.input_tokens_details or _Details()
    read, written = details.cached_tokens or 0, details.cache_write_tokens or 0
    return Usage(max(0, usage.input_tokens - read - written), usage.output_tokens, read, written)
