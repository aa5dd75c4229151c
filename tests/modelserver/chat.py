"""The Chat Completions API of the test model, as OpenAI and many compatible servers have it."""

import itertools
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from tests.modelserver.chat_rules import refusal_of, vendor_of
from tests.modelserver.dialect import Frame, ModelRequest, Refusal
from tests.modelserver.script import Call, Part, Say, Step, Think, Turn, pieces

_STOPS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "refusal": "content_filter",
}
_CODES = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded", 500: "server_error"}
_numbers = itertools.count(1)


class ChatDialect:
    """Plays every vendor of this format: the first part of the path names it, as in `/deepseek/chat/completions`."""

    name = "openai-chat"
    content_type = "text/event-stream"

    def __init__(self) -> None:
        self._signatures: dict[str, str] = {}
        """Signatures of OpenRouter's Gemini, by call id."""
        self._loaded: list[str] = []
        """The models that were requested from Ollama."""

    def owns(self, request: ModelRequest) -> bool:
        return request.method == "POST" and request.path.endswith("/chat/completions")

    def refusal(self, request: ModelRequest) -> Refusal | None:
        body = request.body or {}
        return refusal_of(vendor_of(request.path, str(body.get("model", ""))), body, self._signatures)

    def turns(self, request: ModelRequest) -> list[Turn]:
        turns: list[Turn] = []
        for message in (request.body or {}).get("messages", []):
            if message["role"] == "assistant":
                if message.get("content") != "OK.":  # the filler between a result and the user's message
                    turns.append(Turn("assistant"))
            elif message["role"] in ("user", "tool"):
                turns.append(Turn("user", _text(message.get("content"))))
        return turns

    def streams(self, request: ModelRequest) -> bool:
        return bool(request.body and request.body.get("stream"))

    def frames(self, request: ModelRequest, step: Step) -> Iterator[Frame]:
        body = request.body or {}
        vendor = vendor_of(request.path, str(body.get("model", "")))
        if vendor == "ollama":
            self._loaded.append(str(body.get("model", "")))
        writer = _Writer(vendor, str(body.get("model", "")), self._signatures)
        base = {
            "id": f"chatcmpl-{next(_numbers):08}",
            "object": "chat.completion.chunk",
            "created": 1_700_000_000,
            "model": body.get("model", ""),
        }

        def frame(delta: dict[str, Any], finish: str | None = None, *, ends_block: bool = False) -> Frame:
            choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
            return Frame(_data({**base, "choices": [choice]}), ends_block)

        yield frame({"role": "assistant", "content": ""})
        calls = 0
        for part in step.blocks:
            deltas = list(writer.deltas(part, calls, step.chunk))
            calls += isinstance(part, Call)
            for place, delta in enumerate(deltas):
                yield frame(delta, ends_block=place == len(deltas) - 1)
        yield frame({}, _finish(step))
        # Mistral and OpenRouter report it without being asked.
        if (body.get("stream_options") or {}).get("include_usage") or vendor in ("mistral", "openrouter"):
            cost = {"cost": step.cost} if vendor == "openrouter" else {}
            yield Frame(_data({**base, "choices": [], "usage": {**_usage(step), **cost}}))
        yield Frame(b"data: [DONE]\n\n")

    def whole(self, request: ModelRequest, step: Step) -> dict[str, Any]:
        calls = [part for part in step.blocks if isinstance(part, Call)]
        thoughts = "".join(part.text for part in step.blocks if isinstance(part, Think))
        message: dict[str, Any] = {
            "role": "assistant",
            "content": "".join(part.text for part in step.blocks if isinstance(part, Say)) or None,
            "refusal": None,
        }
        if thoughts:
            message["reasoning_content"] = thoughts
        if calls:
            message["tool_calls"] = [_call(part) for part in calls]
        return {
            "id": f"chatcmpl-{next(_numbers):08}",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": (request.body or {}).get("model", ""),
            "choices": [{"index": 0, "message": message, "finish_reason": _finish(step), "logprobs": None}],
            "usage": _usage(step),
        }

    def error(self, status: int, error_type: str, message: str) -> dict[str, Any]:
        kind = "invalid_request_error" if 400 <= status < 500 else "server_error"
        code = error_type or _CODES.get(status)
        return {"error": {"message": message, "type": kind, "param": None, "code": code}}

    def error_frame(self, status: int, error_type: str, message: str) -> bytes:
        # OpenRouter's form: the status as the code, and a choice that ended with it.
        choice = {"index": 0, "delta": {"content": ""}, "finish_reason": "error"}
        error = {"code": error_type or status or 500, "message": message}
        return _data({"id": "chatcmpl-failed", "object": "chat.completion.chunk", "error": error, "choices": [choice]})

    def ping(self) -> bytes:
        # As OpenRouter keeps a connection alive (openrouter.ai/docs/api-reference/streaming, 2026-11).
        return b": OPENROUTER PROCESSING\n\n"

    def head(self) -> dict[str, str]:
        return {"x-request-id": f"req_{next(_numbers):08}"}

    def error_head(self, status: int, error_type: str) -> dict[str, str]:
        return {}

    def extra(self, request: ModelRequest) -> Any:
        """Ollama's own API (docs/api.md of ollama/ollama): the running models, and a model's parameters."""
        if request.path == "/ollama/api/ps":
            return {"models": [_running(model) for model in self._loaded]}
        if request.path == "/ollama/api/show" and request.method == "POST":
            model = (request.body or {}).get("model", "")
            return {"parameters": "temperature 0.6\nnum_ctx    8192" if model.startswith("configured") else ""}
        return None


def _running(model: str) -> dict[str, Any]:
    """The window is part of the model's name: `qwen3-4k`. Names with `old` or `configured` report none."""
    name = model if ":" in model else f"{model}:latest"
    size = re.search(r"-(\d+)k", model)
    tells = not model.startswith(("old", "configured"))
    window = {"context_length": int(size[1]) * 1024 if size else 32_768} if tells else {}
    return {"name": name, "model": name, "size": 1, "size_vram": 1, **window}


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content or [])


def _finish(step: Step) -> str:
    calls = any(isinstance(part, Call) for part in step.blocks)
    return _STOPS[step.stop or ("tool_use" if calls else "end_turn")]


def _call(part: Call) -> dict[str, Any]:
    arguments = part.raw or msgspec.json.encode(part.input).decode()
    return {
        "id": part.id or f"call_{next(_numbers):08}",
        "type": "function",
        "function": {"name": part.name, "arguments": arguments},
    }


class _Writer:
    """Writes the deltas of one answer in the format of one vendor."""

    def __init__(self, vendor: str, model: str, signatures: dict[str, str]) -> None:
        self._vendor = vendor
        self._model = model
        self._signatures = signatures

    def deltas(self, part: Part, index: int, chunk: int) -> Iterator[dict[str, Any]]:
        match part:
            case Say(text):
                for piece in pieces(text, chunk):
                    yield {"content": piece}
            case Think(text, signature, _):
                yield from self._thinking(text, signature, chunk)
            case Call():
                yield from self._calling(part, index, chunk)

    def _thinking(self, text: str, signature: str, chunk: int) -> Iterator[dict[str, Any]]:
        for piece in pieces(text, chunk):
            match self._vendor:
                case "openai":
                    continue  # it does not show its reasoning in this API
                case "mistral":
                    yield {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": piece}]}]}
                case "openrouter":
                    detail = {"type": "reasoning.text", "text": piece, "format": _format(self._model), "index": 0}
                    yield {"reasoning": piece, "reasoning_details": [detail]}
                case "ollama" | "vllm" | "groq":
                    yield {"reasoning": piece}
                case _:
                    yield {"reasoning_content": piece}
        if self._vendor == "openrouter" and self._model.startswith("anthropic/"):
            signed = {"type": "reasoning.text", "signature": signature, "format": _format(self._model), "index": 0}
            yield {"content": "", "reasoning_details": [signed]}

    def _calling(self, part: Call, index: int, chunk: int) -> Iterator[dict[str, Any]]:
        call = _call(part)
        if self._vendor == "mistral" and not part.id:
            call["id"] = f"m{next(_numbers):08}"
        arguments = call["function"].pop("arguments")
        yield {"tool_calls": [{**call, "index": index, "function": {**call["function"], "arguments": ""}}]}
        for piece in pieces(arguments, chunk):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
        if self._vendor == "openrouter" and self._model.startswith("google/gemini"):
            data = self._signatures[call["id"]] = f"signature-of-{call['id']}"
            encrypted = {"type": "reasoning.encrypted", "data": data, "id": call["id"], "index": 0}
            yield {"reasoning_details": [{**encrypted, "format": "google-gemini-v1"}]}


def _format(model: str) -> str:
    return "anthropic-claude-v1" if model.startswith("anthropic/") else "unknown"


def _usage(step: Step) -> dict[str, Any]:
    usage = step.usage
    prompt = usage.input + usage.cache_read + usage.cache_write
    return {
        "prompt_tokens": prompt,
        "completion_tokens": usage.output,
        "total_tokens": prompt + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }


def _data(value: dict[str, Any]) -> bytes:
    return b"data: %b\n\n" % msgspec.json.encode(value)
