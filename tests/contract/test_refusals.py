"""The doubles of the OpenAI-style APIs refuse what those APIs refuse: each rule of `docs/providers.md`, broken once."""

from typing import Any

import pytest

from tests.modelserver.chat_rules import refusal_of, vendor_of
from tests.modelserver.responses_rules import refusal_of as responses_refusal_of

USER = {"role": "user", "content": "Hello"}
TOOL = {"type": "function", "function": {"name": "Read", "description": "", "parameters": {"type": "object"}}}


def called(identity: str = "abcdefghi", **fields: Any) -> dict[str, Any]:
    function = {"name": "Read", "arguments": "{}"}
    return {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": identity, "type": "function", "function": function}],
        **fields,
    }


def result(identity: str = "abcdefghi") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": identity, "content": "text"}


def body(model: str, *messages: dict[str, Any], **settings: Any) -> dict[str, Any]:
    return {"model": model, "messages": [USER, *messages], "stream": True, **settings}


LOOP = (called(), result())
SIGNED = {"type": "reasoning.encrypted", "data": "made up"}

BROKEN = [
    ("vllm", body("m", result()), "must be a response to a preceeding message"),
    ("vllm", body("m", called()), "did not have response messages: abcdefghi"),
    ("vllm", body("m", called(), USER, result()), "did not have response messages"),
    ("vllm", body("m", {"role": "assistant", "content": None}), "expected a string, got null"),
    ("vllm", body("m", tools=[]), "empty array"),
    ("vllm", body("m", called("x" * 41), result("x" * 41)), "string too long"),
    ("vllm", {**body("m", stream_options={}), "stream": False}, "only allowed when 'stream'"),
    ("openai", body("o3", max_tokens=5), "Use 'max_completion_tokens' instead"),
    ("openai", body("o3", reasoning_effort="max"), "does not support 'max'"),
    ("openai", body("gpt-4.1", reasoning_effort="low"), "Unrecognized request argument"),
    ("openai", body("o3", cache_control={}), "Unrecognized request argument"),
    ("openai", body("o3", called(reasoning_content="x"), result()), "Unknown parameter"),
    ("openai", body("gpt-5.6", tools=[TOOL]), "set reasoning_effort to 'none'"),
    ("deepseek", body("deepseek-v4-pro", *LOOP), "must be passed back"),
    ("deepseek-r1", body("deepseek-reasoner", called(reasoning_content="x"), result()), "Please remove"),
    ("moonshot", body("kimi-k2.6", *LOOP), "reasoning_content is missing"),
    ("moonshot", body("kimi-k2.6", called(reasoning_content=""), result()), "reasoning_content is missing"),
    ("moonshot", body("kimi-k2.6", tool_choice={"type": "function"}), "incompatible with thinking"),
    ("zai", body("glm-5.3", thinking={"type": "disabled"}), "thinking.type"),
    ("mistral", body("mistral-large", *LOOP, USER), "Unexpected role 'user' after role 'tool'"),
    ("mistral", body("mistral-large", called("call_1"), result("call_1")), "with a length of 9"),
    ("mistral", body("mistral-large", {"role": "assistant", "content": "x"}), "Expected last role User or Tool"),
    ("mistral", body("mistral-large", stream_options={}), "Extra inputs are not permitted"),
    ("mistral", body("mistral-large", max_completion_tokens=5), "Extra inputs are not permitted"),
    ("mistral", body("mistral-large", called(reasoning_content="x"), result()), "Extra inputs are not permitted"),
    ("mistral", body("mistral-large", reasoning_effort="low"), "Input should be 'none' or 'high'"),
    ("openrouter", body("mistralai/devstral", *LOOP, USER), "Unexpected role 'user' after role 'tool'"),
    ("openrouter", body("google/gemini-3-pro", *LOOP), "reasoning details to be preserved"),
    (
        "openrouter",
        body("google/gemini-3-pro", called(reasoning_details=[SIGNED]), result()),
        "Thought signature is not valid",
    ),
    ("ollama", body("qwen3", reasoning_effort="max"), "invalid reasoning value"),
    ("llamacpp", body("gpt-oss", called(content="x", reasoning_content="y"), result()), "Cannot pass both"),
    ("llamacpp", body("qwen3", tools=[{**TOOL, "x": {"maxLength": 2000}}]), "failed to parse grammar"),
]


@pytest.mark.parametrize(("vendor", "payload", "expected"), BROKEN)
def test_a_double_of_chat_completions_refuses_what_its_vendor_refuses(
    vendor: str, payload: dict[str, Any], expected: str
) -> None:
    refused = refusal_of(vendor, payload, {})
    assert refused is not None
    assert expected in refused.message


@pytest.mark.parametrize(
    ("vendor", "payload"),
    [
        ("deepseek", body("deepseek-v4-pro", called(reasoning_content=""), result())),
        ("moonshot", body("kimi-k2.6", called(reasoning_content=" "), result())),
        ("mistral", body("mistral-large", *LOOP, {"role": "assistant", "content": "OK."}, USER)),
        ("openai", body("gpt-5.6", tools=[TOOL], reasoning_effort="none")),
    ],
)
def test_a_double_of_chat_completions_takes_what_its_vendor_takes(vendor: str, payload: dict[str, Any]) -> None:
    assert refusal_of(vendor, payload, {}) is None


@pytest.mark.parametrize(
    ("path", "model", "vendor"),
    [
        ("/deepseek/chat/completions", "m", "deepseek"),
        ("/v1/chat/completions", "deepseek-v4-pro", "deepseek"),
        ("/v1/chat/completions", "kimi-k2.6", "moonshot"),
        ("/v1/chat/completions", "glm-5.2", "zai"),
        ("/v1/chat/completions", "devstral-medium", "mistral"),
        ("/v1/chat/completions", "google/gemini-3-pro", "openrouter"),
        ("/v1/chat/completions", "some-model", ""),
    ],
)
def test_a_vendor_is_played_by_the_path_or_by_the_name_of_its_model(path: str, model: str, vendor: str) -> None:
    assert vendor_of(path, model) == vendor


def items(*given: dict[str, Any], **settings: Any) -> dict[str, Any]:
    return {"model": "gpt-5.5", "store": False, "input": list(given), **settings}


MESSAGE = {"type": "message", "role": "user", "content": "Hello"}
REASONED = {"type": "reasoning", "summary": [], "encrypted_content": "sealed"}
CALL = {"type": "function_call", "call_id": "c", "name": "Read", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c", "output": ""}
STRICT = {"type": "function", "name": "Read", "parameters": {"type": "object"}}


@pytest.mark.parametrize(
    ("path", "payload", "expected"),
    [
        ("/v1/responses", items(MESSAGE, CALL), "No tool output found"),
        ("/v1/responses", items(MESSAGE, OUTPUT), "No tool call found"),
        ("/v1/responses", items(MESSAGE, REASONED), "required following item"),
        ("/v1/responses", items(MESSAGE, REASONED, MESSAGE), "required following item"),
        ("/v1/responses", items(MESSAGE, REASONED, CALL, OUTPUT), "required following item"),  # a search came between
        ("/v1/responses", items(MESSAGE, {"type": "web_search_call", "id": "ws_1"}), "not persisted"),
        ("/v1/responses", items(MESSAGE, reasoning={"effort": "max"}), "does not support 'max'"),
        ("/unverified/v1/responses", items(MESSAGE, reasoning={"summary": "auto"}), "must be verified"),
        ("/v1/responses", items(MESSAGE, reasoning={"effort": "low"}, model="gpt-4.1"), "Unsupported parameter"),
        ("/v1/responses", items(MESSAGE, max_output_tokens=5), "below minimum value"),
        ("/v1/responses", items(MESSAGE, tools=[STRICT]), "additionalProperties"),
    ],
)
def test_the_double_of_responses_refuses_what_openai_refuses(path: str, payload: dict[str, Any], expected: str) -> None:
    refused = responses_refusal_of(path, payload, {"sealed": ("web_search_call", "")})
    assert refused is not None
    assert expected in refused.message
