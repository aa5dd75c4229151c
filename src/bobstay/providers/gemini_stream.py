"""Converts the stream of the Gemini API to chunks: each event is a piece of the answer with parts."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from bobstay.model.message import Stop, Usage
from bobstay.providers.base import Chunk, ProviderError, Request
from bobstay.providers.http_exchange import decode_event
from bobstay.providers.message_builder import MessageBuilder

ORIGIN = "gemini"


class _FunctionCall(Struct):
    name: str | None = None
    args: dict[str, Any] | None = None
    id: str | None = None


class _Part(Struct, rename="camel"):
    text: str | None = None
    thought: bool | None = None
    thought_signature: str | None = None
    function_call: _FunctionCall | None = None


class _Content(Struct):
    parts: list[_Part] | None = None


class _Candidate(Struct, rename="camel"):
    content: _Content | None = None
    finish_reason: str | None = None
    finish_message: str | None = None


class _UsageMetadata(Struct, rename="camel"):
    prompt_token_count: int | None = None
    cached_content_token_count: int | None = None
    candidates_token_count: int | None = None
    thoughts_token_count: int | None = None
    tool_use_prompt_token_count: int | None = None


class _PromptFeedback(Struct, rename="camel"):
    block_reason: str | None = None
    block_reason_message: str | None = None


class _Piece(Struct, rename="camel"):
    candidates: list[_Candidate] | None = None
    usage_metadata: _UsageMetadata | None = None
    prompt_feedback: _PromptFeedback | None = None
    response_id: str | None = None
    model_version: str | None = None
    error: Any = None


_decoder = msgspec.json.Decoder(_Piece)

_STOPS: dict[str, Stop] = {
    "STOP": "end_turn",
    "MAX_TOKENS": "max_tokens",
    "CONTINUATION": "max_tokens",
    "SAFETY": "refusal",
    "RECITATION": "refusal",
    "LANGUAGE": "refusal",
    "BLOCKLIST": "refusal",
    "PROHIBITED_CONTENT": "refusal",
    "SPII": "refusal",
    "IMAGE_SAFETY": "refusal",
    "IMAGE_PROHIBITED_CONTENT": "refusal",
    "IMAGE_RECITATION": "refusal",
}
_MALFORMED = ("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE")
_WORD = re.compile(r"[A-Za-z_][\w.:-]*")


class GeminiStreamReader:
    """Reads the pieces of one answer in order."""

    def __init__(self, request: Request, headers: dict[str, str] | None = None) -> None:
        self.answer = MessageBuilder(request.model, ORIGIN)
        self.finished = False
        self._names = frozenset(tool.name for tool in request.tools)
        self._headers = headers or {}
        self._stop: Stop = "end_turn"
        self._response_id = ""

    def feed(self, data: bytes) -> Iterator[Chunk]:
        """Convert one piece to chunks.

        Raises:
            ProviderError: The piece reports a failure or a refusal, or cannot be decoded.
        """
        piece = decode_event(data, _decoder)
        if piece.error:
            from bobstay.providers.error_kinds import classify

            raise classify(None, data, self._headers, ORIGIN)
        if piece.prompt_feedback is not None and piece.prompt_feedback.block_reason:
            raise _blocked_error(piece.prompt_feedback)
        if piece.usage_metadata is not None:
            self.answer.usage = _read_usage(piece.usage_metadata)
        if not self.answer.message_id:
            self._response_id = piece.response_id or ""
            counted = Usage(self.answer.usage.input, 0, self.answer.usage.cache_read)
            yield self.answer.begin(self._response_id, piece.model_version or "", counted)
        for candidate in (piece.candidates or ())[:1]:
            for part in (candidate.content and candidate.content.parts) or ():
                yield from self._add_part(part)
            if candidate.finish_reason and candidate.finish_reason != "FINISH_REASON_UNSPECIFIED":
                yield from self._finish(candidate)

    def end(self) -> Iterator[Chunk]:
        request_id = self._headers.get("x-goog-request-id", "") or self._response_id
        yield from self.answer.end(self._stop, request_id)

    def _add_part(self, part: _Part) -> Iterator[Chunk]:
        signature = part.thought_signature or ""
        answer = self.answer
        if part.function_call is not None:
            call = part.function_call
            text = msgspec.json.encode(call.args or {}).decode()
            yield from answer.add_call(call.id or "", call.name or "", text, signature)
        elif part.thought:
            yield from answer.add("thinking", part.text or "")
            if signature:
                if answer.kind != "thinking":
                    yield from answer.open("thinking")
                answer.signature = signature
                yield from answer.close()
        elif part.text is not None:
            yield from answer.add("text", part.text)
            if signature:
                # Text blocks have no signature, so it becomes an empty thinking block after the text.
                yield from answer.open("thinking")
                answer.signature = signature
                yield from answer.close()

    def _finish(self, candidate: _Candidate) -> Iterator[Chunk]:
        reason = candidate.finish_reason or ""
        self.finished = True
        if reason in _MALFORMED:
            yield from self._report_malformed_call(reason, candidate.finish_message or "")
        elif reason in _STOPS:
            self._stop = _STOPS[reason]
        elif not self.answer.blocks and self.answer.kind is None:
            why = candidate.finish_message or reason
            raise ProviderError(f"The model ended without an answer: {why}", kind="protocol")
        yield from self.answer.close()

    def _report_malformed_call(self, reason: str, message: str) -> Iterator[Chunk]:
        """Report a call that the vendor could not parse to the model, if the message names its tool."""
        name = next((candidate for candidate in _candidate_names(message) if candidate in self._names), None)
        if name is None:
            raise ProviderError(f"The model made a malformed call: {message or reason}", kind="protocol")
        yield from self.answer.open("tool_call", "", name)
        yield from self.answer.close(message)


def _candidate_names(text: str) -> Iterator[str]:
    for match in _WORD.finditer(text):
        yield match[0]
        yield match[0].rpartition(".")[2]


def _blocked_error(feedback: _PromptFeedback) -> ProviderError:
    why = feedback.block_reason_message or feedback.block_reason
    return ProviderError(f"Gemini refused to answer this prompt: {why}", kind="refused")


def _read_usage(counted: _UsageMetadata) -> Usage:
    read = counted.cached_content_token_count or 0
    prompt = (counted.prompt_token_count or 0) + (counted.tool_use_prompt_token_count or 0)
    written = (counted.candidates_token_count or 0) + (counted.thoughts_token_count or 0)
    return Usage(max(0, prompt - read), written, read)
