"""OpenAI's Responses API of the test model."""

import itertools
from collections.abc import Iterator
from typing import Any

import msgspec

from tests.modelserver.dialect import Frame, ModelRequest, Refusal
from tests.modelserver.responses_rules import refusal_of
from tests.modelserver.script import Call, Part, Say, Step, Think, Turn, pieces

_CODES = {
    400: "invalid_request_error",
    401: "invalid_api_key",
    404: "model_not_found",
    429: "rate_limit_exceeded",
    500: "server_error",
    503: "server_is_overloaded",
    529: "server_is_overloaded",
}
_numbers = itertools.count(1)


class ResponsesDialect:
    name = "openai"
    content_type = "text/event-stream"

    def __init__(self) -> None:
        self._followers: dict[str, tuple[str, str]] = {}
        """The item that followed each reasoning item that was sent."""

    def owns(self, request: ModelRequest) -> bool:
        return request.method == "POST" and request.path.endswith("/v1/responses")

    def refusal(self, request: ModelRequest) -> Refusal | None:
        return refusal_of(request.path, request.body or {}, self._followers)

    def turns(self, request: ModelRequest) -> list[Turn]:
        given = (request.body or {}).get("input", [])
        if isinstance(given, str):
            return [Turn("user", given)]
        return [_turn(item) for item in given]

    def streams(self, request: ModelRequest) -> bool:
        return bool(request.body and request.body.get("stream"))

    def frames(self, request: ModelRequest, step: Step) -> Iterator[Frame]:
        response = self.whole(request, step)
        self._remember(response["output"])
        opening = {**response, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
        counter = itertools.count()

        def frame(kind: str, *, ends_block: bool = False, **fields: Any) -> Frame:
            return Frame(_event({"type": kind, "sequence_number": next(counter), **fields}), ends_block)

        yield frame("response.created", response=opening)
        yield frame("response.in_progress", response=opening)
        for index, (item, part) in enumerate(zip(response["output"], step.blocks, strict=True)):
            place = {"output_index": index, "item_id": item["id"]}
            empty = {**item, "status": "in_progress", **_emptied(item)}
            yield frame("response.output_item.added", output_index=index, item=empty)
            for kind, fields in _deltas(item, part, step.chunk):
                yield frame(kind, **place, **fields)
            yield frame("response.output_item.done", ends_block=True, output_index=index, item=item)
        ending = "response.incomplete" if response["status"] == "incomplete" else "response.completed"
        yield frame(ending, response=response)

    def whole(self, request: ModelRequest, step: Step) -> dict[str, Any]:
        body = request.body or {}
        usage = step.usage
        reason = {"max_tokens": "max_output_tokens", "refusal": "content_filter"}.get(step.stop)
        read_and_written = usage.cache_read + usage.cache_write
        return {
            "id": f"resp_{next(_numbers):08}",
            "object": "response",
            "created_at": 1_700_000_000,
            "status": "incomplete" if reason else "completed",
            "error": None,
            "incomplete_details": {"reason": reason} if reason else None,
            "instructions": body.get("instructions"),
            "metadata": {},
            "model": body.get("model", ""),
            "output": [_item(part) for part in step.blocks],
            "parallel_tool_calls": True,
            "temperature": 1.0,
            "tool_choice": "auto",
            "tools": body.get("tools") or [],
            "top_p": 1.0,
            "usage": {
                "input_tokens": usage.input + read_and_written,
                "input_tokens_details": {"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write},
                "output_tokens": usage.output,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": usage.input + read_and_written + usage.output,
            },
        }

    def _remember(self, output: list[dict[str, Any]]) -> None:
        for item, after in itertools.pairwise(output):
            if item["type"] == "reasoning":
                self._followers[item["encrypted_content"]] = (after["type"], after.get("call_id", ""))

    def error(self, status: int, error_type: str, message: str) -> dict[str, Any]:
        code = error_type or _CODES.get(status, "server_error")
        kind = "invalid_request_error" if 400 <= status < 500 else "server_error"
        return {"error": {"message": message, "type": kind, "param": None, "code": code}}

    def error_frame(self, status: int, error_type: str, message: str) -> bytes:
        code = error_type or _CODES.get(status, "server_error")
        failed = {"id": "resp_failed", "object": "response", "status": "failed"}
        return _event(
            {
                "type": "response.failed",
                "sequence_number": 99,
                "response": {**failed, "error": {"code": code, "message": message}, "output": []},
            }
        )

    def ping(self) -> bytes:
        return b": keep-alive\n\n"

    def head(self) -> dict[str, str]:
        return {"x-request-id": f"req_{next(_numbers):08}"}

    def error_head(self, status: int, error_type: str) -> dict[str, str]:
        return {}

    def extra(self, request: ModelRequest) -> Any:
        return None


def _turn(item: dict[str, Any]) -> Turn:
    kind = item.get("type", "message")
    if kind in ("function_call", "reasoning", "web_search_call") or item.get("role") == "assistant":
        return Turn("assistant")
    content = item.get("content")
    if isinstance(content, str):
        return Turn("user", content)
    return Turn("user", "\n".join(part.get("text", "") for part in content or []))


def _item(part: Part) -> dict[str, Any]:
    number = f"{next(_numbers):08}"
    match part:
        case Say(text):
            content = [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}]
            return {
                "id": f"msg_{number}",
                "type": "message",
                "role": "assistant",
                "status": "completed",
                "content": content,
            }
        case Think(search=query) if query:
            action = {"type": "search", "query": query}
            return {"id": f"ws_{number}", "type": "web_search_call", "status": "completed", "action": action}
        case Think(text, signature, redacted):
            summary = [] if redacted else [{"type": "summary_text", "text": text}]
            sealed = f"{signature}.{number}"
            return {"id": f"rs_{number}", "type": "reasoning", "summary": summary, "encrypted_content": sealed}
        case Call(name, value, identity, raw):
            return {
                "id": f"fc_{number}",
                "type": "function_call",
                "status": "completed",
                "call_id": identity or f"call_{number}",
                "name": name,
                "arguments": raw or msgspec.json.encode(value).decode(),
            }


def _emptied(item: dict[str, Any]) -> dict[str, Any]:
    match item["type"]:
        case "message":
            return {"content": []}
        case "reasoning":
            return {"summary": [], "encrypted_content": ""}
        case "web_search_call":
            return {}
        case _:
            return {"arguments": ""}


def _deltas(item: dict[str, Any], part: Part, chunk: int) -> Iterator[tuple[str, dict[str, Any]]]:
    match part:
        case Say(text):
            place: dict[str, Any] = {"content_index": 0}
            whole = item["content"][0]
            yield "response.content_part.added", {**place, "part": {**whole, "text": ""}}
            for piece in pieces(text, chunk):
                yield "response.output_text.delta", {**place, "delta": piece, "logprobs": []}
            yield "response.output_text.done", {**place, "text": text, "logprobs": []}
            yield "response.content_part.done", {**place, "part": whole}
        case Think(search=query) if query:
            yield "response.web_search_call.searching", {}
            yield "response.web_search_call.completed", {}
        case Think(text, _, redacted):
            if redacted:
                return
            place = {"summary_index": 0}
            yield "response.reasoning_summary_part.added", {**place, "part": {"type": "summary_text", "text": ""}}
            for piece in pieces(text, chunk):
                yield "response.reasoning_summary_text.delta", {**place, "delta": piece}
            yield "response.reasoning_summary_text.done", {**place, "text": text}
            yield "response.reasoning_summary_part.done", {**place, "part": {"type": "summary_text", "text": text}}
        case Call():
            for piece in pieces(item["arguments"], chunk):
                yield "response.function_call_arguments.delta", {"delta": piece}
            yield "response.function_call_arguments.done", {"name": item["name"], "arguments": item["arguments"]}


def _event(value: dict[str, Any]) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (value["type"].encode(), msgspec.json.encode(value))
