"""The doubles of Bedrock and Vertex refuse what the services refuse: each rule of `docs/providers.md`, broken once."""

from typing import Any

import msgspec
import pytest

from tests.modelserver.bedrock import BedrockDialect
from tests.modelserver.dialect import ModelRequest
from tests.modelserver.vertex import VertexClaudeDialect, VertexGeminiDialect

USER = {"role": "user", "content": "Hello"}
TOOL = {"name": "Read", "description": "", "input_schema": {"type": "object"}}


def ask(path: str, token: str, body: Any, **headers: str) -> ModelRequest:
    sent = {"authorization": f"Bearer {token}", "content-type": "application/json", **headers}
    return ModelRequest("POST", path, "", sent, body, msgspec.json.encode(body), 0.0)


def bedrock(
    model: str = "us.anthropic.claude-x", *, without: str = "", kind: str = "application/json", **body: Any
) -> Any:
    whole = {"anthropic_version": "bedrock-2023-05-31", "max_tokens": 100, "messages": [USER], **body}
    whole.pop(without, None)
    path = f"/model/{model}/invoke-with-response-stream"
    return ask(path, "bedrock-api-key-good", whole, **{"content-type": kind})


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (bedrock(), ""),
        (bedrock(without="anthropic_version"), "required key [anthropic_version] not found"),
        (bedrock(without="max_tokens"), "required key [max_tokens] not found"),
        (bedrock(without="messages"), "required key [messages] not found"),
        (bedrock(anthropic_version="2023-06-01"), "anthropic_version"),
        (bedrock(stream=True), "extraneous key [stream]"),
        (bedrock(model_="x"), "extraneous key [model_]"),
        (bedrock(metadata={}), "extraneous key [metadata]"),
        (bedrock(tools=[{**TOOL, "eager_input_streaming": True}]), "tools.0.custom.eager_input_streaming"),
        (bedrock(tools=[{"type": "web_search_20250305", "name": "web_search"}]), "web_search"),
        (bedrock(anthropic_beta=["made-up"]), "invalid beta flag"),
        (bedrock("us.anthropic.claude-3-7-sonnet-20250219-v1%3A0", anthropic_beta=["context-1m-2025-08-07"]), "beta"),
        (bedrock("anthropic.claude-sonnet-5-5"), "on-demand throughput"),
        (bedrock("gpt-5"), "model identifier is invalid"),
        (bedrock(kind="text/plain"), "Content-Type"),
        (bedrock(messages=[{"role": "user", "content": [{"type": "text", "text": " "}]}]), "text"),
    ],
)
def test_bedrock(request_: ModelRequest, words: str) -> None:
    refused = BedrockDialect().refusal(request_)
    assert (refused is None) is (words == "")
    assert refused is None or (refused.status, words in refused.message) == (400, True)


def vertex(
    publisher: str = "anthropic",
    *,
    token: str = "good-access-token",
    place: str = "projects/a-project/locations/global",
    kind: str = "application/json",
    **body: Any,
) -> ModelRequest:
    name = "claude-x:streamRawPredict" if publisher == "anthropic" else "gemini-2.5-pro:streamGenerateContent"
    return ask(f"/v1/{place}/publishers/{publisher}/models/{name}", token, body, **{"content-type": kind})


WHOLE: dict[str, Any] = {
    "anthropic_version": "vertex-2023-10-16",
    "max_tokens": 100,
    "messages": [USER],
    "stream": True,
}
CONTENTS: dict[str, Any] = {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]}


@pytest.mark.parametrize(
    ("request_", "status", "words"),
    [
        (vertex(**WHOLE), 0, ""),
        (vertex(**WHOLE, model="claude-x"), 400, "model: Extra inputs"),
        (vertex(**{**WHOLE, "anthropic_version": "bedrock-2023-05-31"}), 400, "anthropic_version"),
        (vertex(messages=[USER], max_tokens=1), 400, "anthropic_version: Field required"),
        (vertex(anthropic_version="vertex-2023-10-16", messages=[USER]), 400, "max_tokens: Field required"),
        (vertex(**WHOLE, unknown=1), 400, "unknown: Extra inputs"),
        (vertex(token="expired", **WHOLE), 401, "invalid authentication credentials"),
        (vertex(place="projects/other/locations/global", **WHOLE), 403, "denied"),
        (vertex(place="projects/a-project/locations/mars", **WHOLE), 404, "not found"),
        (vertex(kind="text/plain", **WHOLE), 400, "content type"),
        (vertex("google", **CONTENTS), 0, ""),
        (vertex("google", token="", **CONTENTS), 401, "invalid authentication credentials"),
        (vertex("google", **CONTENTS, unknown=1), 400, "Unknown name"),
    ],
)
def test_vertex(request_: ModelRequest, status: int, words: str) -> None:
    dialect = next(each for each in (VertexClaudeDialect(), VertexGeminiDialect()) if each.owns(request_))
    refused = dialect.refusal(request_)
    assert (refused.status if refused is not None else 0) == status
    assert refused is None or words in refused.message
