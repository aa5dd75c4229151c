"""The Anthropic Messages API of the test model."""

import itertools
from collections.abc import Iterator
from typing import Any

import msgspec

from tests.modelserver.anthropic_rules import REQUEST_LIMIT, complaints
from tests.modelserver.anthropic_thinking import SentThinking
from tests.modelserver.dialect import Frame, ModelRequest, Refusal
from tests.modelserver.script import Call, Part, Say, Step, Think, Turn, pieces

_NAMES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_STOPS = {"pause": "pause_turn"}
_numbers = itertools.count(1)


class AnthropicDialect:
    name = "anthropic"
    content_type = "text/event-stream"

    def __init__(self) -> None:
        self._sent = SentThinking()

    def owns(self, request: ModelRequest) -> bool:
        return request.method == "POST" and request.path == "/v1/messages"

    def refusal(self, request: ModelRequest) -> Refusal | None:
        if "anthropic-version" not in request.headers:
            return None  # no client of this API: a test of the HTTP client by itself
        credentials = [name for name in ("x-api-key", "authorization") if name in request.headers]
        if len(credentials) != 1:
            # "The SDK sends both headers and the API rejects the request" (anthropics/skills, 2026-07-01).
            return Refusal("invalid x-api-key" if credentials else "x-api-key header is required", 401)
        if len(request.raw) > REQUEST_LIMIT:
            return Refusal("Request exceeds the maximum size", 413)
        body = request.body or {}
        wrong = next(complaints(body), None) or next(self._sent.complaints(body), None)
        return Refusal(wrong) if wrong is not None else None

    def turns(self, request: ModelRequest) -> list[Turn]:
        return [
            Turn(message["role"], _text(message.get("content")))
            for message in (request.body or {}).get("messages", [])
            if message.get("role") in ("user", "assistant")
        ]

    def streams(self, request: ModelRequest) -> bool:
        return bool(request.body and request.body.get("stream"))

    def frames(self, request: ModelRequest, step: Step) -> Iterator[Frame]:
        message = self.whole(request, step)
        content = message["content"]
        usage = message["usage"]
        opening = {**message, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
        yield Frame(_event({"type": "message_start", "message": opening}))
        yield Frame(self.ping())
        for index, (block, part) in enumerate(zip(content, step.blocks, strict=True)):
            start, deltas = _opened(block, part, step.chunk)
            yield Frame(_event({"type": "content_block_start", "index": index, "content_block": start}))
            for delta in deltas:
                yield Frame(_event({"type": "content_block_delta", "index": index, "delta": delta}))
            yield Frame(_event({"type": "content_block_stop", "index": index}), ends_block=True)
        closing = {"stop_reason": message["stop_reason"], "stop_sequence": None}
        yield Frame(_event({"type": "message_delta", "delta": closing, "usage": usage}))
        yield Frame(_event({"type": "message_stop"}))

    def whole(self, request: ModelRequest, step: Step) -> dict[str, Any]:
        calls = any(isinstance(part, Call) for part in step.blocks)
        stop = step.stop or ("tool_use" if calls else "end_turn")
        content = [_block(part) for part in step.blocks]
        self._sent.remember(request.body or {}, content)
        return {
            "id": f"msg_{next(_numbers):08}",
            "type": "message",
            "role": "assistant",
            "model": (request.body or {}).get("model", ""),
            "content": content,
            "stop_reason": _STOPS.get(stop, stop),
            "stop_sequence": None,
            "usage": {
                "input_tokens": step.usage.input,
                "output_tokens": step.usage.output,
                "cache_read_input_tokens": step.usage.cache_read,
                "cache_creation_input_tokens": step.usage.cache_write,
            },
        }

    def error(self, status: int, error_type: str, message: str) -> dict[str, Any]:
        name = error_type or _NAMES.get(status, "api_error")
        return {"type": "error", "error": {"type": name, "message": message}, "request_id": "req_scripted"}

    def error_frame(self, status: int, error_type: str, message: str) -> bytes:
        return _event(self.error(status, error_type, message))

    def ping(self) -> bytes:
        return _event({"type": "ping"})

    def head(self) -> dict[str, str]:
        return {"request-id": f"req_{next(_numbers):08}"}

    def error_head(self, status: int, error_type: str) -> dict[str, str]:
        return {}

    def extra(self, request: ModelRequest) -> Any:
        if request.method == "POST" and request.path == "/v1/messages/count_tokens":
            return {"input_tokens": max(1, len(request.raw) // 4)}
        if request.method == "GET" and request.path == "/v1/models" and "anthropic-version" in request.headers:
            return {"data": [], "has_more": False, "first_id": None, "last_id": None}
        return None


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block.get("text", "") for block in content or [] if block.get("type") == "text")


def _block(part: Part) -> dict[str, Any]:
    match part:
        case Say(text):
            return {"type": "text", "text": text}
        case Think(text, signature, redacted):
            if redacted:
                return {"type": "redacted_thinking", "data": signature}
            return {"type": "thinking", "thinking": text, "signature": signature}
        case Call(name, value, identity, _):
            return {"type": "tool_use", "id": identity or f"toolu_{next(_numbers):08}", "name": name, "input": value}


def _opened(block: dict[str, Any], part: Part, chunk: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return a block as it starts, and the deltas that complete it."""
    match part:
        case Say(text):
            deltas = [{"type": "text_delta", "text": piece} for piece in pieces(text, chunk)]
            return {"type": "text", "text": ""}, deltas
        case Think(text, signature, redacted):
            if redacted:
                return block, []
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(text, chunk)]
            deltas.append({"type": "signature_delta", "signature": signature})
            return {"type": "thinking", "thinking": "", "signature": ""}, deltas
        case Call(_, value, _, raw):
            text = raw or msgspec.json.encode(value).decode()
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces(text, chunk)]
            return {**block, "input": {}}, deltas


def _event(value: dict[str, Any]) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (value["type"].encode(), msgspec.json.encode(value))
