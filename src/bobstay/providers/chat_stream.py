"""Reads the stream of a Chat Completions server, whichever of its small inaccuracies it has."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from bobstay.model.message import Stop, ToolCall, ToolReply, Usage
from bobstay.providers.base import Chunk, ProviderError, Request
from bobstay.providers.chat_reasoning import THINKING_CHUNKS, Collector, family_of
from bobstay.providers.http_exchange import broken_off, decoded
from bobstay.providers.message_builder import MessageBuilder, parse_input

if TYPE_CHECKING:
    from bobstay.providers.text_tool_calls import LeakedCall

_HELD_HEAD = 200
"""Characters by which text that is held back is judged."""


class _Function(Struct):
    name: str | None = None
    arguments: str | dict[str, Any] | None = None


class _CallPiece(Struct):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None


class _Part(Struct):
    """A piece of content where it is a list, as Mistral sends its reasoning."""

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
    """Where DeepSeek says it."""
    cost: Any = None
    """US dollars, as OpenRouter tells them."""
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
    """Takes the chunks of one completion in order."""

    def __init__(
        self, request: Request, name: str, headers: dict[str, str] | None = None, *, recovers_calls: bool = False
    ) -> None:
        """`recovers_calls`: a whole answer that is a call written as text is taken for the call it was meant to be."""
        self.answer = MessageBuilder(request.model, name)
        self.finished = False
        """The model has said why it stopped; only numbers can follow."""
        self.done = False
        self._request = request
        self._headers = headers or {}
        self._stop: Stop = "end_turn"
        self._index: int | None = None
        self._vendor_id = ""
        self._taken: set[str] | None = None
        self._recovers = recovers_calls and bool(request.tools)
        self._holds = self._recovers
        self._held: list[str] = []
        self._head = ""
        self._reasoning = Collector(family_of(request.model))

    def feed(self, data: bytes) -> Iterator[Chunk]:
        """Translate one chunk.

        Raises:
            ProviderError: The chunk tells of a failure, or is none.
        """
        if data.strip() == b"[DONE]":
            # A server that ends like this without a reason has at least ended on purpose.
            yield from self.end(on_purpose=True)
            return
        chunk = decoded(data, _decoder)
        if chunk.error:
            from bobstay.providers.error_kinds import classify

            raise classify(None, data, self._headers, self.answer.origin)
        if not self.answer.message_id:
            # Not the server's id: small servers number from a small range, and ours must never meet again.
            yield self.answer.begin("", chunk.model or "")
        if chunk.usage is not None:
            self.answer.usage = _usage(chunk.usage)
            self.answer.cost = _cost(chunk.usage)
        for choice in (chunk.choices or ())[:1]:
            if choice.delta is not None and not self.finished:
                yield from self._delta(choice.delta)
            if choice.finish_reason and not self.finished:
                self._stop = _STOPS.get(choice.finish_reason, "end_turn")
                yield from self._finish()

    def end(self, *, on_purpose: bool = False) -> Iterator[Chunk]:
        """The stream is over.

        Raises:
            ProviderError: In the middle of the answer.
        """
        if not self.finished:
            answer = self.answer
            complete = answer.calls and (answer.kind is None or (answer.kind == "tool_call" and _is_whole(answer.text)))
            if not answer.message_id or not (on_purpose or complete):
                raise broken_off(answer.origin)
            yield from self._finish()
        self.done = True
        yield from self.answer.end(self._stop, self._headers.get("x-request-id", ""))

    def _delta(self, delta: _Delta) -> Iterator[Chunk]:
        if thought := delta.reasoning_content:
            yield from self._thought("reasoning_content", thought)
        elif thought := delta.reasoning:
            yield from self._thought("reasoning", thought)
        self._reasoning.add_details(delta.reasoning_details)
        if isinstance(delta.content, str):
            yield from self._text(delta.content)
        else:
            for part in delta.content or ():
                yield from self._thought(THINKING_CHUNKS, _words(part.thinking))
                yield from self._text(part.text or "")
        if delta.refusal:
            self._stop = "refusal"
            self._sign()
            yield from self.answer.add("text", delta.refusal)
        for piece in delta.tool_calls or ():
            yield from self._call(piece)

    def _thought(self, field: str, piece: str) -> Iterator[Chunk]:
        if piece:
            if self.answer.kind != "thinking":
                self._sign()
            self._reasoning.add_field(field)
            yield from self.answer.add("thinking", piece)

    def _sign(self) -> None:
        """Give the open block what must go back with it; called before another opens or the message ends."""
        if self.answer.kind in ("thinking", "tool_call"):
            self.answer.signature = self._reasoning.take(is_call=self.answer.kind == "tool_call")

    def _text(self, piece: str) -> Iterator[Chunk]:
        """Text that may be a call in disguise is held back until that is known: nobody wants to read it."""
        if not piece:
            return
        if not self._holds:
            self._sign()
            yield from self.answer.add("text", piece)
            return
        from bobstay.providers.text_tool_calls import may_become_call

        self._held.append(piece)
        if len(self._head) < _HELD_HEAD:
            self._head += piece
        if not may_become_call(self._head):
            yield from self._release()

    def _release(self) -> Iterator[Chunk]:
        held = "".join(self._held)
        self._holds = False
        self._held = []
        if held.strip():
            self._sign()
            yield from self.answer.add("text", held)

    def _call(self, piece: _CallPiece) -> Iterator[Chunk]:
        function = piece.function or _Function()
        arguments = function.arguments or ""
        if not isinstance(arguments, str):
            arguments = msgspec.json.encode(arguments).decode()
        if self._begins(piece, function):
            if not function.name and not piece.id:
                if arguments.strip():
                    raise ProviderError("The model server sent a piece of a call that had ended.", kind="protocol")
                return
            yield from self._release()
            self._sign()
            yield from self.answer.open("tool_call", self._own_id(piece.id or ""), function.name or "")
            self._index = piece.index
            self._vendor_id = piece.id or ""
        yield from self.answer.add("tool_call", arguments)

    def _begins(self, piece: _CallPiece, function: _Function) -> bool:
        """Tell a new call from more of the open one, also where a server leaves out ids or counts none."""
        if self.answer.kind != "tool_call":
            return True
        if piece.index is not None and self._index is not None and piece.index != self._index:
            return True
        if piece.id and self._vendor_id:
            return piece.id != self._vendor_id
        return bool(function.name) and bool(function.arguments) and _is_whole(self.answer.text)

    def _own_id(self, call_id: str) -> str:
        """The server's id, or none if it was used before in this session: some begin anew with each message."""
        if self._taken is None:
            blocks = (block for message in self._request.messages for block in message.blocks)
            self._taken = {block.id for block in blocks if isinstance(block, ToolCall)}
        if call_id in self._taken:
            return ""
        self._taken.add(call_id)
        return call_id

    def _finish(self) -> Iterator[Chunk]:
        """Complete the last block. An answer that was meant as calls, but came as text, becomes calls."""
        self.finished = True
        self._sign()
        calls = self._leaked() if self._holds else ()
        if calls:
            self._held = []
            for call in calls:
                yield from self.answer.whole_call("", call.name, msgspec.json.encode(call.input).decode())
            return
        yield from self._release()
        yield from self.answer.close()

    def _leaked(self) -> "tuple[LeakedCall, ...]":
        """The calls that the whole answer consists of, unless it only repeats what a tool has shown the model."""
        text = "".join(self._held)
        if not text.strip() or self.answer.calls:
            return ()
        from bobstay.providers.text_tool_calls import is_quoted, recover

        calls = recover(text, self._request.tools)
        if not calls:
            return ()
        blocks = (block for message in self._request.messages for block in message.blocks)
        results = [block.text for block in blocks if isinstance(block, ToolReply)]
        return () if is_quoted(text, calls, results) else calls


def _is_whole(text: str) -> bool:
    return bool(text.strip()) and not parse_input(text)[1]


def _words(thinking: "str | list[_Part] | None") -> str:
    if isinstance(thinking, str):
        return thinking
    return "".join(part.text or "" for part in thinking or ())


def _cost(usage: _Usage) -> float:
    cost = _number(usage.cost)
    if usage.is_byok is True and isinstance(usage.cost_details, dict):
        cost += _number(usage.cost_details.get("upstream_inference_cost"))
    return cost


def _number(value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value < float("inf") else 0.0


def _usage(usage: _Usage) -> Usage:
    details = usage.prompt_tokens_details or _PromptDetails()
    read = details.cached_tokens or usage.prompt_cache_hit_tokens or 0
    written = details.cache_write_tokens or 0
    return Usage(max(0, (usage.prompt_tokens or 0) - read - written), usage.completion_tokens or 0, read, written)
