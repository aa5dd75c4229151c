"""Claude on Amazon Bedrock (`InvokeModelWithResponseStream`), as the test model.

Looked up on 2026-11-17: docs.aws.amazon.com/bedrock/latest/APIReference (API_runtime_InvokeModelWithResponseStream,
API_runtime_ResponseStream, CommonErrors) and userguide/model-parameters-anthropic-claude-messages-request-response;
the framing in docs.aws.amazon.com/AmazonS3/latest/API/RESTSelectObjectAppendix.html. Messages of refusals are quoted in
fumito-ito/AnthropicSwiftSDK#19 and sigoden/aichat#543 (extraneous keys), anthropics/claude-agent-sdk-python#694 (fields
of tools), BerriAI/litellm issues ("invalid beta flag", on-demand throughput).
"""

import base64
import itertools
import re
from binascii import crc32
from collections.abc import Iterator, Mapping
from struct import pack
from typing import Any
from urllib.parse import unquote

import msgspec

from tests.modelserver import aws_signature
from tests.modelserver.anthropic import AnthropicDialect
from tests.modelserver.anthropic_deferred import CLOUD_BETA
from tests.modelserver.dialect import Frame, ModelRequest, Refusal
from tests.modelserver.script import Step

API_VERSIONS = ("bedrock-2023-05-31", "2026-10-21")
"""The documented one, and the one that Anthropic's client sends since version 2 (anthropic-sdk-python, 2.8.0)."""
FIELDS = frozenset(
    {"anthropic_version", "anthropic_beta", "max_tokens", "system", "messages", "temperature", "top_p", "top_k"}
    | {"tools", "tool_choice", "stop_sequences", "thinking", "output_config", "context_management"}
)
BETAS = frozenset(
    {"computer-use-2025-01-24", "token-efficient-tools-2025-02-19", "interleaved-thinking-2025-05-14"}
    | {"fine-grained-tool-streaming-2025-05-14", "context-1m-2025-08-07", "context-management-2025-06-27"}
)
_PATH = re.compile(r"/model/([^/]+)/(invoke|invoke-with-response-stream)")
_EXCEPTIONS = {
    400: "ValidationException",
    403: "AccessDeniedException",
    404: "ResourceNotFoundException",
    408: "ModelTimeoutException",
    424: "ModelStreamErrorException",
    429: "ThrottlingException",
    503: "ServiceUnavailableException",
}
_numbers = itertools.count(1)


class BedrockDialect(AnthropicDialect):
    name = "bedrock"
    content_type = "application/vnd.amazon.eventstream"

    def owns(self, request: ModelRequest) -> bool:
        return request.method == "POST" and _PATH.fullmatch(request.path) is not None

    def refusal(self, request: ModelRequest) -> Refusal | None:
        refused = aws_signature.refusal_of(request)
        if refused is not None:
            return refused
        wrong = next(_complaints(request), None)
        if wrong is not None:
            return Refusal(wrong)
        return super().refusal(_as_anthropic_sees_it(request))

    def streams(self, request: ModelRequest) -> bool:
        return request.path.endswith("/invoke-with-response-stream")

    def frames(self, request: ModelRequest, step: Step) -> Iterator[Frame]:
        for frame in super().frames(_as_anthropic_sees_it(request), step):
            if not frame.data.startswith(b"event: "):
                yield frame  # a ping, which has its envelope
                continue
            event = msgspec.json.decode(frame.data.partition(b"\ndata: ")[2])
            if event["type"] == "message_stop":
                event["amazon-bedrock-invocationMetrics"] = {"inputTokenCount": step.usage.input}
            yield Frame(envelope(event), frame.ends_block)

    def whole(self, request: ModelRequest, step: Step) -> dict[str, Any]:
        return super().whole(_as_anthropic_sees_it(request), step)

    def error(self, status: int, error_type: str, message: str) -> dict[str, Any]:
        return {"message": message}

    def error_head(self, status: int, error_type: str) -> dict[str, str]:
        name = error_type or _EXCEPTIONS.get(status, "InternalServerException")
        return {"x-amzn-errortype": f"{name}:http://internal.amazon.com/coral/com.amazon.bedrock/"}

    def error_frame(self, status: int, error_type: str, message: str) -> bytes:
        name = error_type or _EXCEPTIONS.get(status, "InternalServerException")
        headers = {":exception-type": name[0].lower() + name[1:], ":content-type": "application/json"}
        return encode_message({**headers, ":message-type": "exception"}, msgspec.json.encode({"message": message}))

    def ping(self) -> bytes:
        return envelope({"type": "ping"})

    def head(self) -> dict[str, str]:
        return {"x-amzn-requestid": f"aws-{next(_numbers):08}"}

    def extra(self, request: ModelRequest) -> Any:
        return None


def encode_message(headers: Mapping[str, str], payload: bytes) -> bytes:
    """Encode a message of an event stream whose headers are text."""
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    encoded = b"".join(pack(f">B{len(name)}sBH", len(name), name, 7, len(value)) + value for name, value in pairs)
    prelude = pack(">II", 12 + len(encoded) + len(payload) + 4, len(encoded))
    message = prelude + pack(">I", crc32(prelude)) + encoded + payload
    return message + pack(">I", crc32(message))


def envelope(event: dict[str, Any]) -> bytes:
    headers = {":event-type": "chunk", ":content-type": "application/json", ":message-type": "event"}
    inside = base64.b64encode(msgspec.json.encode(event)).decode()
    # Padding of a random length, which hides how long the pieces of an answer are.
    return encode_message(headers, msgspec.json.encode({"bytes": inside, "p": "abcdefghijkl"}))


def _complaints(request: ModelRequest) -> Iterator[str]:
    if request.headers.get("content-type") != "application/json":
        yield "The provided Content-Type is invalid or not supported for this model"
    model, body = _model(request), request.body
    if not isinstance(body, dict):
        yield "Malformed input request, please reformat your input and try again."
        return
    if "anthropic." not in model and not model.startswith("arn:aws:bedrock:"):
        yield "The provided model identifier is invalid."
    if model.startswith("anthropic.") and "claude-3-5" not in model:
        yield (
            f"Invocation of model ID {model} with on-demand throughput isn\u2019t supported. Retry your request with "
            "the ID or ARN of an inference profile that contains this model."
        )
    for name in ("anthropic_version", "max_tokens", "messages"):
        if name not in body:
            yield f"Malformed input request: #: required key [{name}] not found, please reformat your input."
    for name in body.keys() - FIELDS:
        yield f"Malformed input request: #: extraneous key [{name}] is not permitted, please reformat your input."
    if body.get("anthropic_version") not in API_VERSIONS:
        yield f"anthropic_version: Input should be '{API_VERSIONS[0]}'"
    for index, tool in enumerate(body.get("tools", [])):
        if "eager_input_streaming" in tool:
            yield f"tools.{index}.custom.eager_input_streaming: Extra inputs are not permitted"
        if tool.get("type", "custom").startswith("web_search"):
            yield f"tools.{index}: Input tag '{tool['type']}' does not match any of the expected tags"
    betas = set(body.get("anthropic_beta", []))
    if any(tool.get("defer_loading") for tool in body.get("tools", [])) and CLOUD_BETA not in betas:
        yield "tools.0.custom.defer_loading: Extra inputs are not permitted"
    if not betas <= BETAS or (betas and "claude-3" in model):
        yield "invalid beta flag"


def _model(request: ModelRequest) -> str:
    found = _PATH.fullmatch(request.path)
    assert found is not None
    return unquote(found[1])


def _as_anthropic_sees_it(request: ModelRequest) -> ModelRequest:
    name = re.sub(r"-v\d+(:\d+)?$", "", _model(request).rpartition("anthropic.")[2])
    body = {key: value for key, value in (request.body or {}).items() if not key.startswith("anthropic_")}
    headers = {"anthropic-version": "2023-06-01", "x-api-key": "checked before"}
    return msgspec.structs.replace(request, headers=headers, body={"model": name, "stream": True, **body})
