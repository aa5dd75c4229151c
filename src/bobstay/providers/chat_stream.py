"""Converts the stream of a Chat Completions server to chunks, tolerating the deviations of servers."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from bobstay.model.message import Stop, ToolCall, ToolReply, Usage
from bobstay.providers.base import Chunk, ProviderError, Request
from bobstay.providers.chat_reasoning import THINKING_CHUNKS, ReasoningCollector, model_family
from bobstay.providers.http_exchange import decode_event, truncated_error
from bobstay.providers.message_builder import MessageBuilder, parse_input

if TYPE_CHECKING:
    from bobstay.providers.text_tool_calls import TextToolCall

_HELD_PREFIX_LENGTH = 200
"""Characters at the start of held text that decide whether it may be a call."""


class _Function(Struct):
    name: str | None = None
    arguments: str | dict[str, Any] | None = None


class _CallPiece(Struct):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None


class _Part(Struct):
    """A part of content that is a list, as Mistral sends its reasoning."""

    type: str = ""
    text: str | None = None
    thinking: "str | list[_Part] | None" = None


class _Delta(Struct):
    content: str | list[_Part] | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_details: Any = None
    tool_calls: list[_CallPiece] | None = None


class _Choice(Struct):
    delta: _Delta | None = None
    finish_reason: str | None = None


class _PromptDetails(Struct):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class _Usage(Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _PromptDetails | None = None
    prompt_cache_hit_tokens: int | None = None
    """DeepSeek's field for it."""
    cost: Any = None
    """US dollars, as OpenRouter reports them."""
    is_byok: Any = None
    """The vendor bills the person's own key, and `cost` is OpenRouter's fee alone."""
    cost_details: Any = None


class _Chunk(Struct):
    id: str | None = None
    model: str | None = None
    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    error: Any = None


_decoder = msgspec.json.Decoder(_Chunk)

_STOPS: dict[str, Stop] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "refusal",
}


class ChatStreamReader:
    """Reads the chunks of one completion in order."""

    def __init__(
        self, request: Request, name: str, headers: dict[str, str] | None = None, *, recovers_calls: bool = False
    ) -> None:
        """`recovers_calls`: an answer that consists of tool calls written as text is converted to those calls."""
        self.answer = MessageBuilder(request.model, name)
        self.finished = False
        """The model has given its stop reason; only usage can follow."""
        self.done = False
        self._request = request
        self._headers = headers or {}
        self._stop: Stop = "end_turn"
        self._index: int | None = None
        self._vendor_id = ""
        self._used_ids: set[str] | None = None
        self._recovers = recovers_calls and bool(request.tools)
        self._holds = self._recovers
        self._held: list[str] = []
        self._head = ""
        self._reasoning = ReasoningCollector(model_family(request.model))

    def feed(self, data: bytes) -> Iterator[Chunk]:
        """Translate one chunk.

        Raises:
            ProviderError: The chunk reports a failure, or cannot be decoded.
        """
        if data.strip() == b"[DONE]":
            # Without a stop reason, this at least says that the server ended on purpose.
            yield from self.end(on_purpose=True)
            return
        chunk = decode_event(data, _decoder)
        if chunk.error:
            from bobstay.providers.error_kinds import classify

            raise classify(None, data, self._headers, self.answer.origin)
        if not self.answer.message_id:
            # Not the server's id: small servers reuse ids, and ours must be unique.
            yield self.answer.begin("", chunk.model or "")
        if chunk.usage is not None:
            self.answer.usage = _read_usage(chunk.usage)
            self.answer.cost = _read_cost(chunk.usage)
        for choice in (chunk.choices or ())[:1]:
            if choice.delta is not None and not self.finished:
                yield from self._feed_delta(choice.delta)
            if choice.finish_reason and not self.finished:
                self._stop = _STOPS.get(choice.finish_reason, "end_turn")
                yield from self._finish()

    def end(self, *, on_purpose: bool = False) -> Iterator[Chunk]:
        """Finish the message at the end of the stream.

        Raises:
            ProviderError: The answer is incomplete.
        """
        if not self.finished:
            answer = self.answer
            complete = answer.calls and (
                answer.kind is None or (answer.kind == "tool_call" and _is_complete_json(answer.text))
            )
            if not answer.message_id or not (on_purpose or complete):
                raise truncated_error(answer.origin)
            yield from self._finish()
        self.done = True
        yield from self.answer.end(self._stop, self._headers.get("x-request-id", ""))

    def _feed_delta(self, delta: _Delta) -> Iterator[Chunk]:
        if thought := delta.reasoning_content:
            yield from self._add_thinking("reasoning_content", thought)
        elif thought := delta.reasoning:
            yield from self._add_thinking("reasoning", thought)
        self._reasoning.add_details(delta.reasoning_details)
        if isinstance(delta.content, str):
            yield from self._add_text(delta.content)
        else:
            for part in delta.content or ():
                yield from self._add_thinking(THINKING_CHUNKS, _thinking_text(part.thinking))
                yield from self._add_text(part.text or "")
        if delta.refusal:
            self._stop = "refusal"
            self._sign()
            yield from self.answer.add("text", delta.refusal)
        for piece in delta.tool_calls or ():
            yield from self._add_call(piece)

    def _add_thinking(self, field: str, piece: str) -> Iterator[Chunk]:
        if piece:
            if self.answer.kind != "thinking":
                self._sign()
            self._reasoning.add_field(field)
            yield from self.answer.add("thinking", piece)

    def _sign(self) -> None:
        """Set the signature of the open block; called before another opens or the message ends."""
        if self.answer.kind in ("thinking", "tool_call"):
            self.answer.signature = self._reasoning.take_signature(is_call=self.answer.kind == "tool_call")

    def _add_text(self, piece: str) -> Iterator[Chunk]:
        """Add text. Text that may turn out to be a call is held back until that is known."""
        if not piece:
            return
        if not self._holds:
            self._sign()
            yield from self.answer.add("text", piece)
            return
        from bobstay.providers.text_tool_calls import may_become_call

        self._held.append(piece)
        if len(self._head) < _HELD_PREFIX_LENGTH:
            self._head += piece
        if not may_become_call(self._head):
            yield from self._release_held_text()

    def _release_held_text(self) -> Iterator[Chunk]:
        held = "".join(self._held)
        self._holds = False
        self._held = []
        if held.strip():
            self._sign()
            yield from self.answer.add("text", held)

    def _add_call(self, piece: _CallPiece) -> Iterator[Chunk]:
        function = piece.function or _Function()
        arguments = function.arguments or ""
        if not isinstance(arguments, str):
            arguments = msgspec.json.encode(arguments).decode()
        if self._is_new_call(piece, function):
            if not function.name and not piece.id:
                if arguments.strip():
                    raise ProviderError("The model server sent a piece of a call that had ended.", kind="protocol")
                return
            yield from self._release_held_text()
            self._sign()
            yield from self.answer.open("tool_call", self._unique_id(piece.id or ""), function.name or "")
            self._index = piece.index
            self._vendor_id = piece.id or ""
        yield from self.answer.add("tool_call", arguments)

    def _is_new_call(self, piece: _CallPiece, function: _Function) -> bool:
        """Whether a piece starts a new call, even if the server sends no ids or indexes."""
        if self.answer.kind != "tool_call":
            return True
        if piece.index is not None and self._index is not None and piece.index != self._index:
            return True
        if piece.id and self._vendor_id:
            return piece.id != self._vendor_id
        return bool(function.name) and bool(function.arguments) and _is_complete_json(self.answer.text)

    def _unique_id(self, call_id: str) -> str:
        """Return the server's id, or "" if this session used it before: some servers restart with each message."""
        if self._used_ids is None:
            blocks = (block for message in self._request.messages for block in message.blocks)
            self._used_ids = {block.id for block in blocks if isinstance(block, ToolCall)}
        if call_id in self._used_ids:
            return ""
        self._used_ids.add(call_id)
        return call_id

    def _finish(self) -> Iterator[Chunk]:
        """Complete the last block. An answer that consists of calls written as text becomes those calls."""
        self.finished = True
        self._sign()
        calls = self._recover_calls() if self._holds else ()
        if calls:
            self._held = []
            for call in calls:
                yield from self.answer.add_call("", call.name, msgspec.json.encode(call.input).decode())
            return
        yield from self._release_held_text()
        yield from self.answer.close()

    def _recover_calls(self) -> "tuple[TextToolCall, ...]":
        """Return the calls that the whole answer consists of, unless it only repeats a tool's output."""
        text = "".join(self._held)
        if not text.strip() or self.answer.calls:
            return ()
        from bobstay.providers.text_tool_calls import is_quoted, recover_calls

        calls = recover_calls(text, self._request.tools)
        if not calls:
            return ()
        blocks = (block for message in self._request.messages for block in message.blocks)
        results = [block.text for block in blocks if isinstance(block, ToolReply)]
        return () if is_quoted(text, calls, results) else calls


def _is_complete_json(text: str) -> bool:
    return bool(text.strip()) and not parse_input(text)[1]


def _thinking_text(thinking: "str | list[_Part] | None") -> str:
    if isinstance(thinking, str):
        return thinking
    return "".join(part.text or "" for part in thinking or ())


def _read_cost(usage: _Usage) -> float:
    cost = _read_number(usage.cost)
    if usage.is_byok is True and isinstance(usage.cost_details, dict):
        cost += _read_number(usage.cost_details.get("upstream_inference_cost"))
    return cost


def _read_number(value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value < float("inf") else 0.0


def _read_usage(usage: _Usage) -> Usage:
    details = usage.prompt_tokens_details or _PromptDetails()
    read = details.cached_tokens or usage.prompt_cache_hit_tokens or 0
    written = details.cache_write_tokens or 0
    return Usage(max(0, (usage.prompt_tokens or 0) - read - written), usage.completion_tokens or 0, read, written)
