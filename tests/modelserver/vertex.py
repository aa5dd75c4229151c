"""Claude and Gemini on Google Vertex AI, as the test model.

Looked up on 2026-11-17: docs.cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude/use-claude
(streamRawPredict, `anthropic_version`), platform.claude.com/docs/en/build-with-claude/claude-on-vertex-ai (no `model`
in the body), the client of anthropics/anthropic-sdk-python (src/anthropic/lib/vertex/_client.py: `stream` stays in the
body, the hosts of the regions), and cloud.google.com/apis/design/errors (the form of errors).
"""

import re
from typing import Any

import msgspec

from tests.modelserver.anthropic import AnthropicDialect
from tests.modelserver.anthropic_deferred import CLOUD_BETA
from tests.modelserver.dialect import ModelRequest, Refusal
from tests.modelserver.gemini import GeminiDialect
from tests.modelserver.script import Step

API_VERSIONS = ("vertex-2023-10-16", "2026-10-21")
"""The documented one, and the one that Anthropic's client sends since version 2 (anthropic-sdk-python, 2.8.0)."""
TOKENS = {"good-access-token", "newer-access-token"}
PROJECT = "a-project"
LOCATIONS = ("global", "us", "eu", "us-east5", "europe-west1")
_PATH = re.compile(r"/v1/projects/([^/]+)/locations/([^/]+)/publishers/(anthropic|google)/models/([^/:]+):(\w+)")
_STATUSES = {
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
}


def _owns(request: ModelRequest, publisher: str) -> bool:
    found = _PATH.fullmatch(request.path)
    return request.method == "POST" and found is not None and found[3] == publisher


def _refusal(request: ModelRequest) -> Refusal | None:
    found = _PATH.fullmatch(request.path)
    assert found is not None
    if request.headers.get("authorization", "").removeprefix("Bearer ") not in TOKENS:
        return Refusal(
            "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other "
            "valid authentication credential.",
            401,
        )
    if found[1] != PROJECT:
        return Refusal(f"Permission 'aiplatform.endpoints.predict' denied on resource '//projects/{found[1]}'.", 403)
    if found[2] not in LOCATIONS:
        return Refusal(f"Publisher Model `{found[4]}` was not found in location {found[2]}.", 404)
    if request.headers.get("content-type") != "application/json":
        return Refusal("Invalid content type: expected application/json")
    return None


class VertexClaudeDialect(AnthropicDialect):
    name = "vertex"

    def owns(self, request: ModelRequest) -> bool:
        return _owns(request, "anthropic")

    def refusal(self, request: ModelRequest) -> Refusal | None:
        refused = _refusal(request)
        if refused is not None:
            return refused
        body = request.body or {}
        if "model" in body:
            return Refusal("model: Extra inputs are not permitted")
        for name in ("anthropic_version", "max_tokens", "messages"):
            if name not in body:
                return Refusal(f"{name}: Field required")
        if body["anthropic_version"] not in API_VERSIONS:
            return Refusal(f"anthropic_version: Input should be '{API_VERSIONS[0]}'")
        deferred = any(tool.get("defer_loading") for tool in body.get("tools", []))
        if deferred and CLOUD_BETA not in request.headers.get("anthropic-beta", ""):
            return Refusal("tools.0.custom.defer_loading: Extra inputs are not permitted")
        return super().refusal(_as_anthropic_sees_it(request))

    def streams(self, request: ModelRequest) -> bool:
        return request.path.endswith(":streamRawPredict")

    def whole(self, request: ModelRequest, step: Step) -> dict[str, Any]:
        return super().whole(_as_anthropic_sees_it(request), step)

    def error(self, status: int, error_type: str, message: str) -> dict[str, Any]:
        if status not in _STATUSES:
            return super().error(status, error_type, message)
        return {"error": {"code": status, "message": message, "status": _STATUSES[status]}}

    def error_frame(self, status: int, error_type: str, message: str) -> bytes:
        # Once the model speaks, errors are Anthropic's own.
        error = super().error(529 if status == 503 else status, error_type, message)
        return b"event: error\ndata: %b\n\n" % msgspec.json.encode(error)

    def extra(self, request: ModelRequest) -> Any:
        return None


class VertexGeminiDialect(GeminiDialect):
    name = "vertex-gemini"

    def owns(self, request: ModelRequest) -> bool:
        return _owns(request, "google")

    def refusal(self, request: ModelRequest) -> Refusal | None:
        headers = {**request.headers, "x-goog-api-key": "checked before"}
        return _refusal(request) or super().refusal(msgspec.structs.replace(request, headers=headers))


def _as_anthropic_sees_it(request: ModelRequest) -> ModelRequest:
    found = _PATH.fullmatch(request.path)
    assert found is not None
    body = {key: value for key, value in (request.body or {}).items() if key != "anthropic_version"}
    headers = {"anthropic-version": "2023-06-01", "x-api-key": "checked before"}
    return msgspec.structs.replace(request, headers=headers, body={"model": found[4].replace("@", "-"), **body})
