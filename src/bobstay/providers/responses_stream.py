"""Reads the events of OpenAI's Responses API."""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from bobstay.model.message import Stop, Usage
from bobstay.providers.base import Chunk, ProviderError
from bobstay.providers.http_exchange import decoded
from bobstay.providers.message_builder import MessageBuilder

ORIGIN = "openai"
"""Whose thinking it is."""


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
    """Of a hosted search: what was searched for."""


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
    """Takes the events of one response in order."""

    def __init__(self, model: str, headers: dict[str, str] | None = None, origin: str = ORIGIN) -> None:
        self.answer = MessageBuilder(model, origin)
        self.done = False
        self._headers = headers or {}
        self._refused = False

    def feed(self, data: bytes) -> Iterator[Chunk]:
        """Translate one event.

        Raises:
            ProviderError: The event tells of a failure, or is none.
        """
        try:
            event = decoded(data, _decoder)
        except ProviderError:
            if _is_foreign(data):
                return
            raise
        kind = event.type
        if kind in ("response.failed", "error"):
            raise self._failure(event, data)
        if not self.answer.message_id:
            response = event.response or _Response()
            yield self.answer.begin(response.id, response.model)
        if kind in _DELTAS:
            if event.delta and (_DELTAS[kind] != "tool_call" or self.answer.kind == "tool_call"):
                yield from self.answer.add(_DELTAS[kind], event.delta)
        elif kind == "response.output_item.added" and event.item is not None:
            yield from self._item_began(event.item)
        elif kind == "response.output_item.done" and event.item is not None:
            yield from self._item_done(event.item)
        elif kind == "response.reasoning_summary_part.added" and self.answer.kind == "thinking" and self.answer.text:
            yield from self.answer.add("thinking", "\n\n")
        elif kind in ("response.completed", "response.incomplete"):
            yield from self._ended(event.response or _Response())

    def _item_began(self, item: _Item) -> Iterator[Chunk]:
        if item.type == "function_call":
            yield from self.answer.open("tool_call", item.call_id or "", item.name or "")
        elif item.type == "reasoning":
            yield from self.answer.open("thinking")

    def _item_done(self, item: _Item) -> Iterator[Chunk]:
        """The finished item repeats all that was streamed, so what it says is what counts."""
        answer = self.answer
        if item.type == "function_call":
            if answer.kind != "tool_call" or (item.call_id and answer.call_id != item.call_id):
                yield from answer.open("tool_call", item.call_id or "", item.name or "")
            yield from answer.close(item.arguments)
        elif item.type == "reasoning":
            if answer.kind != "thinking":
                yield from answer.open("thinking")
            texts = [part.text for part in (item.summary or item.content or ()) if part.text]
            answer.signature = _signature(item)
            yield from answer.close("\n\n".join(texts))
        elif item.type == "web_search_call":
            yield from answer.open("thinking")
            yield from answer.add("thinking", _searched(item.action))
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

    def _ended(self, response: _Response) -> Iterator[Chunk]:
        self.done = True
        self.answer.usage = _usage(response.usage or _Usage())
        reason = response.incomplete_details.reason if response.incomplete_details else None
        stop: Stop = "refusal" if self._refused or reason == "content_filter" else "end_turn"
        if reason == "max_output_tokens":
            stop = "max_tokens"
        yield from self.answer.end(stop, self._headers.get("x-request-id", ""))

    def _failure(self, event: _Event, data: bytes) -> ProviderError:
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


def _is_foreign(data: bytes) -> bool:
    """Tell whether an event speaks of something we never asked for; then its shape is no business of ours."""
    try:
        event = msgspec.json.decode(data, type=_AnyEvent)
    except (msgspec.DecodeError, RecursionError):
        return False
    if event.item is not None:
        return event.item.type not in ("message", "reasoning", "function_call")
    return event.type not in _DELTAS and event.type not in _UNDERSTOOD


def _searched(action: Any) -> str:
    """A hosted search in words, for whoever reads the thinking it was part of."""
    query = action.get("query") if isinstance(action, dict) else None
    return f"Searched the web for: {query}" if isinstance(query, str) and query else ""


def _signature(item: _Item) -> str:
    """All that must be sent back for the model to go on thinking where it stopped."""
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


_UNDERSTOOD = ("response.created", "response.completed", "response.incomplete", "response.failed", "error")


def _usage(usage: _Usage) -> Usage:
    details = usage.input_tokens_details or _Details()
    read, written = details.cached_tokens or 0, details.cache_write_tokens or 0
    return Usage(max(0, usage.input_tokens - read - written), usage.output_tokens, read, written)
