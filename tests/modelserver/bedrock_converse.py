"""Other models on Amazon Bedrock (`ConverseStream`), as the test model.

The shape of requests is checked against the service's own description, as botocore ships it (`bedrock-runtime`). Looked
up on 2026-11-17: docs.aws.amazon.com/bedrock/latest/APIReference (API_runtime_ConverseStream,
API_runtime_ConverseStreamOutput) and userguide/conversation-inference-supported-models-features (what the models
support); messages of refusals are quoted in public issues of langchain-ai/langchain-aws and BerriAI/litellm.
"""

import itertools
import re
from collections.abc import Iterator
from functools import cache
from typing import Any
from urllib.parse import unquote

import msgspec

from tests.modelserver import aws_signature
from tests.modelserver.bedrock import BedrockDialect, encode_message
from tests.modelserver.dialect import Frame, ModelRequest, Refusal
from tests.modelserver.script import Call, Say, Step, Think, Turn, pieces

_PATH = re.compile(r"/model/([^/]+)/converse-stream")
_CACHING = ("amazon.nova", "anthropic.")


class ConverseDialect(BedrockDialect):
    name = "bedrock-converse"

    def owns(self, request: ModelRequest) -> bool:
        return request.method == "POST" and _PATH.fullmatch(request.path) is not None

    def refusal(self, request: ModelRequest) -> Refusal | None:
        refused = aws_signature.refusal_of(request)
        if refused is not None:
            return refused
        wrong = next(complaints(_model(request), request.body), None)
        return Refusal(wrong) if wrong is not None else None

    def turns(self, request: ModelRequest) -> list[Turn]:
        return [
            Turn(message["role"], "\n".join(part.get("text", "") for part in message["content"]))
            for message in (request.body or {}).get("messages", [])
        ]

    def streams(self, request: ModelRequest) -> bool:
        return True

    def frames(self, request: ModelRequest, step: Step) -> Iterator[Frame]:
        yield Frame(event("messageStart", {"role": "assistant"}))
        for index, part in enumerate(step.blocks):
            place = {"contentBlockIndex": index}
            match part:
                case Say(text):
                    deltas: list[dict[str, Any]] = [{"text": piece} for piece in pieces(text, step.chunk)]
                case Think(text):
                    deltas = [{"reasoningContent": {"text": piece}} for piece in pieces(text, step.chunk)]
                case Call(name, value, identity, raw):
                    start = {"toolUse": {"toolUseId": identity or f"tooluse_{index}", "name": name}}
                    yield Frame(event("contentBlockStart", {**place, "start": start}))
                    text = raw or msgspec.json.encode(value).decode()
                    deltas = [{"toolUse": {"input": piece}} for piece in pieces(text, step.chunk)]
            for delta in deltas:
                yield Frame(event("contentBlockDelta", {**place, "delta": delta}))
            yield Frame(event("contentBlockStop", place), ends_block=True)
        calls = any(isinstance(part, Call) for part in step.blocks)
        stop = {"refusal": "content_filtered"}.get(step.stop, step.stop) or ("tool_use" if calls else "end_turn")
        yield Frame(event("messageStop", {"stopReason": stop}))
        usage = {
            "inputTokens": step.usage.input,
            "outputTokens": step.usage.output,
            "totalTokens": step.usage.input + step.usage.output,
            "cacheReadInputTokens": step.usage.cache_read,
            "cacheWriteInputTokens": step.usage.cache_write,
        }
        yield Frame(event("metadata", {"usage": usage, "metrics": {"latencyMs": 1}}))

    def ping(self) -> bytes:
        return event("ping", {})


def event(kind: str, value: dict[str, Any]) -> bytes:
    headers = {":event-type": kind, ":content-type": "application/json", ":message-type": "event"}
    return encode_message(headers, msgspec.json.encode({**value, "p": "abcdef"}))


def complaints(model: str, body: Any) -> Iterator[str]:
    """Yield everything wrong with a request, the shape first."""
    wrong = _validator().validate({"modelId": model, **body}, _shape()).generate_report()
    if wrong:
        yield wrong
        return
    messages = body["messages"]
    if not messages or messages[0]["role"] != "user":
        yield "A conversation must start with a user message."
    for first, second in itertools.pairwise(messages):
        if first["role"] == second["role"]:
            yield "A conversation must alternate between user and assistant roles."
    waiting: set[str] = set()
    for place, message in enumerate(messages):
        if not message["content"]:
            yield f"The content field in the Message object at messages.{place} is empty."
        results = {part["toolResult"]["toolUseId"] for part in message["content"] if "toolResult" in part}
        if results != waiting:
            yield f"Expected toolResult blocks at messages.{place}.content for the following Ids: {sorted(waiting)}"
        waiting = {part["toolUse"]["toolUseId"] for part in message["content"] if "toolUse" in part}
        if (results or waiting) and "toolConfig" not in body:
            yield "The toolConfig field must be defined when using toolUse and toolResult content blocks."
        if any(not part["text"].strip() for part in message["content"] if "text" in part):
            yield f"The text field in the ContentBlock object at messages.{place}.content is blank."
    if "cachePoint" in msgspec.json.encode(body).decode() and not any(each in model for each in _CACHING):
        yield "You invoked an unsupported model or your request did not allow prompt caching."
    if "toolChoice" in body.get("toolConfig", {}) and "llama" in model:
        yield "This model doesn't support the toolConfig.toolChoice.tool field. Remove it and try again."


def _model(request: ModelRequest) -> str:
    found = _PATH.fullmatch(request.path)
    assert found is not None
    return unquote(found[1])


@cache
def _shape() -> Any:
    from botocore.loaders import Loader
    from botocore.model import ServiceModel

    service = ServiceModel(Loader().load_service_model("bedrock-runtime", "service-2"))
    return service.operation_model("ConverseStream").input_shape


@cache
def _validator() -> Any:
    from botocore.validate import ParamValidator

    return ParamValidator()
