"""The Gemini API of the test model."""

import itertools
from collections.abc import Iterator
from typing import Any

import msgspec

from tests.modelserver.dialect import Frame, ModelRequest, Refusal
from tests.modelserver.gemini_rules import complaints
from tests.modelserver.script import Call, Part, Say, Step, Think, Turn, pieces

_STOPS = {"max_tokens": "MAX_TOKENS", "refusal": "SAFETY"}
_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
_numbers = itertools.count(1)


class GeminiDialect:
    name = "gemini"
    content_type = "text/event-stream"

    def owns(self, request: ModelRequest) -> bool:
        return (
            request.method == "POST"
            and request.path.startswith(("/v1beta/models/", "/v1/models/"))
            and request.path.endswith((":streamGenerateContent", ":generateContent"))
        )

    def refusal(self, request: ModelRequest) -> Refusal | None:
        if not request.headers.get("x-goog-api-key") and "key=" not in request.query:
            return Refusal("Method doesn't allow unregistered callers (callers without established identity).", 403)
        model = request.path.rpartition("/")[2].partition(":")[0]
        wrong = next(complaints(model, request.body or {}), None)
        return Refusal(wrong) if wrong is not None else None

    def turns(self, request: ModelRequest) -> list[Turn]:
        return [
            Turn(
                "assistant" if content.get("role") == "model" else "user",
                "\n".join(part.get("text", "") for part in content.get("parts", [])),
            )
            for content in (request.body or {}).get("contents", [])
        ]

    def streams(self, request: ModelRequest) -> bool:
        return request.path.endswith(":streamGenerateContent")

    def frames(self, request: ModelRequest, step: Step) -> Iterator[Frame]:
        whole = self.whole(request, step)
        candidate = whole["candidates"][0]
        base = {"modelVersion": whole["modelVersion"], "responseId": whole["responseId"]}
        counted = {"promptTokenCount": whole["usageMetadata"]["promptTokenCount"]}

        def frame(parts: list[dict[str, Any]], *, ends_block: bool = False) -> Frame:
            content = {"role": "model", "parts": parts}
            return Frame(
                _data({"candidates": [{"content": content, "index": 0}], "usageMetadata": counted, **base}), ends_block
            )

        for part in step.blocks:
            cut = list(_cut(part, step.chunk))
            for place, piece in enumerate(cut):
                yield frame([piece], ends_block=place == len(cut) - 1)
        last = {**candidate, "content": {"role": "model", "parts": [{"text": ""}]}}
        yield Frame(_data({"candidates": [last], "usageMetadata": whole["usageMetadata"], **base}))

    def whole(self, request: ModelRequest, step: Step) -> dict[str, Any]:
        usage = step.usage
        prompt = usage.input + usage.cache_read + usage.cache_write
        counted = {
            "promptTokenCount": prompt,
            "candidatesTokenCount": usage.output,
            "totalTokenCount": prompt + usage.output,
        }
        if usage.cache_read:
            counted["cachedContentTokenCount"] = usage.cache_read
        candidate: dict[str, Any] = {
            "content": {"role": "model", "parts": [_part(part) for part in step.blocks]},
            "finishReason": _STOPS.get(step.stop, "STOP"),
            "index": 0,
        }
        return {
            "candidates": [candidate],
            "usageMetadata": counted,
            "modelVersion": request.path.rpartition("/")[2].partition(":")[0],
            "responseId": f"response-{next(_numbers):08}",
        }

    def error(self, status: int, error_type: str, message: str) -> dict[str, Any]:
        return {"error": {"code": status, "message": message, "status": error_type or _STATUSES.get(status, "UNKNOWN")}}

    def error_frame(self, status: int, error_type: str, message: str) -> bytes:
        return _data(self.error(status, error_type, message))

    def ping(self) -> bytes:
        return b": ping\n\n"

    def head(self) -> dict[str, str]:
        return {"x-gemini-service-tier": "standard"}

    def error_head(self, status: int, error_type: str) -> dict[str, str]:
        return {}

    def extra(self, request: ModelRequest) -> Any:
        return None


def _part(part: Part) -> dict[str, Any]:
    match part:
        case Say(text):
            return {"text": text}
        case Think(text, signature, _):
            return {"text": text, "thought": True, "thoughtSignature": signature}
        case Call(name, value, identity, _):
            call: dict[str, Any] = {"name": name, "args": value}
            if identity:
                call["id"] = identity
            return {"functionCall": call, "thoughtSignature": "c2lnbmF0dXJl"}


def _cut(part: Part, chunk: int) -> Iterator[dict[str, Any]]:
    """Yield a part in pieces; a call is always one piece."""
    match part:
        case Say(text):
            for piece in pieces(text, chunk):
                yield {"text": piece}
        case Think(text, signature, _):
            for piece in pieces(text, chunk):
                yield {"text": piece, "thought": True}
            yield {"text": "", "thought": True, "thoughtSignature": signature}
        case Call():
            yield _part(part)


def _data(value: dict[str, Any]) -> bytes:
    return b"data: %b\r\n\r\n" % msgspec.json.encode(value)
